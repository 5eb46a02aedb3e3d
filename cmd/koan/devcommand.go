package main

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/koan-go/koan/cmd/koan/dev"
)

// devCommand is `koan dev`.
func devCommand(stdout, stderr io.Writer, failure *error) *cobra.Command {
	return &cobra.Command{
		Use:   "dev [--schema DIR | --database sqlite:FILE|postgres://...] [--http ADDR] [FLAGS OF serve]",
		Short: "Serve an app, ent schemas or a database, and take changes while clients stay connected",
		Long: `Serves the app of the working directory, or what --schema or --database names, and watches what it is made of: Go
files, ent schemas (code is generated anew), koan.yaml, and the schema of a file of SQLite. A change is built
beside what serves, which is replaced once that has succeeded; clients get list_changed. If a change does not
build or does not begin to serve, the version before it keeps serving. SIGHUP replaces it without a change.

Actions and plugins are taken by the app itself.`,
		Example:            "  koan dev                                # in the folder of an app; MCP over stdio\n  koan dev --http 127.0.0.1:8080\n  koan dev --schema ./ent/schema --http 127.0.0.1:8080",
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if slices.ContainsFunc(args, func(a string) bool { return a == "--help" || a == "-h" }) {
				return cmd.Help()
			}
			*failure = develop(cmd.Context(), args, false, stdout, stderr)
			return nil
		},
	}
}

// develop serves what the arguments or the configuration name, and replaces it when it changes. itself says that it is
// no app of the working directory.
func develop(ctx context.Context, args []string, itself bool, stdout, stderr io.Writer) error {
	if ctx == nil { // the command was run without one
		ctx = context.Background()
	}
	o := dev.Options{Args: args, In: os.Stdin, Out: stdout, Err: stderr}
	from := sourceOf(args)
	if itself || from.Schema != "" || !isApp(".") && from.Database != "" {
		o.Program = dev.Itself{Schema: from.Schema, Database: from.Database, Config: configFile}
	} else {
		app, err := dev.NewApp(".")
		if err != nil {
			return err
		}
		defer func() { _ = app.Close() }()
		o.Program = app
	}
	if flagOf(args, "--http") != "" && isatty.IsTerminal(os.Stdin.Fd()) {
		o.Ask = asker(os.Stdin, stderr)
	}
	return dev.Run(ctx, o)
}

// asker asks the person at a terminal.
func asker(in io.Reader, out io.Writer) func(ctx context.Context, question string) bool {
	lines := bufio.NewReader(in)
	return func(ctx context.Context, question string) bool {
		fmt.Fprintf(out, "koan dev: %s [yes/no] ", question)
		answered := make(chan string, 1)
		go func() {
			answer, _ := lines.ReadString('\n')
			answered <- strings.TrimSpace(answer)
		}()
		select {
		case answer := <-answered:
			return answer == "yes"
		case <-ctx.Done():
			return false
		}
	}
}

// source is what is to be served, in the keys of the configuration.
type source struct{ Schema, Database string }

// sourceOf reads it as the process that serves will: from flags, variables and koan.yaml, in this order. What is
// wrong with the file, that process says.
func sourceOf(args []string) (n source) {
	if raw, err := os.ReadFile(configFile); err == nil {
		_ = yaml.Unmarshal(raw, &n)
	}
	n.Schema = cmp.Or(flagOf(args, "--schema"), os.Getenv("KOAN_SCHEMA"), n.Schema)
	n.Database = cmp.Or(flagOf(args, "--database"), os.Getenv("KOAN_DATABASE"), n.Database)
	return n
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
