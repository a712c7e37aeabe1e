package main

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

const (
	// How long a container runs that is not to be restarted for ever.
	runtime = 300 * time.Millisecond
	workers = 4
)

// pods is the part of a node that looks after the pods bound to it.
type pods struct {
	*node
	lister listers.PodLister
	queue  workqueue.TypedRateLimitingInterface[string]
	lock   sync.Mutex
	// When each pod that will end was first seen to run, by uid.
	running map[types.UID]time.Time
}

// runPods watches the pods bound to the node, and looks after them for ever.
func (n *node) runPods(ctx context.Context) {
	factory := informers.NewSharedInformerFactoryWithOptions(n.client, 0, informers.WithTweakListOptions(
		func(o *metav1.ListOptions) {
			o.FieldSelector = fields.OneTermEqualSelector("spec.nodeName", n.name).String()
		}))
	informer := factory.Core().V1().Pods()
	p := &pods{node: n, lister: informer.Lister(), running: map[types.UID]time.Time{}}
	p.queue = workqueue.NewTypedRateLimitingQueue(
		workqueue.NewTypedItemExponentialFailureRateLimiter[string](20*time.Millisecond, 2*time.Second))
	add := func(object any) {
		if key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(object); err == nil {
			p.queue.Add(key)
		}
	}
	_, err := informer.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: add, UpdateFunc: func(_, object any) { add(object) }, DeleteFunc: add,
	})
	must("informer", err)
	factory.Start(ctx.Done())
	for range workers {
		go p.work(ctx)
	}
}

func (p *pods) work(ctx context.Context) {
	for {
		key, stop := p.queue.Get()
		if stop {
			return
		}
		if err := p.sync(ctx, key); err != nil {
			complain(p.name+": "+key, err)
			p.queue.AddRateLimited(key)
		} else {
			p.queue.Forget(key)
		}
		p.queue.Done(key)
	}
}

// sync brings one pod a step further.
func (p *pods) sync(ctx context.Context, key string) error {
	namespace, name, err := cache.SplitMetaNamespaceKey(key)
	if err != nil {
		return err
	}
	pod, err := p.lister.Pods(namespace).Get(name)
	if err != nil {
		return nil // It is gone.
	}
	ends := pod.Spec.RestartPolicy != corev1.RestartPolicyAlways
	switch {
	case pod.DeletionTimestamp != nil:
		return p.remove(ctx, pod)
	case pod.Status.Phase == corev1.PodPending || pod.Status.Phase == "":
		return p.patch(ctx, pod, p.runs(pod))
	case pod.Status.Phase == corev1.PodRunning && ends:
		if left := p.left(pod.UID); left > 0 {
			p.queue.AddAfter(key, left)
			return nil
		}
		return p.patch(ctx, pod, succeeds(pod))
	}
	return nil
}

// left is how much longer a pod that ends by itself will run.
func (p *pods) left(uid types.UID) time.Duration {
	p.lock.Lock()
	defer p.lock.Unlock()
	since, seen := p.running[uid]
	if !seen {
		since = time.Now()
		p.running[uid] = since
	}
	return runtime - time.Since(since)
}

// remove is what a kubelet does once the containers of a deleted pod have ended.
func (p *pods) remove(ctx context.Context, pod *corev1.Pod) error {
	p.lock.Lock()
	delete(p.running, pod.UID)
	p.lock.Unlock()
	options := metav1.NewDeleteOptions(0)
	options.Preconditions = metav1.NewUIDPreconditions(string(pod.UID))
	err := p.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, *options)
	if errors.IsNotFound(err) || errors.IsConflict(err) {
		return nil // Another has its name by now.
	}
	return err
}

func (p *pods) patch(ctx context.Context, pod *corev1.Pod, status corev1.PodStatus) error {
	// The uid makes it a patch of this very pod.
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": pod.UID}, "status": status})
	if err != nil {
		return err
	}
	_, err = p.client.CoreV1().Pods(pod.Namespace).
		Patch(ctx, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	if errors.IsNotFound(err) || errors.IsConflict(err) {
		return nil
	}
	return err
}

func conditions(ready corev1.ConditionStatus, reason string, generation int64) []corev1.PodCondition {
	made := []corev1.PodCondition{}
	for _, kind := range []corev1.PodConditionType{
		corev1.PodReadyToStartContainers, corev1.PodInitialized, corev1.PodReady, corev1.ContainersReady,
	} {
		c := corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now(), ObservedGeneration: generation}
		if kind == corev1.PodReady || kind == corev1.ContainersReady {
			c.Status, c.Reason = ready, reason
		}
		made = append(made, c)
	}
	return made
}

// runs is the status of a pod all of whose containers run.
func (p *pods) runs(pod *corev1.Pod) corev1.PodStatus {
	p.lock.Lock()
	p.addresses++
	// As many as a node may have, one after the other, so that none is used again soon.
	address := fmt.Sprintf("10.%d.%d.%d", 100+p.number, p.addresses/250%250, p.addresses%250+1)
	p.lock.Unlock()
	if pod.Spec.HostNetwork {
		address = p.address()
	}
	now := metav1.Now()
	status := corev1.PodStatus{
		Phase: corev1.PodRunning, StartTime: &now, HostIP: p.address(), HostIPs: []corev1.HostIP{{IP: p.address()}},
		PodIP: address, PodIPs: []corev1.PodIP{{IP: address}},
		Conditions: conditions(corev1.ConditionTrue, "", pod.Generation), ObservedGeneration: pod.Generation,
	}
	for _, c := range pod.Spec.Containers {
		started := true
		status.ContainerStatuses = append(status.ContainerStatuses, corev1.ContainerStatus{
			Name: c.Name, Image: c.Image, ImageID: "none://" + c.Image, ContainerID: "none://" + string(pod.UID),
			Ready: true, Started: &started,
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}},
		})
	}
	return status
}

// succeeds is the status of a pod all of whose containers have ended well.
func succeeds(pod *corev1.Pod) corev1.PodStatus {
	status := corev1.PodStatus{
		Phase: corev1.PodSucceeded, Conditions: conditions(corev1.ConditionFalse, "PodCompleted", pod.Generation),
		ObservedGeneration: pod.Generation,
	}
	for _, c := range pod.Status.ContainerStatuses {
		ended := &corev1.ContainerStateTerminated{Reason: "Completed", FinishedAt: metav1.Now(), ContainerID: c.ContainerID}
		if c.State.Running != nil {
			ended.StartedAt = c.State.Running.StartedAt
		}
		c.Ready, c.Started = false, new(bool)
		c.State = corev1.ContainerState{Terminated: ended}
		status.ContainerStatuses = append(status.ContainerStatuses, c)
	}
	return status
}
