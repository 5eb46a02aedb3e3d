package main

import (
	"cmp"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/koan-go/koan/cmd/koan/bundle"
)

// bundleCommand is the command `koan bundle`. An error after the command line was read is
// stored in failure.
func bundleCommand(out io.Writer, failure *error) *cobra.Command {
	o := bundle.Options{Serve: []string{"serve"}}
	c := &cobra.Command{
		Use:   "bundle [BINARY]",
		Short: "Pack an app for MCP clients (.mcpb), and describe it for the MCP registry (server.json)",
		Long: `Packs the binary of an app, with koan-worker and plugins/ from beside it, into a bundle that clients such as Claude
Desktop install with a click. They ask the user for each variable that the packed configuration names (${env:NAME}). A
bundle is for one system and one architecture: those of the binary.

Without BINARY it packs this program as the gateway; then the user chooses the file with the servers.

server.json says to the MCP registry where the bundle is; for a module on GitHub its name there and the address of a
release are known.`,
		Example: "  koan bundle bin/todo --author Ann\n  koan bundle bin/todo --author Ann --config koan.yaml --out dist\n" +
			"  koan bundle bin/todo --author Ann --registry-name com.example/todo --download https://example.com/todo.mcpb",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return fmt.Errorf("name one binary: %s", cmd.UseLine())
			}
			return o.Check()
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 1 {
				o.Binary = args[0]
			} else {
				if o.Binary, *failure = os.Executable(); *failure != nil {
					return nil
				}
				g := gateway()
				o.Serve, o.Gateway, o.Name, o.About = g.Install.Args, true, cmp.Or(o.Name, g.Name), cmp.Or(o.About, g.Description)
			}
			*failure = bundle.Run(o, out)
			return nil
		},
	}
	f := c.Flags()
	f.StringVar(&o.Out, "out", ".", "folder for the results")
	f.StringVar(&o.Config, "config", "", "configuration file to pack")
	f.BoolVar(&o.AskData, "ask-data", false, "let the user choose the folder of the data (default: the app's own)")
	f.StringVar(&o.Name, "name", "", "name of the bundle (default: the binary's)")
	f.StringVar(&o.Version, "version", "", "version of the bundle (default: what the binary says)")
	f.StringVar(&o.About, "description", "", "one sentence for people")
	f.StringVar(&o.Author, "author", "", "who made the app")
	f.StringVar(&o.License, "license", "", "license of the app, such as Apache-2.0")
	f.StringVar(&o.Registry, "registry-name", "", "name in the MCP registry (default for GitHub: io.github.OWNER/NAME)")
	f.StringVar(&o.Download, "download", "", "where the bundle can be downloaded (default for GitHub: the release)")
	return c
}
