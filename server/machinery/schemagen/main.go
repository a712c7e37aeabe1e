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
	api := flag.String("api", "", "directory with discovery/ and openapi-spec/ (default: api of the k8s.io/kubernetes module)")
	flag.Parse()
	if err := run(*output, *api); err != nil {
		fmt.Fprintln(os.Stderr, "schemagen:", err)
		os.Exit(1)
	}
}

func run(output, api string) error {
	if api == "" {
		dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/kubernetes").Output()
		if err != nil {
			return fmt.Errorf("locating k8s.io/kubernetes: %w", err)
		}
		api = filepath.Join(strings.TrimSpace(string(dir)), "api")
	}
	groups, err := readDiscovery(api)
	if err != nil {
		return err
	}
	kinds := allKinds()
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
