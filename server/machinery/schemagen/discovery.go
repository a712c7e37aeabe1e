package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kubernetes/pkg/controlplane"
)

// elsewhere holds the groups of the other servers of the chain, the extensions server and the aggregator.
var elsewhere = map[string]bool{"apiextensions.k8s.io": true, "apiregistration.k8s.io": true}

type group struct {
	name     string
	versions []*version // preferred first
}

type version struct {
	name      string
	on        bool
	resources []*resourceType
}

type resourceType struct {
	metav1.APIResource
	subresources []metav1.APIResource
	returnsOld   bool // delete answers the object, not a Status
	columns      []metav1.TableColumnDefinition
}

// readDiscovery reads the groups in the order of the aggregated document, each group-version's classic document, and
// what a delete answers from its OpenAPI document.
func readDiscovery(dir string) ([]*group, error) {
	var list struct {
		Items []struct {
			Metadata struct{ Name string }
			Versions []struct{ Version string }
		}
	}
	if err := readJSON(filepath.Join(dir, "discovery", "aggregated_v2.json"), &list); err != nil {
		return nil, err
	}
	defaults := controlplane.DefaultAPIResourceConfigSource()
	groups := []*group{{versions: []*version{{name: "v1"}}}}
	for _, item := range list.Items {
		g := &group{name: item.Metadata.Name}
		for _, v := range item.Versions {
			g.versions = append(g.versions, &version{name: v.Version})
		}
		groups = append(groups, g)
	}
	for _, g := range groups {
		for _, v := range g.versions {
			v.on = elsewhere[g.name] || defaults.GroupVersionConfigs[schema.GroupVersion{Group: g.name, Version: v.name}]
			if err := v.read(dir, g.name); err != nil {
				return nil, err
			}
		}
	}
	return groups, nil
}

func (v *version) read(dir, group string) error {
	name := "apis__" + group + "__" + v.name
	if group == "" {
		name = "api__" + v.name
	}
	var list metav1.APIResourceList
	if err := readJSON(filepath.Join(dir, "discovery", name+".json"), &list); err != nil {
		return err
	}
	var spec spec3.OpenAPI
	if err := readJSON(filepath.Join(dir, "openapi-spec", "v3", name+"_openapi.json"), &spec); err != nil {
		return err
	}
	byName := map[string]*resourceType{}
	for _, r := range list.APIResources {
		if !strings.Contains(r.Name, "/") {
			byName[r.Name] = &resourceType{APIResource: r, returnsOld: returnsOld(&spec, r)}
			v.resources = append(v.resources, byName[r.Name])
		}
	}
	for _, r := range list.APIResources {
		if parent, sub, ok := strings.Cut(r.Name, "/"); ok {
			if byName[parent] == nil {
				return fmt.Errorf("%s: %s has no resource", name, r.Name)
			}
			r.Name = sub
			byName[parent].subresources = append(byName[parent].subresources, r)
		}
	}
	for _, r := range v.resources {
		sort.Slice(r.subresources, func(i, j int) bool { return r.subresources[i].Name < r.subresources[j].Name })
	}
	return nil
}

func returnsOld(spec *spec3.OpenAPI, r metav1.APIResource) bool {
	for path, item := range spec.Paths.Paths {
		of := strings.HasSuffix(path, "/"+r.Name+"/{name}") && !strings.Contains(path, "/watch/")
		if !of || item.Delete == nil {
			continue
		}
		body := item.Delete.Responses.StatusCodeResponses[200].Content["application/json"].Schema
		return !strings.HasSuffix(body.Ref.String(), ".Status")
	}
	return false
}

func readJSON(path string, into any) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
