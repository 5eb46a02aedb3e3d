// Command koan is the developer's tool: it serves databases that exist and folders of ent schemas, creates new apps, adds Koan to projects that
// have ent schemas, serves code mode over other MCP servers, and installs that into clients. Apps have their own
// binaries with their own commands, which do not belong here.
package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/koan-go/koan/entities/entschema"
	"github.com/koan-go/koan/framework/build"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/manual"
)

func main() {
	entschema.Load()
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// run returns the exit status: 0, 1 when the work failed, 2 on wrong use.
func run(args []string, stdout, stderr io.Writer) int {
	var failure error
	root := &cobra.Command{
		Use: "koan", Short: "Serve a database that exists or ent schemas, start new Koan apps, add Koan to ent projects, serve code mode over MCP servers", Version: build.Version(), SilenceErrors: true, SilenceUsage: true,
	}
	help := bufio.NewWriter(stdout) // cobra drops what goes wrong with its texts
	root.SetOut(help)
	root.SetErr(stderr)
	root.SetArgs(args)
	var o options
	create := &cobra.Command{
		Use:     "new DIR",
		Short:   "Write a small complete app: entities, a script, a test, a Makefile",
		Example: "  koan new todo && cd todo && make test && make serve",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("name one folder: %s", cmd.UseLine())
			}
			return checkDir(args[0])
		},
		RunE: func(_ *cobra.Command, args []string) error {
			o.dir = args[0]
			failure = create(o, stdout)
			return nil
		},
	}
	create.Flags().StringVar(&o.module, "module", "", "Go module path of the app (default: the folder's name)")
	create.Flags().StringVar(&o.source, "koan-src", "", "use Koan from this checkout: writes a replace directive into go.mod")
	status := 0
	root.AddCommand(create, addCommand(stdout, &failure), gatewayCommand(&status), installCommand(&status), pluginCommand(&status), bundleCommand(stdout, &failure), initCommand(stdout, &failure), devCommand(stdout, stderr, &failure))
	root.AddCommand(databaseCommands(stdout, stderr, &status, &failure)...)
	manual.Add(root, func(err error) error {
		failure = err
		return nil
	})
	if err := root.Execute(); err != nil {
		fmt.Fprintf(stderr, "koan: %v\n", err)
		return 2
	}
	if failure = cmp.Or(failure, help.Flush()); failure != nil {
		fmt.Fprintf(stderr, "koan: %v\n", failure)
		if f, ok := errors.AsType[*fault.Fault](failure); ok && f.Hint != "" {
			fmt.Fprintf(stderr, "  hint: %s\n", f.Hint)
		}
		return 1
	}
	return status
}

// released is the version of Koan that new apps use, "" for a build from a checkout.
func released() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || !strings.HasPrefix(info.Main.Version, "v") || strings.Contains(info.Main.Version, "+dirty") || strings.HasPrefix(info.Main.Version, "v0.0.0-") {
		return ""
	}
	return info.Main.Version
}
