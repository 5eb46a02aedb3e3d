package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exposure"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/internal/toolset"
)

// providerCommand makes a cobra command from a provider's command.
func (c *command) providerCommand(p *catalog.Command) *cobra.Command {
	cmd := &cobra.Command{Use: strings.Join(append([]string{p.Name}, p.Args...), " "), Short: p.Short, Long: p.Long}
	if p.Example != "" {
		cmd.Example = "  " + c.app.Command + " " + p.Example
	}
	for _, sub := range p.Sub {
		cmd.AddCommand(c.providerCommand(sub))
	}
	if p.Run == nil {
		c.group(cmd)
		return cmd
	}
	cmd.Args = argsOf(p.Args)
	in := &catalog.Invocation{
		Bools: map[string]bool{}, Strings: map[string]string{}, Lists: map[string][]string{},
		In: c.app.Stdin, Out: c.printer(), Err: printer{w: c.app.Stderr}, ListBytes: c.listBytes,
	}
	bools, texts, lists := map[string]*bool{}, map[string]*string{}, map[string]*[]string{}
	for _, f := range p.Flags {
		switch def := f.Default.(type) {
		case bool:
			bools[f.Name] = cmd.Flags().Bool(f.Name, def, f.Help)
		case string:
			texts[f.Name] = cmd.Flags().String(f.Name, def, f.Help)
		case []string:
			lists[f.Name] = cmd.Flags().StringArray(f.Name, def, f.Help)
		default:
			panic(fmt.Sprintf("cli: the flag %s of %s has a default of type %T", f.Name, p.Name, f.Default))
		}
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		host, err := c.app.Configure(c.source(map[string]string{"log.level": "warn"}))
		if err != nil {
			return usage(err)
		}
		in.Args = args
		for name, b := range bools {
			in.Bools[name] = *b
		}
		for name, s := range texts {
			in.Strings[name] = *s
		}
		for name, l := range lists {
			in.Lists[name] = *l
		}
		err = p.Run(cmd.Context(), host, in)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, catalog.ErrNotice):
			return failed(nil)
		case fault.CodeOf(err) == fault.InvalidPayload:
			return usage(explain(err))
		}
		return failed(withCauseAndHint(err))
	}
	return cmd
}

// listBytes is catalog.Invocation.ListBytes.
func (c *command) listBytes(ctx context.Context) (int, error) {
	i, stop, err := c.boot(ctx, map[string]string{"log.level": "error"}, true) // the command says itself what is wrong
	if err != nil {
		return 0, err
	}
	defer stop()
	return len(toolset.JSON(i.View(auth.Local(), exposure.Understands), toolset.Configured(i.Values()))), nil
}

// group makes a command that only has subcommands: it is wrong use to call it without one
// or with an unknown one.
func (c *command) group(cmd *cobra.Command) {
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			var names []string
			for _, sub := range cmd.Commands() {
				names = append(names, sub.Name())
			}
			return fmt.Errorf("%s has no command %q%s", cmd.CommandPath(), args[0], fault.DidYouMeanOr(args[0], names, "see --help"))
		}
		return nil
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cmd.SetOut(c.app.Stderr)
		_ = cmd.Help()
		return usage(nil)
	}
}

// printer implements catalog.Printer.
type printer struct {
	w      io.Writer
	failed *error // the first error of a write; nil where nobody wants to know
}

var _ catalog.Printer = printer{}

func (p printer) Printf(format string, args ...any) {
	if _, err := fmt.Fprintf(p.w, format, args...); err != nil && p.failed != nil && *p.failed == nil {
		*p.failed = err
	}
}

func (p printer) JSON(v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.w, "%s\n", raw)
	return err
}

// gap is the space between columns.
const gap = 2

// Table pads before it paints, since colours take no room.
func (p printer) Table(rows [][]catalog.Cell) {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell.Text))
		}
	}
	paint := painter(p.w)
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			text := cell.Text
			if cell.Mood != catalog.Plain {
				text = paint(moodColors[cell.Mood], text)
			}
			line.WriteString(text)
			if i < len(row)-1 {
				line.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell.Text)+gap))
			}
		}
		p.Printf("%s\n", strings.TrimRight(line.String(), " "))
	}
}

var moodColors = map[catalog.Mood]string{catalog.Good: green, catalog.Bad: red, catalog.Faint: faint}
