package main

import (
	"reflect"
	"sort"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	extensionsserver "k8s.io/apiextensions-apiserver/pkg/apiserver"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1beta1 "k8s.io/apimachinery/pkg/apis/meta/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	aggregatorscheme "k8s.io/kube-aggregator/pkg/apiserver/scheme"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/controlplane" // installs every group into the scheme
)

type kind struct {
	schema.GroupVersionKind
	goType reflect.Type
}

// allKinds lists every external kind of the server's scheme, also of versions that are served no more (bodies and
// OpenAPI name them), and the kinds that only answers are made of.
func allKinds() []kind {
	answers := runtime.NewScheme()
	utilruntime.Must(metav1.AddMetaToScheme(answers))
	utilruntime.Must(metav1beta1.AddMetaToScheme(answers))
	utilruntime.Must(apidiscoveryv2.AddToScheme(answers))
	metav1.AddToGroupVersion(answers, metav1.SchemeGroupVersion)

	found := map[schema.GroupVersionKind]reflect.Type{}
	for gvk, t := range legacyscheme.Scheme.AllKnownTypes() {
		if gvk.Version != runtime.APIVersionInternal {
			found[gvk] = t
		}
	}
	// The other servers of the chain have schemes of their own. Their older versions are served no more; of those only
	// what all group-versions share is taken.
	shared := reflect.TypeFor[metav1.DeleteOptions]().PkgPath()
	for _, scheme := range []*runtime.Scheme{extensionsserver.Scheme, aggregatorscheme.Scheme} {
		for gvk, t := range scheme.AllKnownTypes() {
			own := gvk.Version == "v1" && elsewhere[gvk.Group]
			if own || elsewhere[gvk.Group] && gvk.Version != runtime.APIVersionInternal && t.PkgPath() == shared {
				found[gvk] = t
			}
		}
	}
	for gvk, t := range answers.AllKnownTypes() {
		if gvk.Group != "" && gvk.Version != runtime.APIVersionInternal {
			found[gvk] = t
		}
	}
	var kinds []kind
	for gvk, t := range found {
		kinds = append(kinds, kind{gvk, t})
	}
	sort.Slice(kinds, func(i, j int) bool {
		a, b := kinds[i], kinds[j]
		if a.Group != b.Group {
			return a.Group < b.Group
		}
		if a.Version != b.Version {
			return a.Version < b.Version
		}
		return a.Kind < b.Kind
	})
	return kinds
}
