package main

import (
	"context"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/koan-go/koan/entities"
	"github.com/koan-go/koan/entities/entschema"
	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/plugins"
)

// databaseApp is the app behind `koan serve`: the tables of a database that exists, or a folder of ent schemas
// (CONTRACT section 12).
func databaseApp() framework.App {
	return framework.App{
		Name:        "koan",
		Description: "The tables and views of a database that exists, or the schemas of an ent project, as entities.",
		Defaults:    map[string]string{"approval.mode": "destructive"},
		// What lies beside koan is not the user's: it may be another app's.
		Providers: []framework.Provider{entities.ProvideExisting(entschema.Open), plugins.Provide(plugins.Options{Configured: true})},
		Install:   framework.Install{Name: "koan-database", Args: []string{"serve"}},
	}
}

// databaseCommands are the commands of that app that people without an app of their own want. Everything
// behind their names is the app's.
func databaseCommands(stdout, stderr io.Writer, status *int, failure *error) []*cobra.Command {
	var out []*cobra.Command
	for _, c := range []struct{ name, use, short, example string }{
		{"serve", "serve --database sqlite:FILE|postgres://... | --schema DIR [--http ADDR] [--watch]", "Serve a database that exists, or a folder of ent schemas", "  koan serve --database sqlite:shop.db\n  koan serve --database sqlite:shop.db --http 127.0.0.1:8080\n  koan serve --schema ./ent/schema"},
		{"run", "run FILE|- --database sqlite:FILE|postgres://... | --schema DIR", "Run one script over a database or ent schemas, and print its result", "  echo 'SDK.Entities.Customer.count()' | koan run - --database sqlite:shop.db"},
		{"validate", "validate FILE|- --database sqlite:FILE|postgres://... | --schema DIR", "Check a script over a database or ent schemas, without running it", ""},
		{"sdk", "sdk --database sqlite:FILE|postgres://... | --schema DIR", "Print the TypeScript declarations of a database's or of ent schemas' entities", ""},
		{"tools", "tools --database sqlite:FILE|postgres://... | --schema DIR [--mode MODE]", "Print the tools that clients are shown", ""},
		{"migrate", "migrate plan|apply|status|hash --schema DIR", "Plan and apply changes of ent schemas to the tables that they are served from", "  koan migrate status --schema ./ent/schema\n  koan migrate apply --drop --schema ./ent/schema"},
		{"export", "export SET --database sqlite:FILE|postgres://... | --schema DIR", "Write the rows of a set to standard output", "  koan export default --entity Customer --format csv --database sqlite:shop.db"},
		{"import", "import FILE --entity ENTITY --database sqlite:FILE|postgres://... | --schema DIR", "Take rows from a file, as one run", "  koan import customers.csv --entity Customer --dry-run --database sqlite:shop.db"},
		{"backup", "backup DIR --schema DIR", "Copy the data of ent schemas, while it is served", ""},
		{"restore", "restore DIR --schema DIR", "Bring a backup back", ""},
		{"approve", "approve PLAN --database sqlite:FILE|postgres://... | --schema DIR", "Show what a run wants to change, and approve or deny it", "  koan approve --list --database sqlite:shop.db\n  koan approve PLAN --yes --database sqlite:shop.db"},
		{"runs", "runs --database sqlite:FILE|postgres://... | --schema DIR", "List runs from the journal, the latest first", ""},
		{"undo", "undo RUN --database sqlite:FILE|postgres://... | --schema DIR", "Restore what a run changed", "  koan undo RUN --dry-run --database sqlite:shop.db"},
		{"replay", "replay RUN --database sqlite:FILE|postgres://... | --schema DIR", "Replay a recorded run and report whether it does the same", ""},
		{"action", "action [NAME] --database sqlite:FILE|postgres://... | --schema DIR", "Carry out an action, or list the actions", ""},
		{"keys", "keys", "List the configuration's keys with their defaults", ""},
		{"doctor", "doctor --database sqlite:FILE|postgres://... | --schema DIR", "Check this machine and what is served, and list what is not", ""},
	} {
		out = append(out, &cobra.Command{
			Use: c.use, Short: c.short, Example: c.example, DisableFlagParsing: true,
			RunE: func(_ *cobra.Command, args []string) error {
				if i := slices.Index(args, "--watch"); i >= 0 && c.name == "serve" {
					*failure = develop(context.Background(), slices.Delete(slices.Clone(args), i, i+1), true, stdout, stderr)
					return nil
				}
				*status = framework.Run(databaseApp(), append([]string{c.name}, args...))
				return nil
			},
		})
	}
	return out
}
