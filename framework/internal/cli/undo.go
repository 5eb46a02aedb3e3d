package cli

import (
	"context"
	"encoding/json"
	"time"

	"github.com/spf13/cobra"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/run"
)

var undoID = catalog.CodeID("koan", "undo")

const undoTool = "koan.code.undo"

func (c *scripts) undo() *cobra.Command {
	input := map[string]any{}
	var dry bool
	var onConflict, key string
	cmd := &cobra.Command{
		Use:   "undo RUN",
		Short: "Restore what a run changed, and print the result as one line of JSON",
		Long: "Restores what a run changed, from what the journal keeps of it (journal.changes), as a run of its own. The result is\n" +
			"one line of JSON as `run` prints it. If something was changed since, it says where and changes nothing;\n" +
			"--on-conflict skip leaves those places as they are. Undoing an undo does again what it had undone.",
		Example: "  " + c.app.Command + " undo 01a1f9af-86a5-7c6b-96f4-1eb5600f6428 --dry-run",
		Args:    exactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, name := range []string{"on-conflict", "idempotency-key"} {
				if err := rejectEmpty(cmd, name); err != nil {
					return usage(err)
				}
			}
			input["runId"] = args[0]
			if dry {
				input["dryRun"] = true
			}
			if onConflict != "" {
				input["onConflict"] = onConflict
			}
			if key != "" {
				input["idempotencyKey"] = key
			}
			return c.undoRun(cmd.Context(), args[0], input)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&dry, "dry-run", false, "roll everything back and show what would change")
	flags.StringVar(&onConflict, "on-conflict", "", "refuse (the default) or skip: what happens to fields that were changed since")
	flags.StringVar(&key, "idempotency-key", "", "undo at most once: the same key returns the first result again")
	return cmd
}

func (c *scripts) undoRun(ctx context.Context, id string, input map[string]any) error {
	raw, err := json.Marshal(input)
	if err != nil {
		return usage(err)
	}
	start := time.Now()
	i, stop, err := c.startOnce(ctx)
	if err != nil {
		return c.notStarted(undoTool, id, err, time.Since(start))
	}
	defer stop()
	if c.canAsk() {
		ctx = c.withQuestions(ctx, i)
	}
	start = time.Now()
	redactor := i.Engine().Redactor()
	fits := c.fitsLine(nil, nil, redactor)
	out, outcome, err := i.Engine().Invoke(run.WithBeforeCommit(ctx, fits), c.request(i, undoID, raw))
	took := time.Since(start)
	out, _ = redactor.JSON(out)
	l, lerr := c.line(id, out, outcome, err, took)
	if lerr != nil {
		return failed(lerr)
	}
	l.ToolName = undoTool
	l.omit(nil)
	if err := l.shorten(); err != nil {
		return failed(err)
	}
	if err := c.printLine(l); err != nil {
		return err
	}
	if !l.Result.OK {
		return failed(nil)
	}
	return nil
}
