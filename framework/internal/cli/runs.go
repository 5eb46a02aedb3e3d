package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/exposure"
	"github.com/koan-go/koan/framework/journal"
)

// runsFlags are the flags of `runs`.
type runsFlags struct {
	failed, json bool
	limit        int
	since        string
}

func (c *command) runs() *cobra.Command {
	var f runsFlags
	cmd := &cobra.Command{
		Use:   "runs",
		Short: "List runs from the journal, the latest first",
		Long: "Lists runs from the journal, the latest first: when each started, its id, surface, caller, tool, outcome, duration and\n" +
			"changes. A run that waited for a person stands where it was sent, with the time of the decision.\n" +
			"On a terminal they are a table; in a pipe each is a line whose columns are separated by tabs, without a header.\n" +
			"`" + c.app.Command + " doctor` says where the journal is: beside the data, unless ledger.database says otherwise.",
		Example: "  " + c.app.Command + " runs --failed --since 24h\n  " + c.app.Command + " runs --json --limit 100",
		Args:    exactArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			oldest, err := f.oldest(cmd.Flags().Changed("since"), time.Now())
			if err != nil {
				return usage(err)
			}
			return c.runOnce(func(cmd *cobra.Command, i Instance) error {
				return c.listRuns(cmd.Context(), i, f, oldest)
			})(cmd, nil)
		},
	}
	cmd.Flags().BoolVar(&f.failed, "failed", false, "only runs that were refused, that failed, or that wait for somebody")
	cmd.Flags().IntVar(&f.limit, "limit", 20, "at most so many runs")
	cmd.Flags().StringVar(&f.since, "since", "", "only runs that started within this time, such as 90m, 24h or 7d")
	cmd.Flags().BoolVar(&f.json, "json", false, "print one line of JSON for each run, with all that the journal has of it")
	return cmd
}

// oldest checks the flags, and returns when the oldest run may have started.
func (f runsFlags) oldest(since bool, now time.Time) (time.Time, error) {
	if f.limit < 1 {
		return time.Time{}, fmt.Errorf("--limit must be at least 1, not %d", f.limit)
	}
	if !since {
		return time.Time{}, nil
	}
	d, err := time.ParseDuration(f.since)
	if days, ok := strings.CutSuffix(f.since, "d"); ok {
		var n uint64
		n, err = strconv.ParseUint(days, 10, 16)
		d = time.Duration(n) * 24 * time.Hour
	}
	if err != nil || d <= 0 {
		return time.Time{}, fmt.Errorf("--since must be a duration such as 90m, 24h or 7d, not %q", f.since)
	}
	return now.Add(-d), nil
}

// journaled is what is shown of a run.
type journaled struct {
	ID         string    `json:"id"`
	Started    time.Time `json:"started"`
	DurationMs float64   `json:"durationMs"`
	Surface    string    `json:"surface"`
	Subject    string    `json:"subject"`
	Tool       string    `json:"tool"`
	Outcome    string    `json:"outcome"`
	Created    int       `json:"created"`
	Updated    int       `json:"updated"`
	Deleted    int       `json:"deleted"`
}

func (c *command) listRuns(ctx context.Context, i Instance, f runsFlags, oldest time.Time) error {
	p := auth.Local()
	q := journal.Query{Knows: i.View(p, exposure.Understands).Knows, Whole: f.json}
	if f.failed {
		q.Outcome = "!" + journal.OK
	}
	terminal := onTerminal(c.app.Stdout)
	var out io.Writer = c.app.Stdout
	if terminal && !f.json {
		w := tabwriter.NewWriter(c.app.Stdout, 2, 4, 2, ' ', 0)
		fmt.Fprintln(w, "STARTED\tRUN\tSURFACE\tCALLER\tTOOL\tOUTCOME\tMS\tCHANGES")
		out = w
	}
	err := eachRun(auth.With(ctx, p), i, q, f.limit, func(raw json.RawMessage) (more bool, err error) {
		var r journaled
		if err := json.Unmarshal(raw, &r); err != nil {
			return false, err
		}
		if r.Started.Before(oldest) {
			return false, nil
		}
		if f.json {
			_, err = fmt.Fprintf(out, "%s\n", raw)
		} else {
			_, err = fmt.Fprintln(out, r.row())
		}
		return true, err
	})
	if err != nil {
		return failed(withCauseAndHint(err))
	}
	if w, ok := out.(*tabwriter.Writer); ok {
		if err := w.Flush(); err != nil {
			return failed(err)
		}
	}
	return nil
}

// eachRun calls fn with at most so many runs, the latest first, until it wants no more.
func eachRun(ctx context.Context, i Instance, q journal.Query, limit int, fn func(json.RawMessage) (more bool, err error)) error {
	page := 200
	if q.Whole {
		page = 20
	}
	for limit > 0 {
		q.Most = min(limit, page)
		got, err := i.Runs(ctx, q)
		if err != nil {
			return err
		}
		for _, raw := range got.Runs {
			if more, err := fn(raw); err != nil || !more {
				return err
			}
		}
		limit -= len(got.Runs)
		if q.Before = got.Next; q.Before == "" {
			return nil
		}
	}
	return nil
}

// row returns the columns of a run, separated by tabs.
func (r journaled) row() string {
	changes := "-"
	if r.Created+r.Updated+r.Deleted > 0 {
		changes = fmt.Sprintf("+%d ~%d -%d", r.Created, r.Updated, r.Deleted)
	}
	columns := []string{
		r.Started.UTC().Format(time.RFC3339), r.ID, r.Surface, r.Subject, r.Tool, r.Outcome,
		strconv.FormatFloat(r.DurationMs, 'f', 0, 64), changes,
	}
	for i := range columns {
		columns[i] = printable(columns[i])
	}
	return strings.Join(columns, "\t")
}

// printable returns a text that fits into a column: callers choose names, which must not move the cursor.
func printable(text string) string {
	if text == "" {
		return "-"
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, text)
}
