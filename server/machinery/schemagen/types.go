package main

import (
	"encoding/json"
	"fmt"
	"reflect"
	"sort"
	"strconv"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	apiversion "k8s.io/apimachinery/pkg/version"
	"k8s.io/kube-openapi/pkg/util"
)

// special holds the types that encode themselves, each with its letter in the table.
var special = map[reflect.Type]string{
	reflect.TypeFor[resource.Quantity]():    "q",
	reflect.TypeFor[metav1.Time]():          "t",
	reflect.TypeFor[metav1.MicroTime]():     "u",
	reflect.TypeFor[metav1.Duration]():      "D",
	reflect.TypeFor[intstr.IntOrString]():   "o",
	reflect.TypeFor[runtime.RawExtension](): "r",
	reflect.TypeFor[runtime.Object]():       "r",
	reflect.TypeFor[any]():                  "r",
	reflect.TypeFor[metav1.FieldsV1]():      "f",
	reflect.TypeFor[apiextensionsv1.JSON](): "j",
}

// alternatives holds the types that are an object of a struct or something else: a struct in Go, one of the two in JSON.
var alternatives = map[reflect.Type]bool{
	reflect.TypeFor[apiextensionsv1.JSONSchemaPropsOrBool]():        true,
	reflect.TypeFor[apiextensionsv1.JSONSchemaPropsOrArray]():       true,
	reflect.TypeFor[apiextensionsv1.JSONSchemaPropsOrStringArray](): true,
}

// scalars holds the kinds that stand for themselves: letter and Go name.
var scalars = map[reflect.Kind]struct{ letter, name string }{
	reflect.String:  {"s", "string"},
	reflect.Bool:    {"b", "bool"},
	reflect.Int32:   {"i", "int32"},
	reflect.Int64:   {"l", "int64"},
	reflect.Int:     {"l", "int64"},
	reflect.Float64: {"d", "float64"},
}

type field struct {
	name      string
	goType    reflect.Type // pointer taken off
	pointer   bool
	omitEmpty bool
	omitZero  bool
	proto     int
	within    []int // numbers of the messages that embedded structs make in protobuf, outermost first
	openapi   fieldFacts
}

type structType struct {
	goType  reflect.Type
	openapi string
	fields  []*field
	id      int
	mapType string
	unions  string
	defined bool // has an OpenAPI definition
}

// alternative is a type of alternatives: its struct, the type of what else it may be, and the protobuf numbers of both.
type alternative struct {
	goType                    reflect.Type
	object, other             reflect.Type
	objectNumber, otherNumber int
	id                        int
}

type typeSet struct {
	structs      map[reflect.Type]*structType
	sorted       []*structType
	alternatives map[reflect.Type]*alternative
}

// plain holds the types that documents speak of though no kind reaches them.
var plain = []reflect.Type{reflect.TypeFor[apiversion.Info](), reflect.TypeFor[metav1.Patch]()}

// collect gathers every struct that the kinds and plain reach.
func collect(kinds []kind) (*typeSet, error) {
	set := &typeSet{structs: map[reflect.Type]*structType{}, alternatives: map[reflect.Type]*alternative{}}
	for _, k := range kinds {
		if err := set.visit(k.goType); err != nil {
			return nil, fmt.Errorf("%v: %w", k, err)
		}
	}
	for _, t := range plain {
		if err := set.visit(t); err != nil {
			return nil, err
		}
	}
	for _, s := range set.structs {
		set.sorted = append(set.sorted, s)
	}
	sort.Slice(set.sorted, func(i, j int) bool { return set.sorted[i].openapi < set.sorted[j].openapi })
	for i, s := range set.sorted {
		if i > 0 && set.sorted[i-1].openapi == s.openapi {
			return nil, fmt.Errorf("two types named %s", s.openapi)
		}
		s.id = i
	}
	for i, a := range set.sortedAlternatives() {
		a.id = i
	}
	return set, nil
}

// sortedAlternatives lists them by OpenAPI name.
func (set *typeSet) sortedAlternatives() []*alternative {
	var sorted []*alternative
	for _, a := range set.alternatives {
		sorted = append(sorted, a)
	}
	sort.Slice(sorted, func(i, j int) bool { return openapiName(sorted[i].goType) < openapiName(sorted[j].goType) })
	return sorted
}

// visitAlternative reads the two fields of such a type: the pointer is the object.
func (set *typeSet) visitAlternative(t reflect.Type) error {
	if set.alternatives[t] != nil {
		return nil
	}
	a := &alternative{goType: t}
	set.alternatives[t] = a
	for i := range t.NumField() {
		sf := t.Field(i)
		number, err := protoTag(sf)
		if err != nil {
			return err
		}
		if sf.Type.Kind() == reflect.Pointer {
			a.object, a.objectNumber = sf.Type.Elem(), number
		} else {
			a.other, a.otherNumber = sf.Type, number
		}
	}
	if t.NumField() != 2 || a.object == nil || a.other == nil || a.object.Kind() != reflect.Struct {
		return fmt.Errorf("%v is no object or something else", t)
	}
	if err := set.visit(a.object); err != nil {
		return err
	}
	return set.visit(a.other)
}

func openapiName(t reflect.Type) string {
	if named, ok := reflect.Zero(t).Interface().(interface{ OpenAPIModelName() string }); ok {
		return named.OpenAPIModelName()
	}
	return util.ToRESTFriendlyName(t.PkgPath() + "." + t.Name())
}

func (set *typeSet) visit(t reflect.Type) error {
	if _, ok := special[t]; ok {
		return nil
	}
	switch t.Kind() {
	case reflect.Pointer:
		return set.visit(t.Elem())
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return nil
		}
		return set.visit(t.Elem())
	case reflect.Map:
		if t.Key().Kind() != reflect.String {
			return fmt.Errorf("map key of %v", t)
		}
		if marshalsProto(t) {
			return fmt.Errorf("map %v is a message of its own", t)
		}
		return set.visit(t.Elem())
	case reflect.Struct:
	default:
		if _, ok := scalars[t.Kind()]; !ok {
			return fmt.Errorf("kind of %v", t)
		}
		return nil
	}
	if alternatives[t] {
		return set.visitAlternative(t)
	}
	if set.structs[t] != nil {
		return nil
	}
	for _, m := range []reflect.Type{reflect.TypeFor[json.Marshaler](), reflect.TypeFor[json.Unmarshaler]()} {
		if t.Implements(m) || reflect.PointerTo(t).Implements(m) {
			return fmt.Errorf("%v encodes itself", t)
		}
	}
	s := &structType{goType: t, openapi: openapiName(t)}
	set.structs[t] = s
	if err := s.flatten(t, nil, true); err != nil {
		return fmt.Errorf("%v: %w", t, err)
	}
	seen := map[string]bool{}
	for _, f := range s.fields {
		if seen[f.name] {
			return fmt.Errorf("%v: two fields %s", t, f.name)
		}
		seen[f.name] = true
		if err := set.visit(f.goType); err != nil {
			return fmt.Errorf("%v.%s: %w", t, f.name, err)
		}
	}
	return nil
}

// flatten appends the fields of t. Embedded structs without a protobuf tag take no part in protobuf (onWire false).
func (s *structType) flatten(t reflect.Type, within []int, onWire bool) error {
	for i := range t.NumField() {
		sf := t.Field(i)
		tag, hasTag := sf.Tag.Lookup("json")
		if !sf.IsExported() || tag == "-" {
			continue
		}
		name, options, _ := strings.Cut(tag, ",")
		number, err := protoTag(sf)
		if err != nil {
			return err
		}
		if sf.Anonymous && name == "" {
			inner := append(append([]int{}, within...), number)
			if err := s.flatten(sf.Type, inner, onWire && number != 0); err != nil {
				return err
			}
			continue
		}
		if !hasTag {
			return fmt.Errorf("%s has no json tag", sf.Name)
		}
		f := &field{name: name, goType: sf.Type, proto: number, within: within}
		if f.goType.Kind() == reflect.Pointer {
			f.goType, f.pointer = f.goType.Elem(), true
		}
		if !onWire {
			f.proto, f.within = 0, nil
		}
		for _, option := range strings.Split(options, ",") {
			switch option {
			case "":
			case "omitempty":
				f.omitEmpty = true
			case "omitzero":
				f.omitZero = true
			default:
				return fmt.Errorf("%s: json option %s", name, option)
			}
		}
		s.fields = append(s.fields, f)
	}
	return nil
}

// protoTag answers the number of a protobuf tag. Its wire type says nothing: generated code follows the Go type.
func protoTag(sf reflect.StructField) (int, error) {
	tag, ok := sf.Tag.Lookup("protobuf")
	if !ok || tag == "-" {
		return 0, nil
	}
	parts := strings.Split(tag, ",")
	if len(parts) < 3 || strings.Contains(tag, "packed") {
		return 0, fmt.Errorf("%s: protobuf tag %q", sf.Name, tag)
	}
	return strconv.Atoi(parts[1])
}

// marshalsProto tells whether a type is a message: structs are, and the named slices that were given methods.
func marshalsProto(t reflect.Type) bool {
	return t.Implements(reflect.TypeFor[interface{ MarshalToSizedBuffer([]byte) (int, error) }]())
}

// code writes a type in the letters of the table.
func (set *typeSet) code(t reflect.Type) string {
	if letter, ok := special[t]; ok {
		return letter
	}
	switch t.Kind() {
	case reflect.Pointer:
		return "*" + set.code(t.Elem())
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "y"
		}
		if marshalsProto(t) {
			return "(" + set.code(t.Elem())
		}
		return "[" + set.code(t.Elem())
	case reflect.Map:
		return "{" + set.code(t.Elem())
	case reflect.Struct:
		if a := set.alternatives[t]; a != nil {
			return "/" + strconv.Itoa(a.id)
		}
		return strconv.Itoa(set.structs[t].id)
	}
	return scalars[t.Kind()].letter
}

// impliedName is the Go type a reader of the table would print for the letters alone.
func impliedName(t reflect.Type) string {
	if _, ok := special[t]; ok {
		switch t {
		case reflect.TypeFor[runtime.Object](), reflect.TypeFor[any]():
			return "runtime.RawExtension"
		}
		return t.String()
	}
	switch t.Kind() {
	case reflect.Pointer:
		return "*" + impliedName(t.Elem())
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "[]uint8"
		}
		return "[]" + impliedName(t.Elem())
	case reflect.Map:
		return "map[string]" + impliedName(t.Elem())
	case reflect.Struct:
		return t.String()
	}
	return scalars[t.Kind()].name
}
