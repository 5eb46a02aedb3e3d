package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/exposure"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/internal/transfer"
	"github.com/koan-go/koan/framework/journal"
	"github.com/koan-go/koan/framework/run"
)

// transferFlags are the flags of `export` and `import`.
type transferFlags struct {
	entity, format, set string
	dry, upsert         bool
}

func (c *scripts) export() *cobra.Command {
	var f transferFlags
	cmd := &cobra.Command{
		Use:   "export SET",
		Short: "Print the rows of a set, as lines of JSON or as CSV",
		Long: "Prints the rows of a set to standard output, all as of one moment, as far as callers may read them. Lines of JSON are\n" +
			"{entity, item} where no entity is given, otherwise the rows themselves. CSV has the rows of one entity; there \"\" is an empty\n" +
			"text, and nothing between the commas is null.",
		Example: "  " + c.app.Command + " export default > default.jsonl",
		Args:    exactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := rejectEmpty(cmd, "entity"); err != nil {
				return usage(err)
			}
			f.set = args[0]
			return c.exportRows(cmd.Context(), f)
		},
	}
	cmd.Flags().StringVar(&f.entity, "entity", "", "only the rows of this entity")
	cmd.Flags().StringVar(&f.format, "format", string(transfer.JSONL), strings.Join(transfer.Formats, " or "))
	return cmd
}

func (c *scripts) exportRows(ctx context.Context, f transferFlags) error {
	format, err := transfer.ParseFormat(f.format)
	if err != nil {
		return usage(explain(err))
	}
	i, stop, err := c.startOnce(ctx)
	if err != nil {
		return err
	}
	defer stop()
	if _, err := transfer.Export(ctx, c.job(i, f, format), c.app.Stdout); err != nil {
		if slices.Contains([]fault.Code{fault.InvalidPayload, fault.ToolNotFound, fault.UnknownSet}, fault.CodeOf(err)) {
			return usage(explain(err))
		}
		return failed(withCauseAndHint(err))
	}
	return nil
}

// job is what both commands do, on behalf of the local operator.
func (c *invocation) job(i Instance, f transferFlags, format transfer.Format) transfer.Job {
	p := auth.Local()
	return transfer.Job{Engine: i.Engine(), View: i.View(p, exposure.Understands), Principal: p, Set: f.set, Entity: f.entity, Format: format}
}

const importTool = "koan.import"

func (c *scripts) importCommand() *cobra.Command {
	var f transferFlags
	cmd := &cobra.Command{
		Use:   "import FILE|-",
		Short: "Store the rows of a file as one run, and print the result as one line of JSON",
		Long: "Stores the rows of a file, or of standard input, in an entity: all of them or, if there is anything wrong with one, none.\n" +
			"Hooks and validation are those of any other write, and `undo` takes the run back. Standard error names each line that\n" +
			"cannot be stored, and why. The file is what `export` prints: of lines that name their entity, those of this one are taken.",
		Example: "  " + c.app.Command + " import items.csv --entity PantryItem --dry-run",
		Args:    exactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, name := range []string{"entity", "set", "format"} {
				if err := rejectEmpty(cmd, name); err != nil {
					return usage(err)
				}
			}
			if f.entity == "" {
				return usage(errors.New("--entity is required: it names the entity that the rows are of"))
			}
			return c.importRows(cmd.Context(), args[0], f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.entity, "entity", "", "the entity that the rows are of")
	flags.StringVar(&f.set, "set", "", "the set that they are stored in")
	flags.StringVar(&f.format, "format", "", strings.Join(transfer.Formats, " or ")+"; that of the file's extension unless given")
	flags.BoolVar(&f.dry, "dry-run", false, "check everything, and keep nothing")
	flags.BoolVar(&f.upsert, "upsert", false, "change rows that are there, where they would be conflicts")
	return cmd
}

func (c *scripts) importRows(ctx context.Context, path string, f transferFlags) error {
	if f.format == "" {
		f.format = strings.TrimPrefix(strings.ToLower(filepath.Ext(path)), ".")
		if !slices.Contains(transfer.Formats, f.format) {
			return usage(fmt.Errorf("%s does not say what format it has: give it with --format %s", path, strings.Join(transfer.Formats, " or ")))
		}
	}
	format, err := transfer.ParseFormat(f.format)
	if err != nil {
		return usage(explain(err))
	}
	path, remove, err := c.spool(path)
	if err != nil {
		return usage(err)
	}
	defer remove()
	start := time.Now()
	i, stop, err := c.startOnce(ctx)
	if err != nil {
		return c.notStarted(importTool, path, err, time.Since(start))
	}
	defer stop()
	start = time.Now()
	in := transfer.Import{
		Job: c.job(i, f, format), Upsert: f.upsert, DryRun: f.dry,
		Open: func() (io.ReadCloser, error) { return os.Open(path) },
	}
	did, outcome, err := in.Run(ctx)
	if outcome == nil {
		return usage(explain(err))
	}
	return c.printImport(i.Engine().Redactor(), did, outcome, err, time.Since(start))
}

// printImport prints the line of an import, and what it says to people.
func (c *scripts) printImport(redactor *journal.Redactor, did *transfer.Imported, outcome *run.Outcome, err error, took time.Duration) error {
	body, merr := json.Marshal(map[string]any{"result": did, "changeCounts": outcome.Counts})
	if merr != nil {
		return failed(merr)
	}
	body, _ = redactor.JSON(body)
	l, lerr := c.line(outcome.Run, body, outcome, err, took)
	if lerr != nil {
		return failed(lerr)
	}
	l.ToolName = importTool
	if l.Result.OK {
		l.Result.ChangeCounts = l.Result.counts
	}
	if did != nil {
		for _, p := range did.Problems {
			text, _ := redactor.Text(strings.TrimSuffix(p.Message+" ("+p.Path+")", " ()"))
			fmt.Fprintln(c.app.Stderr, text)
		}
		if len(did.LeftOut) > 0 {
			fmt.Fprintf(c.app.Stderr, "left out, since nobody writes them: %s\n", strings.Join(did.LeftOut, ", "))
		}
	}
	if err := c.printLine(l); err != nil {
		return err
	}
	if !l.Result.OK {
		return failed(nil)
	}
	return nil
}

// spool returns the path of a file that can be read several times: standard input is copied to one. remove takes
// that away again.
func (c *invocation) spool(path string) (spooled string, remove func(), err error) {
	if path != "-" {
		info, err := os.Stat(path)
		if err == nil && info.IsDir() {
			err = fmt.Errorf("%s is a folder", path)
		}
		return path, func() {}, err
	}
	f, err := os.CreateTemp("", "koan-import-")
	if err != nil {
		return "", nil, err
	}
	remove = func() { _ = os.Remove(f.Name()) }
	_, err = io.Copy(f, c.app.Stdin)
	if err = errors.Join(err, f.Close()); err != nil {
		remove()
		return "", nil, err
	}
	return f.Name(), remove, nil
}
