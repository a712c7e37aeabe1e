package main

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// table is the text being written; README.md describes it line by line.
type table struct {
	lists   pool
	columns pool
	body    bytes.Buffer
	fields  int
}

// pool numbers texts that many lines share, in order of first use.
type pool struct {
	texts []string
	at    map[string]int
}

func (p *pool) put(text string) string {
	if p.at == nil {
		p.at = map[string]int{}
	}
	if _, ok := p.at[text]; !ok {
		p.at[text] = len(p.texts)
		p.texts = append(p.texts, text)
	}
	return strconv.Itoa(p.at[text])
}

func render(set *typeSet, kinds []kind, groups []*group) ([]byte, error) {
	t := &table{}
	t.list(nil) // list 0 is the empty one
	for _, s := range set.sorted {
		t.structType(set, s)
	}
	for _, a := range set.sortedAlternatives() {
		goName := a.goType.String()
		line(&t.body, "A", a.goType.Name(), goName[:strings.IndexByte(goName, '.')], openapiName(a.goType),
			set.code(a.object), strconv.Itoa(a.objectNumber), set.code(a.other), strconv.Itoa(a.otherNumber))
	}
	t.kinds(set, kinds)
	resources := 0
	for _, g := range groups {
		for _, v := range g.versions {
			resources += len(v.resources)
			if err := t.version(set, kinds, g, v); err != nil {
				return nil, err
			}
		}
	}
	var out bytes.Buffer
	line(&out, "schema", "1", strconv.Itoa(len(set.sorted)), strconv.Itoa(t.fields), strconv.Itoa(len(kinds)),
		strconv.Itoa(resources))
	for _, text := range t.lists.texts {
		line(&out, "L", text)
	}
	for _, text := range t.columns.texts {
		line(&out, "T")
		out.WriteString(text)
	}
	out.Write(t.body.Bytes())
	if bytes.ContainsRune(out.Bytes(), '\r') {
		return nil, fmt.Errorf("carriage return in the table")
	}
	return out.Bytes(), nil
}

// line writes cells with tabs between them; empty cells at the end are left out.
func line(out *bytes.Buffer, cells ...string) {
	for len(cells) > 1 && cells[len(cells)-1] == "" {
		cells = cells[:len(cells)-1]
	}
	for _, cell := range cells {
		if strings.ContainsAny(cell, "\t\n") {
			panic(fmt.Sprintf("cell %q", cell))
		}
	}
	out.WriteString(strings.Join(cells, "\t"))
	out.WriteByte('\n')
}

func (t *table) list(items []string) string {
	for _, item := range items {
		if strings.Contains(item, "|") || item == "" && len(items) == 1 {
			panic(fmt.Sprintf("item %q", item))
		}
	}
	return t.lists.put(strings.Join(items, "|"))
}

func (t *table) structType(set *typeSet, s *structType) {
	flags := map[string]string{"atomic": "a", "granular": "g"}[s.mapType]
	goName := s.goType.String()
	line(&t.body, "S", s.goType.Name(), goName[:strings.IndexByte(goName, '.')], s.openapi, flags, s.unions)
	for _, f := range s.fields {
		t.field(set, f)
	}
}

func (t *table) field(set *typeSet, f *field) {
	t.fields++
	o := &f.openapi
	flags := ""
	for _, flag := range []struct {
		letter string
		set    bool
	}{
		{"p", f.pointer}, {"e", f.omitEmpty}, {"z", f.omitZero}, {"r", o.required}, {"a", o.mapType == "atomic"},
		{"g", o.mapType == "granular"}, {"0", o.defaultJSON != "" && o.defaultJSON == zeroDefault(f.goType)},
	} {
		if flag.set {
			flags += flag.letter
		}
	}
	proto := ""
	for _, number := range f.within {
		proto += strconv.Itoa(number) + "."
	}
	proto += strconv.Itoa(f.proto)
	cells := []string{"." + f.name, set.code(f.goType), flags, proto}
	add := func(key, value string) {
		if value != "" {
			cells = append(cells, key+"="+value)
		}
	}
	if o.defaultJSON != zeroDefault(f.goType) {
		add("d", o.defaultJSON)
	}
	if len(o.enum) > 0 {
		add("e", t.list(o.enum))
	}
	add("l", o.listType)
	if len(o.listMapKeys) > 0 {
		add("k", t.list(o.listMapKeys))
	}
	add("s", o.patchStrategy)
	add("m", o.patchMergeKey)
	add("f", o.format)
	if f.goType.String() != impliedName(f.goType) {
		add("t", f.goType.String())
	}
	line(&t.body, cells...)
}

func (t *table) kinds(set *typeSet, kinds []kind) {
	for i, k := range kinds {
		if i == 0 || kinds[i-1].GroupVersion() != k.GroupVersion() {
			line(&t.body, "G", k.Group, k.Version)
		}
		line(&t.body, "K", k.Kind, strconv.Itoa(set.structs[k.goType].id))
	}
}

func (t *table) version(set *typeSet, kinds []kind, g *group, v *version) error {
	flags := ""
	if v.on {
		flags = "d"
	}
	line(&t.body, "V", g.name, v.name, flags)
	for _, r := range v.resources {
		known := false
		for _, k := range kinds {
			known = known || k.Group == g.name && k.Version == v.name && k.Kind == r.Kind
		}
		if !known {
			return fmt.Errorf("%s/%s %s: kind %s is not registered", g.name, v.name, r.Name, r.Kind)
		}
		flags := ""
		if r.Namespaced {
			flags += "n"
		}
		if r.returnsOld {
			flags += "o"
		}
		line(&t.body, "R", r.Name, r.SingularName, r.Kind, flags, t.list(r.ShortNames), t.list(r.Categories),
			t.list(r.Verbs), t.columns.put(columnLines(r.columns)), r.StorageVersionHash)
		for _, sub := range r.subresources {
			gv := []string{g.name, v.name}
			foreign := sub.Version != ""
			if foreign {
				gv = []string{sub.Group, sub.Version}
			}
			mark := ""
			if foreign {
				mark = "f"
			}
			line(&t.body, "U", sub.Name, sub.Kind, t.list(sub.Verbs), mark, gv[0], gv[1])
		}
	}
	return nil
}

func columnLines(columns []metav1.TableColumnDefinition) string {
	var out bytes.Buffer
	for _, c := range columns {
		if strings.Contains(c.Description, `\`) {
			panic(fmt.Sprintf("description %q", c.Description))
		}
		description := strings.NewReplacer("\n", `\n`, "\t", `\t`).Replace(c.Description)
		line(&out, "C", c.Name, c.Type, c.Format, strconv.Itoa(int(c.Priority)), description)
	}
	return out.String()
}
