package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run/replay"
)

func (c *scripts) replay() *cobra.Command {
	var data, asJSON bool
	var plugins []string
	cmd := &cobra.Command{
		Use:   "replay RUN",
		Short: "Replay a recorded run and report whether it does the same",
		Long: "Runs a script again from what was recorded of it (see the keys replay.*): the same code, clock, random numbers\n" +
			"and results of calls, in a fresh sandbox, without data or anything outside. With --data, its calls to\n" +
			"entities see today's data, in a dry run, while results of plugins and servers stay as recorded. With --plugin,\n" +
			"calls to that plugin are made again, so that a new build can be compared with what the old one returned.\n\n" +
			"The exit status is 0 when it is identical, 1 when it differs, and 2 when the run is not kept.",
		Example: "  " + c.app.Command + " replay 01a1f9af-86a5-7c6b-96f4-1eb5600f6428",
		Args:    exactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			i, stop, err := c.startOnce(cmd.Context())
			if err != nil {
				return err
			}
			defer stop()
			r, err := i.Replay(cmd.Context(), args[0], data, plugins...)
			switch code := fault.CodeOf(err); {
			case code == fault.NotFound, code == fault.CapabilityUnsupported, code == fault.InvalidPayload:
				return usage(withCauseAndHint(err))
			case err != nil:
				return failed(withCauseAndHint(err))
			}
			if asJSON {
				err = c.printJSON(r)
			} else {
				_, err = fmt.Fprint(c.app.Stdout, formatReplay(r))
			}
			if err != nil || !r.Identical {
				return failed(err)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&data, "data", false, "let its calls to entities see today's data, in a dry run")
	cmd.Flags().StringArrayVar(&plugins, "plugin", nil, "make its calls to this plugin again, in a dry run, with the build that runs now (several times)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one line of JSON")
	return cmd
}

func (c *invocation) printJSON(v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return c.print(raw)
}

// formatReplay is the result of a replay as text.
func formatReplay(r *replay.Replayed) string {
	var b strings.Builder
	fmt.Fprintf(&b, "run %s (%s, %s): ", r.Run, r.Recorded.At.UTC().Format(time.RFC3339), r.Recorded.Outcome)
	if d := r.Difference; d != nil {
		fmt.Fprintf(&b, "differs %s\n  recorded: %s\n  now:      %s\n", differencePlace(d), d.Recorded, d.Now)
	} else {
		calls := "calls"
		if r.Calls == 1 {
			calls = "call"
		}
		fmt.Fprintf(&b, "identical, %d %s compared\n", r.Calls, calls)
	}
	for _, n := range r.Notes {
		fmt.Fprintf(&b, "  note: %s\n", n)
	}
	return b.String()
}

// differencePlace says where a difference is.
func differencePlace(d *replay.Difference) string {
	var at string
	switch d.In {
	case replay.InCall:
		at = fmt.Sprintf("in what is called, at call %d", d.Call)
	case replay.InOutput:
		at = fmt.Sprintf("in the result of call %d", d.Call)
	case replay.InError:
		at = "in how the script ends"
	default:
		at = "in the " + d.In
	}
	if d.Operation != "" {
		at += " (" + d.Operation + ")"
	}
	if d.Line > 0 {
		at += fmt.Sprintf(", line %d column %d of the script", d.Line, d.Column)
	}
	return at
}
