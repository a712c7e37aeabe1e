// Command clientgo drives a server with client-go as controllers do: typed clients in protobuf and JSON, a dynamic
// client, a shared informer, and a watch. It prints one line a check and exits 1 at the first that fails.
//
//	clientgo KUBECONFIG
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

const patience = 15 * time.Second

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: clientgo KUBECONFIG")
		os.Exit(2)
	}
	config, err := clientcmd.BuildConfigFromFlags("", os.Args[1])
	must("kubeconfig", err)
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	for _, variant := range []struct{ name, contentType string }{
		{"json", "application/json"},
		{"protobuf", "application/vnd.kubernetes.protobuf"},
	} {
		c := rest.CopyConfig(config)
		c.ContentType = variant.contentType
		if variant.name == "protobuf" {
			c.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
		}
		client, err := kubernetes.NewForConfig(c)
		must("client "+variant.name, err)
		namespace := "client-" + variant.name
		_, err = client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
		must(variant.name+": namespace", err)
		typed(ctx, variant.name, client, namespace)
		informer(ctx, variant.name, client, namespace)
		watches(ctx, variant.name, client, namespace)
	}
	unstructuredObjects(ctx, config)
	fmt.Println("clientgo: all checks passed")
}

func must(what string, err error) {
	if err != nil {
		fmt.Printf("FAIL %s: %v\n", what, err)
		os.Exit(1)
	}
	fmt.Printf("ok   %s\n", what)
}

func check(what string, ok bool) {
	if !ok {
		must(what, fmt.Errorf("does not hold"))
	}
	must(what, nil)
}

func template() corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "nginx"}}},
	}
}

// typed writes and reads every kind that a day with typed clients meets.
func typed(ctx context.Context, variant string, client kubernetes.Interface, namespace string) {
	maps := client.CoreV1().ConfigMaps(namespace)
	made, err := maps.Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{"n": "1"}},
		Data:       map[string]string{"k": "v"},
		BinaryData: map[string][]byte{"b": {0, 255}},
	}, metav1.CreateOptions{})
	must(variant+": create configmap", err)
	check(variant+": server set uid, version and time", made.UID != "" && made.ResourceVersion != "" && !made.CreationTimestamp.IsZero())
	_, err = maps.Create(ctx, made.DeepCopy(), metav1.CreateOptions{})
	check(variant+": create with a version is refused", err != nil)
	got, err := maps.Get(ctx, "a", metav1.GetOptions{})
	must(variant+": get configmap", err)
	check(variant+": bytes survive", string(got.BinaryData["b"]) == "\x00\xff" && got.Data["k"] == "v")
	got.Data["k"] = "w"
	changed, err := maps.Update(ctx, got, metav1.UpdateOptions{})
	must(variant+": update configmap", err)
	check(variant+": version moved on", changed.ResourceVersion != made.ResourceVersion)
	made.Data["k"] = "stale"
	_, err = maps.Update(ctx, made, metav1.UpdateOptions{})
	check(variant+": stale update conflicts", errors.IsConflict(err))
	_, err = maps.Patch(ctx, "a", types.MergePatchType, []byte(`{"data":{"p":"q"}}`), metav1.PatchOptions{})
	must(variant+": merge patch", err)
	_, err = maps.Get(ctx, "none", metav1.GetOptions{})
	check(variant+": missing is NotFound", errors.IsNotFound(err))
	for i := range 25 {
		_, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "page-", Labels: map[string]string{"i": fmt.Sprint(i % 2)}}}, metav1.CreateOptions{})
		if err != nil {
			must(variant+": generateName", err)
		}
	}
	seen, token := 0, ""
	for {
		page, err := maps.List(ctx, metav1.ListOptions{Limit: 10, Continue: token})
		if err != nil {
			must(variant+": page", err)
		}
		seen += ours(page.Items)
		if token = page.Continue; token == "" {
			break
		}
	}
	check(variant+": pages add up", seen == 26)
	some, err := maps.List(ctx, metav1.ListOptions{LabelSelector: "i=1"})
	must(variant+": label selector", err)
	check(variant+": label selector selects", len(some.Items) == 12)

	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	deployments := client.AppsV1().Deployments(namespace)
	d, err := deployments.Create(ctx, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec:       appsv1.DeploymentSpec{Selector: selector, Template: template()},
	}, metav1.CreateOptions{})
	must(variant+": create deployment", err)
	check(variant+": defaults are filled in", d.Spec.Replicas != nil && *d.Spec.Replicas == 1 &&
		d.Spec.Strategy.Type == appsv1.RollingUpdateDeploymentStrategyType && d.Generation == 1 &&
		d.Spec.Template.Spec.Containers[0].ImagePullPolicy == corev1.PullAlways)
	d.Status.ObservedGeneration = 1
	_, err = deployments.UpdateStatus(ctx, d, metav1.UpdateOptions{})
	must(variant+": update status", err)
	_, err = client.CoreV1().Secrets(namespace).Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "s"}, StringData: map[string]string{"x": "y"}}, metav1.CreateOptions{})
	must(variant+": create secret", err)
	secret, err := client.CoreV1().Secrets(namespace).Get(ctx, "s", metav1.GetOptions{})
	must(variant+": get secret", err)
	check(variant+": stringData went to data", string(secret.Data["x"]) == "y" && secret.Type == corev1.SecretTypeOpaque)
	_, err = client.CoreV1().Services(namespace).Create(ctx, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "svc"},
		Spec:       corev1.ServiceSpec{Selector: map[string]string{"app": "web"}, Ports: []corev1.ServicePort{{Port: 80}}},
	}, metav1.CreateOptions{})
	must(variant+": create service", err)
	_, err = client.BatchV1().Jobs(namespace).Create(ctx, &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: "job"},
		Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "c", Image: "busybox"}}}}},
	}, metav1.CreateOptions{})
	must(variant+": create job", err)
	_, err = client.RbacV1().Roles(namespace).Create(ctx, &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: "r"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get"}}},
	}, metav1.CreateOptions{})
	must(variant+": create role", err)
	must(variant+": delete", maps.Delete(ctx, "a", metav1.DeleteOptions{}))
	must(variant+": deletecollection", maps.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "i=1"}))
	rest, err := maps.List(ctx, metav1.ListOptions{})
	must(variant+": list after deletes", err)
	check(variant+": deletes removed what they should", ours(rest.Items) == 13)
}

// ours counts the maps that this program made: controllers put one of their own into a namespace.
func ours(maps []corev1.ConfigMap) int {
	count := 0
	for _, item := range maps {
		if item.Name != "kube-root-ca.crt" {
			count++
		}
	}
	return count
}

// informer follows creates, updates and deletes through a shared informer.
func informer(ctx context.Context, variant string, client kubernetes.Interface, namespace string) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(namespace))
	secrets := factory.Core().V1().Secrets().Informer()
	events := make(chan string, 100)
	_, err := secrets.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { events <- "add " + o.(*corev1.Secret).Name },
		UpdateFunc: func(_, o any) { events <- "update " + o.(*corev1.Secret).Name },
		DeleteFunc: func(o any) { events <- "delete " + o.(*corev1.Secret).Name },
	})
	must(variant+": informer handler", err)
	factory.Start(ctx.Done())
	check(variant+": informer synced", cache.WaitForCacheSync(ctx.Done(), secrets.HasSynced))
	api := client.CoreV1().Secrets(namespace)
	made, err := api.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "seen"}}, metav1.CreateOptions{})
	must(variant+": informer create", err)
	made.Data = map[string][]byte{"a": []byte("b")}
	_, err = api.Update(ctx, made, metav1.UpdateOptions{})
	must(variant+": informer update", err)
	must(variant+": informer delete", api.Delete(ctx, "seen", metav1.DeleteOptions{}))
	for _, want := range []string{"add s", "add seen", "update seen", "delete seen"} {
		select {
		case got := <-events:
			check(variant+": informer saw "+want, got == want)
		case <-time.After(patience):
			check(variant+": informer saw "+want, false)
		}
	}
}

// watches reads a watch from a list's version, and sees it end when its time is over.
func watches(ctx context.Context, variant string, client kubernetes.Interface, namespace string) {
	api := client.CoreV1().ServiceAccounts(namespace)
	list, err := api.List(ctx, metav1.ListOptions{})
	must(variant+": list before watch", err)
	seconds := int64(2)
	w, err := api.Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion, TimeoutSeconds: &seconds})
	must(variant+": watch", err)
	_, err = api.Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "robot"}}, metav1.CreateOptions{})
	must(variant+": create under watch", err)
	select {
	case e := <-w.ResultChan():
		account, ok := e.Object.(*corev1.ServiceAccount)
		check(variant+": watch saw the create", ok && e.Type == watch.Added && account.Name == "robot")
	case <-time.After(patience):
		check(variant+": watch saw the create", false)
	}
	err = wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, patience, true, func(context.Context) (bool, error) {
		select {
		case _, open := <-w.ResultChan():
			return !open, nil
		default:
			return false, nil
		}
	})
	must(variant+": watch ended in time", err)
}

// unstructuredObjects uses the dynamic client.
func unstructuredObjects(ctx context.Context, config *rest.Config) {
	client, err := dynamic.NewForConfig(config)
	must("dynamic client", err)
	api := client.Resource(schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}).Namespace("default")
	lease := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
		"metadata": map[string]any{"name": "dynamic"},
		"spec":     map[string]any{"holderIdentity": "me", "leaseDurationSeconds": int64(10)},
	}}
	made, err := api.Create(ctx, lease, metav1.CreateOptions{})
	must("dynamic create", err)
	check("dynamic object has a version", made.GetResourceVersion() != "")
	must("dynamic set", unstructured.SetNestedField(made.Object, "you", "spec", "holderIdentity"))
	_, err = api.Update(ctx, made, metav1.UpdateOptions{})
	must("dynamic update", err)
	list, err := api.List(ctx, metav1.ListOptions{})
	must("dynamic list", err)
	holder := ""
	for _, item := range list.Items {
		if item.GetName() == "dynamic" {
			holder, _, _ = unstructured.NestedString(item.Object, "spec", "holderIdentity")
		}
	}
	check("dynamic list shows the update", holder == "you")
	must("dynamic delete", api.Delete(ctx, "dynamic", metav1.DeleteOptions{}))
}
