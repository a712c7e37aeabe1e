// Command kubectl is stock kubectl at the release that the server targets, built from its published module so
// that the tests need no download of a binary.
package main

import (
	"os"

	"k8s.io/component-base/cli"
	"k8s.io/kubectl/pkg/cmd"
)

func main() {
	if cli.RunNoErrOutput(cmd.NewDefaultKubectlCommand()) != nil {
		os.Exit(1)
	}
}
