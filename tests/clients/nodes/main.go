// Command nodes plays the nodes of a cluster: it registers them, keeps their leases and their Ready status, and does
// for the pods bound to them what a user sees of a kubelet, without containers. It runs until it is killed.
//
//	nodes KUBECONFIG NUMBER
//
// A pod runs and is ready as soon as it is seen. Where it is not to be restarted for ever, its containers end well a
// little later. A pod that is being deleted is removed.
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

func main() {
	number := 0
	if len(os.Args) == 3 {
		number, _ = strconv.Atoi(os.Args[2])
	}
	if number < 1 || number > 200 {
		fmt.Fprintln(os.Stderr, "usage: nodes KUBECONFIG NUMBER, with a number of 1 to 200")
		os.Exit(2)
	}
	ctx := context.Background()
	for i := range number {
		config, err := clientcmd.BuildConfigFromFlags("", os.Args[1])
		must("kubeconfig", err)
		// A kubelet's own limits and format, and a connection of its own.
		config.QPS, config.Burst = 50, 100
		config.ContentType = "application/vnd.kubernetes.protobuf"
		config.UserAgent = fmt.Sprintf("nodes/%d", i)
		client, err := kubernetes.NewForConfig(config)
		must("client", err)
		n := &node{client: client, name: fmt.Sprintf("node-%d", i), number: i, started: time.Now()}
		must(n.name, n.register(ctx))
		go n.heartbeat(ctx)
		go n.runPods(ctx)
	}
	fmt.Println("nodes: registered")
	select {}
}

func must(what string, err error) {
	if err != nil {
		complain(what, err)
		os.Exit(1)
	}
}

// complain prints what went wrong; the test shows it where something is amiss.
func complain(what string, err error) {
	fmt.Fprintf(os.Stderr, "%s nodes: %s: %v\n", time.Now().Format("15:04:05.000"), what, err)
}
