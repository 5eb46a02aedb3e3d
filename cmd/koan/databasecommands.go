package main

import (
	"github.com/spf13/cobra"

	"github.com/koan-go/koan/entities"
	"github.com/koan-go/koan/entities/entschema"
	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/plugins"
)

// databaseApp is the app behind `koan serve`: the tables of a database that exists (CONTRACT section 12).
func databaseApp() framework.App {
	return framework.App{
		Name:        "koan",
		Description: "The tables and views of a database that exists, as entities.",
		Defaults:    map[string]string{"approval.mode": "destructive"},
		// What lies beside koan is not the user's: it may be another app's.
		Providers: []framework.Provider{entities.ProvideExisting(entschema.Open), plugins.Provide(plugins.Options{Configured: true})},
		Install:   framework.Install{Name: "koan-database", Args: []string{"serve"}},
	}
}

// databaseCommands are the commands of that app which a person without one of his own wants. Everything
// behind their names is the app's.
func databaseCommands(status *int) []*cobra.Command {
	var out []*cobra.Command
	for _, c := range []struct{ name, use, short, example string }{
		{"serve", "serve --database sqlite:FILE|postgres://... [--http ADDR]", "Serve a database that exists: its tables and views are entities", "  koan serve --database sqlite:shop.db\n  koan serve --database sqlite:shop.db --http 127.0.0.1:8080"},
		{"run", "run FILE|- --database sqlite:FILE|postgres://...", "Run one script over a database, and print its result", "  echo 'SDK.Entities.Customer.count()' | koan run - --database sqlite:shop.db"},
		{"validate", "validate FILE|- --database sqlite:FILE|postgres://...", "Check a script over a database, without running it", ""},
		{"sdk", "sdk --database sqlite:FILE|postgres://...", "Print the TypeScript declarations of a database's entities", ""},
		{"tools", "tools --database sqlite:FILE|postgres://... [--mode MODE]", "Print the tools that clients of a database are shown", ""},
		{"doctor", "doctor --database sqlite:FILE|postgres://...", "Check this machine and a database, and list what of it is not served", ""},
	} {
		out = append(out, &cobra.Command{
			Use: c.use, Short: c.short, Example: c.example, DisableFlagParsing: true,
			RunE: func(_ *cobra.Command, args []string) error {
				*status = framework.Run(databaseApp(), append([]string{c.name}, args...))
				return nil
			},
		})
	}
	return out
}
