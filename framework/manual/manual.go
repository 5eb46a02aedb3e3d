// Package manual is what the root of every program has beside its commands: help about one of them,
// completion for shells, and manual pages, all made from the commands themselves.
//
// What belongs here: commands about commands. Not here: what a command does.
package manual

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/koan-go/koan/framework/fault"
)

// Add adds the commands of this package to a root that has all others. result turns the outcome of a
// command, nil included, into what its RunE returns.
func Add(root *cobra.Command, result func(error) error) {
	root.AddCommand(pages(result))
	root.InitDefaultHelpCmd()
	if help, _, err := root.Find([]string{"help"}); err == nil {
		help.Args = knownTopic
	}
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() == "completion" {
			c.Short = "Print a script that completes commands and flags in a shell"
			c.Long = "Prints a script that completes commands and flags. The help of each shell's command says where to put it."
			shells := strings.Join(names(c.Commands()), ", ")
			c.RunE = func(*cobra.Command, []string) error { return fmt.Errorf("name a shell: %s", shells) }
			c.Args = cobra.ArbitraryArgs
		}
	}
}

func names(commands []*cobra.Command) []string {
	out := make([]string, len(commands))
	for i, c := range commands {
		out[i] = c.Name()
	}
	return out
}

// Completes reports whether a program is called by the script of a shell, which asks what can follow.
func Completes(args []string) bool {
	return len(args) > 0 && (args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd)
}

// knownTopic rejects a topic of help that is not a command.
func knownTopic(help *cobra.Command, args []string) error {
	if found, _, err := help.Root().Find(args); err != nil || len(args) > 0 && found == help.Root() {
		return fmt.Errorf("unknown command %q%s", args[0], fault.DidYouMeanOr(args[0], names(help.Root().Commands()), "see --help"))
	}
	return nil
}

func pages(result func(error) error) *cobra.Command {
	return &cobra.Command{
		Use:   "man DIR",
		Short: "Write manual pages, one for each command",
		Long:  "Writes a page for man(1) for each command into a folder, such as ~/.local/share/man/man1.",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("name one folder: %s", cmd.UseLine())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			n, err := write(root, args[0])
			if err == nil {
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "wrote %d pages; read the first with: man %s\n", n, filepath.Join(args[0], root.Name()+".1"))
			}
			return result(err)
		},
	}
}

// write writes the page of a command and those of its own commands, and returns how many there are.
func write(c *cobra.Command, dir string) (int, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return 0, err
	}
	root := c.Root()
	delete(root.Annotations, cobra.CommandDisplayNameAnnotation) // a page names the program, wherever it was started from
	name := strings.ReplaceAll(c.CommandPath(), " ", "-")
	f, err := os.Create(filepath.Join(dir, name+".1"))
	if err != nil {
		return 0, err
	}
	c.DisableAutoGenTag = true
	header := &doc.GenManHeader{Title: strings.ToUpper(name), Section: "1", Source: strings.TrimSpace(root.Name() + " " + root.Version), Manual: root.Name()}
	err = doc.GenMan(c, header, f)
	if closed := f.Close(); err == nil {
		err = closed
	}
	n := 1
	for _, sub := range c.Commands() {
		if err != nil {
			break
		}
		if sub.IsAvailableCommand() && !sub.IsAdditionalHelpTopicCommand() {
			var more int
			more, err = write(sub, dir)
			n += more
		}
	}
	return n, err
}
