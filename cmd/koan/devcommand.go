package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"

	"github.com/koan-go/koan/cmd/koan/dev"
)

// devCommand is `koan dev`.
func devCommand(stdout, stderr io.Writer, failure *error) *cobra.Command {
	return &cobra.Command{
		Use:   "dev [--schema DIR | --database sqlite:FILE|postgres://...] [--http ADDR] [FLAGS OF serve]",
		Short: "Serve an app, ent schemas or a database, and take changes while clients stay connected",
		Long: `Serves the app of the working directory, or what --schema or --database names, and watches what it is made of: Go
files, ent schemas (code is generated anew), koan.yaml, and the schema of a file of SQLite. A change is built
beside what serves, which is replaced once that has succeeded; clients get list_changed. What does not build, or does not
begin to serve, leaves what served before. SIGHUP replaces it without a change.

Actions and plugins are taken by the app itself.`,
		Example:            "  koan dev                                # in the folder of an app; MCP over stdio\n  koan dev --http 127.0.0.1:8080\n  koan dev --schema ./ent/schema --http 127.0.0.1:8080",
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if slices.ContainsFunc(args, func(a string) bool { return a == "--help" || a == "-h" }) {
				return cmd.Help()
			}
			*failure = develop(cmd.Context(), args, stdout, stderr)
			return nil
		},
	}
}

// develop serves what the arguments name, and replaces it when it changes.
func develop(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if ctx == nil { // the command was run without one
		ctx = context.Background()
	}
	o := dev.Options{Args: args, In: os.Stdin, Out: stdout, Err: stderr}
	schema, database := flagOf(args, "--schema"), flagOf(args, "--database")
	if schema != "" || database != "" && !isApp(".") {
		o.Program = dev.Itself{Schema: schema, Database: database, Config: configFile}
	} else {
		app, err := dev.NewApp(".")
		if err != nil {
			return err
		}
		defer func() { _ = app.Close() }()
		o.Program = app
	}
	if flagOf(args, "--http") != "" && isatty.IsTerminal(os.Stdin.Fd()) {
		lines := bufio.NewReader(os.Stdin)
		o.Ask = func(question string) bool {
			fmt.Fprintf(stderr, "koan dev: %s [yes/no] ", question)
			answer, err := lines.ReadString('\n')
			return (err == nil || errors.Is(err, io.EOF)) && strings.TrimSpace(answer) == "yes"
		}
	}
	return dev.Run(ctx, o)
}

// isApp reports whether a folder has a Go program.
func isApp(dir string) bool {
	_, err := os.Stat(dir + "/go.mod")
	_, main := os.Stat(dir + "/main.go")
	return err == nil && main == nil
}

// flagOf returns the value of a flag that other commands parse, "" where it is not given.
func flagOf(args []string, name string) string {
	for i, a := range args {
		if value, ok := strings.CutPrefix(a, name+"="); ok {
			return value
		}
		if a == name && i+1 < len(args) {
			return args[i+1]
		}
	}
	return ""
}
