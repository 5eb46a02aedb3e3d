// Command koan-worker runs scripts for an app that is built on Koan. The app starts it if
// it is beside the app's executable, and otherwise starts itself again. Since it links no
// database and no server, it is ready in half the time.
//
// What belongs here: nothing but the worker. Not here: a package that
// codemode/languages does not need.
package main

import (
	"fmt"
	"os"

	_ "github.com/koan-go/koan/codemode/languages" // which make this program a worker
	"github.com/koan-go/koan/codemode/worker"
)

// main is reached only if the command line is not that of a worker: a worker never returns
// from the initialisation of package languages.
func main() {
	fmt.Fprintf(os.Stderr, "koan-worker runs scripts for the app beside it, which starts it; there is nothing to do by hand.\nbuild: %s\n", worker.Build())
	os.Exit(2)
}
