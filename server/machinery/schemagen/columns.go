package main

import (
	"context"
	"fmt"

	apiextensionsinternal "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	crdtable "k8s.io/apiextensions-apiserver/pkg/registry/customresourcedefinition/tableconvertor"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-aggregator/pkg/apis/apiregistration"
	apiserviceregistry "k8s.io/kube-aggregator/pkg/registry/apiservice/etcd"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/printers"
	printersinternal "k8s.io/kubernetes/pkg/printers/internalversion"
)

// addColumns asks the server's own table printers for the columns of every resource that can be read.
func addColumns(groups []*group) error {
	generator := printers.NewTableGenerator().With(printersinternal.AddHandlers)
	for _, g := range groups {
		for _, v := range g.versions {
			for _, r := range v.resources {
				gvk := schema.GroupVersionKind{Group: g.name, Version: v.name, Kind: r.Kind}
				columns, err := columnsOf(generator, gvk)
				if err != nil {
					return fmt.Errorf("columns of %v: %w", gvk, err)
				}
				r.columns = columns
			}
		}
	}
	return nil
}

// printerUnused has the kinds whose storage does not use the printer that there is.
var printerUnused = map[schema.GroupKind]bool{
	{Group: "storage.k8s.io", Kind: "CSIStorageCapacity"}: true,
}

func columnsOf(generator printers.TableGenerator, gvk schema.GroupVersionKind) ([]metav1.TableColumnDefinition, error) {
	if elsewhere[gvk.Group] {
		return columnsElsewhere(gvk.Kind)
	}
	external, err := legacyscheme.Scheme.New(gvk)
	if err != nil {
		return nil, err
	}
	internal := external
	if hub, err := legacyscheme.Scheme.ConvertToVersion(external, runtime.InternalGroupVersioner); err == nil {
		internal = hub
	} else {
		return nil, err
	}
	table, err := generator.GenerateTable(internal, printers.GenerateOptions{Wide: true})
	if err != nil || printerUnused[gvk.GroupKind()] {
		// No printer, or none that is used: the table has the two columns every resource has.
		descriptions := metav1.ObjectMeta{}.SwaggerDoc()
		return []metav1.TableColumnDefinition{
			{Name: "Name", Type: "string", Format: "name", Description: descriptions["name"]},
			{Name: "Created At", Type: "date", Description: descriptions["creationTimestamp"]},
		}, nil
	}
	return table.ColumnDefinitions, nil
}

// columnsElsewhere asks the storage of the other servers' kinds, which make their tables themselves.
func columnsElsewhere(kind string) ([]metav1.TableColumnDefinition, error) {
	var table *metav1.Table
	var err error
	switch kind {
	case "CustomResourceDefinition":
		object := &apiextensionsinternal.CustomResourceDefinition{}
		table, err = crdtable.New().ConvertToTable(context.Background(), object, nil)
	case "APIService":
		storage := &apiserviceregistry.REST{}
		table, err = storage.ConvertToTable(context.Background(), &apiregistration.APIService{}, nil)
	default:
		return nil, fmt.Errorf("no table for %s", kind)
	}
	if err != nil {
		return nil, err
	}
	return table.ColumnDefinitions, nil
}
