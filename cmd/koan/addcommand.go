package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"

	"github.com/koan-go/koan/cmd/koan/add"
)

// addCommand is the command `koan add`. An error after the command line was read is stored
// in failure.
func addCommand(out io.Writer, failure *error) *cobra.Command {
	var o add.Options
	var source string
	var yes bool
	c := &cobra.Command{
		Use:   "add [DIR] [-- FLAGS]",
		Short: "Serve the entities of an ent project: add Koan to its code generation, schemas and go.mod",
		Long: `Adds Koan to the module of an ent project. DIR is the folder of ent's code (default: ent) or of its schemas.

The go:generate line that runs ent's command becomes one that runs an entc.go with the same options and Koan's
extension; an entc.go that is there gets the extension. --expose adds the annotation expose.Entity to schemas: only
those with it are served. Where the module has no program that serves them, one is written. All changes are shown
first. A second call changes nothing.

Where no line and no program say how ent's code is generated, FLAGS are those of "ent generate".`,
		Example: "  koan add ./ent --dry-run\n  koan add ./ent --expose Order,Customer\n  koan add ./ent --expose all --koan-src ../koan",
		Args: func(cmd *cobra.Command, args []string) error {
			dash := cmd.ArgsLenAtDash()
			if dash < 0 {
				dash = len(args)
			}
			if dash > 1 {
				return fmt.Errorf("name one folder: %s", cmd.UseLine())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Dir = "ent"
			dash := cmd.ArgsLenAtDash()
			if dash >= 0 {
				o.Flags, o.FlagsGiven, args = args[dash:], true, args[:dash]
			}
			if len(args) > 0 {
				o.Dir = args[0]
			}
			o.Version = released()
			if source != "" {
				if o.Source, *failure = checkout(source); *failure != nil {
					return nil
				}
			}
			if !yes && isatty.IsTerminal(os.Stdin.Fd()) && isatty.IsTerminal(os.Stdout.Fd()) {
				o.Agree = func(files int) (bool, error) { return confirmWrite(out, os.Stdin, files) }
			}
			*failure = add.Run(o, out)
			return nil
		},
	}
	c.Flags().StringSliceVar(&o.Expose, "expose", nil, "add the annotation to these schemas, or to all that can be exposed")
	c.Flags().StringVar(&source, "koan-src", "", "use Koan from this checkout: writes a replace directive into go.mod")
	c.Flags().StringVar(&o.Program, "main", "cmd/agents", "the folder for the program that serves; \"\" writes none")
	c.Flags().BoolVar(&o.DryRun, "dry-run", false, "show the changes and write nothing")
	c.Flags().BoolVar(&o.Force, "force", false, "also change files with uncommitted changes")
	c.Flags().BoolVar(&yes, "yes", false, "do not ask on a terminal")
	return c
}

// confirmWrite asks the person at the terminal.
func confirmWrite(out io.Writer, in io.Reader, files int) (bool, error) {
	fmt.Fprintf(out, "\nWrite these changes to %d files? [y/N] ", files)
	answer, err := bufio.NewReader(in).ReadString('\n')
	if err != nil && err != io.EOF {
		return false, err
	}
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes", nil
}
