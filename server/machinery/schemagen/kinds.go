package main

import (
	"reflect"
	"sort"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1beta1 "k8s.io/apimachinery/pkg/apis/meta/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
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
