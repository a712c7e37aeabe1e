// Command kubelet stands in for a kubelet, as far as an API server comes to it: logs, commands, ports and whatever else
// is asked of it over HTTP. Commands run on this machine, as the user of the test.
//
//	kubelet ADDRESS CERTIFICATE KEY [AUTHORITY]
//
// It prints the port that it got. With an authority it refuses who shows no certificate of it. It ends with its input.
package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"sort"
	"strings"
	"time"

	"k8s.io/cri-streaming/pkg/streaming/portforward"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
)

const (
	idleTimeout     = 5 * time.Minute
	creationTimeout = time.Minute
)

func main() {
	if len(os.Args) < 4 {
		log.Fatal("usage: kubelet ADDRESS CERTIFICATE KEY [AUTHORITY]")
	}
	certificate, err := tls.LoadX509KeyPair(os.Args[2], os.Args[3])
	check(err)
	config := &tls.Config{Certificates: []tls.Certificate{certificate}, NextProtos: []string{"h2", "http/1.1"}}
	if len(os.Args) > 4 {
		pem, err := os.ReadFile(os.Args[4])
		check(err)
		config.ClientCAs = x509.NewCertPool()
		config.ClientCAs.AppendCertsFromPEM(pem)
		config.ClientAuth = tls.RequestClientCert
	}
	listener, err := net.Listen("tcp", os.Args[1])
	check(err)
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	mux := http.NewServeMux()
	mux.HandleFunc("/containerLogs/{namespace}/{pod}/{container}", logs)
	mux.HandleFunc("/exec/{namespace}/{pod}/{container}", exec)
	mux.HandleFunc("/attach/{namespace}/{pod}/{container}", attach)
	mux.HandleFunc("/portForward/{namespace}/{pod}", forward)
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "ok") })
	mux.HandleFunc("/page/", page)
	mux.HandleFunc("/redirect/", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/healthz", http.StatusFound)
	})
	mux.HandleFunc("/", echo)
	server := &http.Server{Handler: who(mux, config.ClientCAs), TLSConfig: config, ErrorLog: log.New(io.Discard, "", 0)}
	check(server.ServeTLS(listener, "", ""))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// who refuses those who show no certificate of an authority, as a kubelet that knows its API server does.
func who(next http.Handler, authority *x509.CertPool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if authority != nil {
			if len(r.TLS.PeerCertificates) == 0 {
				http.Error(w, "Unauthorized", http.StatusUnauthorized)
				return
			}
			options := x509.VerifyOptions{Roots: authority, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
			if _, err := r.TLS.PeerCertificates[0].Verify(options); err != nil {
				http.Error(w, "Unauthorized", http.StatusUnauthorized)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// logs writes what it was asked for, then three lines, of which the options choose. A log that is followed goes on. The
// name of the container may ask for trouble.
func logs(w http.ResponseWriter, r *http.Request) {
	container, query := r.PathValue("container"), r.URL.Query()
	var code int
	if _, err := fmt.Sscanf(container, "fails-%d", &code); err == nil {
		http.Error(w, "the container "+container+" is not to be had", code)
		return
	}
	if container == "moved" {
		http.Redirect(w, r, "/healthz", http.StatusFound)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	lines := []string{"one", "two", "three"}
	if query.Get("previous") == "true" {
		lines = []string{"before"}
	}
	var tail int
	if n, _ := fmt.Sscan(query.Get("tailLines"), &tail); n == 1 && tail < len(lines) {
		lines = lines[len(lines)-tail:]
	}
	text := strings.Join(lines, "\n") + "\n"
	if query.Get("timestamps") == "true" {
		text = "2026-01-02T03:04:05Z " + text
	}
	var limit int
	if n, _ := fmt.Sscan(query.Get("limitBytes"), &limit); n == 1 && limit < len(text) {
		text = text[:limit]
	}
	switch container {
	case "query":
		text = r.URL.RequestURI() + "\n"
	case "long":
		text = strings.Repeat(strings.Repeat("x", 1023)+"\n", 20*1024)
	}
	fmt.Fprint(w, text)
	for n := 1; query.Get("follow") == "true" && container != "ends"; n++ {
		w.(http.Flusher).Flush()
		select {
		case <-r.Context().Done():
			fmt.Fprintln(os.Stderr, "log", container, "given up")
			return
		case <-time.After(100 * time.Millisecond):
			fmt.Fprintf(w, "more %d\n", n)
		}
	}
}

func exec(w http.ResponseWriter, r *http.Request) {
	options, err := remotecommand.NewOptions(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	command := r.URL.Query()["command"]
	remotecommand.ServeExec(w, r, runner{}, r.PathValue("pod"), "", r.PathValue("container"), command, options,
		idleTimeout, creationTimeout, remotecommand.SupportedStreamingProtocols)
}

func attach(w http.ResponseWriter, r *http.Request) {
	options, err := remotecommand.NewOptions(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	remotecommand.ServeAttach(w, r, runner{}, r.PathValue("pod"), "", r.PathValue("container"), options,
		idleTimeout, creationTimeout, remotecommand.SupportedStreamingProtocols)
}

func forward(w http.ResponseWriter, r *http.Request) {
	options, err := portforward.NewV4Options(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	portforward.ServePortForward(w, r, runner{}, r.PathValue("pod"), "", options, idleTimeout, creationTimeout,
		portforward.SupportedProtocols)
}

// page has links.
func page(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	fmt.Fprint(w, `<html><a href="/pods?a=1&amp;b=2">pods</a> <a href="other">other</a> <A HREF='http://elsewhere/x'>x</A></html>`)
}

// echo writes down a request: its first line, its fields in their order, its body.
func echo(w http.ResponseWriter, r *http.Request) {
	fmt.Fprintf(w, "%s %s\nHost: %s\n", r.Method, r.URL.RequestURI(), r.Host)
	var names []string
	for name := range r.Header {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		fmt.Fprintf(w, "%s: %s\n", name, strings.Join(r.Header[name], ", "))
	}
	body, _ := io.ReadAll(r.Body)
	fmt.Fprintf(w, "\n%s", body)
}
