package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

const (
	// How often a kubelet renews its lease, and how long the lease is.
	leasePeriod  = 10 * time.Second
	leaseSeconds = int32(40)
	// How often the status is written though nothing changed. A kubelet takes five minutes; this is to be seen in a test.
	statusPeriod = 30 * time.Second
)

// node is one node, from the server's side.
type node struct {
	client  kubernetes.Interface
	name    string
	number  int
	started time.Time
	// Pods that got an address so far.
	addresses int
}

func (n *node) address() string {
	return fmt.Sprintf("192.168.77.%d", n.number+1)
}

// register creates the node, and writes its first status. A node of that name is taken over, as by a kubelet that
// starts again.
func (n *node) register(ctx context.Context) error {
	object := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: n.name,
		Labels: map[string]string{
			corev1.LabelHostname:     n.name,
			corev1.LabelOSStable:     "linux",
			corev1.LabelArchStable:   "amd64",
			corev1.LabelTopologyZone: fmt.Sprintf("zone-%d", n.number%3),
		},
	}}
	_, err := n.client.CoreV1().Nodes().Create(ctx, object, metav1.CreateOptions{})
	if err != nil && !errors.IsAlreadyExists(err) {
		return err
	}
	if err := n.renew(ctx); err != nil {
		return err
	}
	return n.writeStatus(ctx)
}

// heartbeat renews the lease and the status for ever.
func (n *node) heartbeat(ctx context.Context) {
	for written := time.Now(); ; time.Sleep(leasePeriod) {
		if err := n.renew(ctx); err != nil {
			complain(n.name+": lease", err)
		}
		if time.Since(written) >= statusPeriod {
			written = time.Now()
			if err := n.writeStatus(ctx); err != nil {
				complain(n.name+": status", err)
			}
		}
	}
}

// renew creates or renews the node's lease.
func (n *node) renew(ctx context.Context) error {
	leases := n.client.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	now, seconds := metav1.NowMicro(), leaseSeconds
	lease, err := leases.Get(ctx, n.name, metav1.GetOptions{})
	if errors.IsNotFound(err) {
		node, err := n.client.CoreV1().Nodes().Get(ctx, n.name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		// The lease goes when the node goes.
		owner := metav1.OwnerReference{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID}
		lease = &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{
			Name: n.name, Namespace: corev1.NamespaceNodeLease, OwnerReferences: []metav1.OwnerReference{owner},
		}}
		lease.Spec.HolderIdentity, lease.Spec.LeaseDurationSeconds, lease.Spec.RenewTime = &n.name, &seconds, &now
		_, err = leases.Create(ctx, lease, metav1.CreateOptions{})
		return err
	}
	if err != nil {
		return err
	}
	lease.Spec.RenewTime = &now
	_, err = leases.Update(ctx, lease, metav1.UpdateOptions{})
	return err
}

// writeStatus patches addresses, capacity and conditions, as a kubelet does.
func (n *node) writeStatus(ctx context.Context) error {
	now := metav1.Now()
	condition := func(kind corev1.NodeConditionType, status corev1.ConditionStatus, reason string) corev1.NodeCondition {
		return corev1.NodeCondition{
			Type: kind, Status: status, Reason: reason, Message: "as the test has it",
			LastHeartbeatTime: now, LastTransitionTime: metav1.NewTime(n.started),
		}
	}
	resources := corev1.ResourceList{
		corev1.ResourceCPU:              resource.MustParse("16"),
		corev1.ResourceMemory:           resource.MustParse("64Gi"),
		corev1.ResourceEphemeralStorage: resource.MustParse("100Gi"),
		corev1.ResourcePods:             resource.MustParse("110"),
	}
	status := corev1.NodeStatus{
		Capacity: resources, Allocatable: resources,
		Addresses: []corev1.NodeAddress{
			{Type: corev1.NodeInternalIP, Address: n.address()}, {Type: corev1.NodeHostName, Address: n.name},
		},
		Conditions: []corev1.NodeCondition{
			condition(corev1.NodeMemoryPressure, corev1.ConditionFalse, "KubeletHasSufficientMemory"),
			condition(corev1.NodeDiskPressure, corev1.ConditionFalse, "KubeletHasNoDiskPressure"),
			condition(corev1.NodePIDPressure, corev1.ConditionFalse, "KubeletHasSufficientPID"),
			condition(corev1.NodeReady, corev1.ConditionTrue, "KubeletReady"),
		},
		NodeInfo: corev1.NodeSystemInfo{
			KubeletVersion: "v1.37.2", OperatingSystem: "linux", Architecture: "amd64",
			ContainerRuntimeVersion: "none://0",
		},
	}
	patch, err := json.Marshal(map[string]any{"status": status})
	if err != nil {
		return err
	}
	_, err = n.client.CoreV1().Nodes().Patch(ctx, n.name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	return err
}
