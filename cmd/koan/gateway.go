package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/koan-go/koan/entities"
	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/plugins"
)

// gateway is the app behind `koan gateway`: it has no entities, and offers code mode over
// other MCP servers (CONTRACT section 8).
func gateway() framework.App {
	return framework.App{
		Name:        "koan-gateway",
		Command:     "koan gateway",
		Description: "Code mode over the MCP servers that are configured: one script calls many of their tools.",
		Defaults:    map[string]string{"approval.mode": "destructive", "approval.tainted": "ask", "codeMode.faces": "koan,codemode,gateway", "exposure": "code"},
		// What lies beside koan is not the user's: it may be another app's.
		Providers: []framework.Provider{entities.Provide(&framework.Entities{}, entities.Options{Ledger: true}), plugins.Provide(plugins.Options{Configured: true})},
		Install:   framework.Install{Name: "koan", Args: []string{"gateway"}},
	}
}

// gatewayCommand passes everything after `koan gateway` to that app.
func gatewayCommand(status *int) *cobra.Command {
	return &cobra.Command{
		Use:        "gateway [--mcp-config FILE] [--http ADDR] | check | list | COMMAND",
		SuggestFor: []string{"check", "list"},
		Short:      "Serve code mode over the MCP servers that you have",
		Long: `Serves code mode over other MCP servers: those of a file as Claude, Cursor or VS Code
write it (--mcp-config), and those of koan.yaml (upstreams.<id>). A model sends one script
that calls as many of their tools as it needs.

  check     connects each server (of --mcp-config and koan.yaml), and says what is wrong
  list      shows the servers, and what is known of their tools
  COMMAND   is one that every app has: run, validate, sdk, tools, doctor, approve, replay,
            upstream login (signs in to a server), upstream logout`,
		Example: `  koan gateway --mcp-config ~/.cursor/mcp.json
  koan gateway check --mcp-config mcp.json
  koan gateway run script.js --mcp-config mcp.json`,
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 && (args[0] == "--help" || args[0] == "-h") {
				return cmd.Help()
			}
			*status = framework.Run(gateway(), gatewayArgs(args))
			return nil
		},
	}
}

// gatewayArgs turns the arguments of the gateway into those of its app: without a command
// it serves.
func gatewayArgs(args []string) []string {
	switch {
	case len(args) == 0 || strings.HasPrefix(args[0], "-"):
		return append([]string{"serve"}, args...)
	case args[0] == "check" || args[0] == "list":
		return append([]string{"upstream"}, args...)
	}
	return args
}

// installCommand is `koan gateway install`, which is what a person without an app wants, under
// a shorter name. With a database or schemas it installs what serves these, which the gateway would not.
func installCommand(status *int) *cobra.Command {
	return &cobra.Command{
		Use:                "install CLIENT",
		Short:              "Put the gateway into an MCP client, in front of the servers that it has (--gateway), or with --database or --schema what serves these",
		DisableFlagParsing: true,
		RunE: func(_ *cobra.Command, args []string) error {
			app := gateway()
			app.Command = "koan"
			if slices.ContainsFunc(args, namesData) {
				app = databaseApp()
			}
			*status = framework.Run(app, append([]string{"install"}, args...))
			return nil
		},
	}
}

// namesData reports whether an argument is a flag that names what `koan serve` serves.
func namesData(arg string) bool {
	name, _, _ := strings.Cut(arg, "=")
	return name == "--database" || name == "--schema"
}
