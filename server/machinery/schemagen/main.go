// Command schemagen writes the table of facts about built-in kinds that the server compiles in; see README.md.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

func main() {
	output := flag.String("o", "../src/builtin.tbl", "file to write")
	discovery := flag.String("discovery", "", "directory with discovery documents (default: api/discovery of the k8s.io/kubernetes module)")
	flag.Parse()
	if err := run(*output, *discovery); err != nil {
		fmt.Fprintln(os.Stderr, "schemagen:", err)
		os.Exit(1)
	}
}

func run(output, discovery string) error {
	if discovery == "" {
		dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/kubernetes").Output()
		if err != nil {
			return fmt.Errorf("locating k8s.io/kubernetes: %w", err)
		}
		discovery = filepath.Join(strings.TrimSpace(string(dir)), "api", "discovery")
	}
	groups, err := readDiscovery(discovery)
	if err != nil {
		return err
	}
	kinds := servedKinds(groups)
	types, err := collect(kinds)
	if err != nil {
		return err
	}
	if err := types.addOpenAPI(); err != nil {
		return err
	}
	if err := addColumns(groups); err != nil {
		return err
	}
	table, err := render(types, kinds, groups)
	if err != nil {
		return err
	}
	return os.WriteFile(output, table, 0o644)
}
