package main

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kubernetes/pkg/generated/openapi"
)

// fieldFacts is what a field's OpenAPI property says beyond its Go type.
type fieldFacts struct {
	required      bool
	defaultJSON   string
	itemDefault   string
	enum          []string
	listType      string
	listMapKeys   []string
	mapType       string
	patchStrategy string
	patchMergeKey string
	format        string
}

const refPrefix = "#/definitions/"

// addOpenAPI reads the facts of the OpenAPI definitions, and fails where a definition says something the table could
// not hold.
func (set *typeSet) addOpenAPI() error {
	definitions := openapi.GetOpenAPIDefinitions(func(path string) spec.Ref { return spec.MustCreateRef(refPrefix + path) })
	for _, s := range set.sorted {
		definition, ok := definitions[s.openapi]
		if !ok {
			continue
		}
		s.defined = true
		if err := s.read(definition.Schema); err != nil {
			return fmt.Errorf("%s: %w", s.openapi, err)
		}
	}
	return nil
}

func (s *structType) read(schema spec.Schema) error {
	for name, value := range schema.Extensions {
		switch name {
		case "x-kubernetes-map-type":
			s.mapType = value.(string)
		case "x-kubernetes-unions":
			text, err := json.Marshal(value)
			if err != nil {
				return err
			}
			s.unions = string(text)
		default:
			return fmt.Errorf("extension %s", name)
		}
	}
	byName := map[string]*field{}
	var required []string
	for _, name := range schema.Required {
		required = append(required, name)
	}
	var ordered []string
	for _, f := range s.fields {
		byName[f.name] = f
		for _, name := range required {
			if name == f.name {
				f.openapi.required = true
				ordered = append(ordered, name)
			}
		}
		property, ok := schema.Properties[f.name]
		if !ok {
			return fmt.Errorf("no property %s", f.name)
		}
		if err := f.read(property); err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
	}
	if strings.Join(ordered, ",") != strings.Join(required, ",") {
		return fmt.Errorf("required %v, in order of fields %v", required, ordered)
	}
	for name := range schema.Properties {
		if byName[name] == nil {
			return fmt.Errorf("property %s is no field", name)
		}
	}
	if len(schema.Type) != 1 || schema.Type[0] != "object" {
		return fmt.Errorf("type %v", schema.Type)
	}
	return nil
}

func (f *field) read(property spec.Schema) error {
	facts := &f.openapi
	for name, value := range property.Extensions {
		switch name {
		case "x-kubernetes-list-type":
			facts.listType = value.(string)
		case "x-kubernetes-list-map-keys":
			for _, key := range value.([]any) {
				facts.listMapKeys = append(facts.listMapKeys, key.(string))
			}
		case "x-kubernetes-map-type":
			facts.mapType = value.(string)
		case "x-kubernetes-patch-strategy":
			facts.patchStrategy = value.(string)
		case "x-kubernetes-patch-merge-key":
			facts.patchMergeKey = value.(string)
		default:
			return fmt.Errorf("extension %s", name)
		}
	}
	var err error
	if facts.defaultJSON, err = defaultText(property.Default); err != nil {
		return err
	}
	return f.readType(property, f.goType, 0)
}

func defaultText(value any) (string, error) {
	if value == nil {
		return "", nil
	}
	text, err := json.Marshal(value)
	return string(text), err
}

// readType compares the property with what the Go type implies and keeps the rest.
func (f *field) readType(p spec.Schema, t reflect.Type, depth int) error {
	facts := &f.openapi
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if depth > 0 {
		text, err := defaultText(p.Default)
		if err != nil {
			return err
		}
		if len(p.Extensions) != 0 {
			return fmt.Errorf("extensions %v on an element", p.Extensions)
		}
		if text != zeroDefault(t) {
			facts.itemDefault = text
		}
	}
	rest := p
	rest.Description, rest.Default, rest.Extensions = "", nil, nil
	rest.Type, rest.Format, rest.Ref, rest.Items, rest.AdditionalProperties, rest.Enum = nil, "", spec.Ref{}, nil, nil, nil
	if text, err := json.Marshal(rest); err != nil || string(text) != "{}" {
		return fmt.Errorf("unknown facts %s", text)
	}
	kind := strings.Join(p.Type, "|")
	_, self := special[t]
	switch {
	case t == reflect.TypeFor[any](), t.Kind() == reflect.Interface:
		if ref := p.Ref.String(); ref == "" && kind != "object" {
			return fmt.Errorf("any as %s", kind)
		}
	case self || alternatives[t] || t.Kind() == reflect.Struct:
		if p.Ref.String() != refPrefix+openapiName(t) {
			return fmt.Errorf("refers to %s, not %s", p.Ref.String(), openapiName(t))
		}
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8:
		if kind != "string" || p.Format != "byte" {
			return fmt.Errorf("bytes as %s %s", kind, p.Format)
		}
	case t.Kind() == reflect.Slice:
		if kind != "array" {
			return fmt.Errorf("list as %s", kind)
		}
		return f.readType(*p.Items.Schema, t.Elem(), depth+1)
	case t.Kind() == reflect.Map:
		if kind != "object" || p.AdditionalProperties == nil {
			return fmt.Errorf("map as %s", kind)
		}
		return f.readType(*p.AdditionalProperties.Schema, t.Elem(), depth+1)
	default:
		implied := map[reflect.Kind][2]string{
			reflect.String: {"string", ""}, reflect.Bool: {"boolean", ""}, reflect.Int32: {"integer", "int32"},
			reflect.Int64: {"integer", "int64"}, reflect.Int: {"integer", "int32"}, reflect.Float64: {"number", "double"},
		}[t.Kind()]
		if kind != implied[0] {
			return fmt.Errorf("%v as %s", t, kind)
		}
		if t.Kind() == reflect.Int {
			implied[1] = "int64"
		}
		if p.Format != implied[1] {
			facts.format = p.Format
		}
		for _, value := range p.Enum {
			facts.enum = append(facts.enum, fmt.Sprint(value))
		}
	}
	return nil
}

// zeroDefault is the default that OpenAPI gives elements that are no pointers.
func zeroDefault(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return `""`
	case reflect.Bool:
		return "false"
	case reflect.Int32, reflect.Int64, reflect.Int, reflect.Float64:
		return "0"
	case reflect.Struct:
		return "{}"
	}
	return ""
}
