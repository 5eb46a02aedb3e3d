package migrations

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"time"

	"entgo.io/ent/dialect"

	"github.com/koan-go/koan/entities/internal/migrate"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/database"
	"github.com/koan-go/koan/framework/fault"
)

// mostLookedAt bounds how many sets are looked at for what is worth knowing only.
const mostLookedAt = 20

// Commands carry out `migrate` for an app.
type Commands struct {
	Configure func(host catalog.Host) *Config
	// Open opens the data, and no set.
	Open func(host catalog.Host, w migrate.Way) (database.Backend, error)
}

// Command describes them.
func (cs Commands) Command() *catalog.Command {
	return &catalog.Command{
		Name: "migrate", Short: "Plan schema migrations, apply them to sets, show the state of sets",
		Sub: []*catalog.Command{
			{
				Name: "plan", Args: []string{"NAME"}, Short: "Write a migration file with the schema's changes since the last one",
				Long: "Compares the app's schema with what the files in `migrations.dir` lead to, and writes the difference as\n" +
					"a new file, in Atlas' format with its atlas.sum. Review and commit both. The sets are not touched; the\n" +
					"files are run on a scratch copy, in the same kind of database. What may lose data is listed.",
				Example: "migrate plan add_due_date", Run: cs.plan,
			},
			{
				Name: "apply", Short: "Bring all sets, or one, to this build's schema",
				Long: "Each set is migrated under its own lock and in one transaction: as a whole or not at all. Sets that are\n" +
					"current already are left alone, so an interrupted apply can simply be run again.\n\n" +
					"With `migrations.mode` versioned the files in `migrations.dir` are run; with auto, whatever is missing is added.",
				Example: "migrate apply --set default",
				Flags: []catalog.CommandFlag{
					{Name: "set", Default: "", Help: "only this set"},
					{Name: "drop", Default: false, Help: "with mode auto: also do what loses data (drop columns and tables, narrow types)"},
				},
				Run: cs.apply,
			},
			{
				Name: "status", Short: "Show the state of each set and what to do",
				Long:  "Changes nothing. The exit status is 1 if a set is not current.",
				Flags: []catalog.CommandFlag{{Name: "json", Default: false, Help: "one line of JSON"}},
				Run:   cs.status,
			},
			{
				Name: "hash", Short: "Update atlas.sum after a migration file was edited",
				Long: "Runs the files on a scratch copy, as a new set would, and writes atlas.sum. A file that a set has already\n" +
					"run must not be edited any more. The exit status is 1 if the files do not lead to the schema that they name.",
				Run: cs.hash,
			},
		},
	}
}

// openFiles opens the data for a command that writes migration files, which are where files are then. With sums they must
// be what atlas.sum says.
func (cs Commands) openFiles(host catalog.Host, sums bool) (c *Config, w migrate.Files, b database.Backend, err error) {
	c = cs.Configure(host)
	c.carried = nil
	if w, err = c.files(sums); err != nil {
		return c, w, nil, err
	}
	b, err = cs.Open(host, w)
	return c, w, b, err
}

func (cs Commands) plan(ctx context.Context, host catalog.Host, in *catalog.Invocation) (err error) {
	if err := migrate.CheckName(in.Args[0]); err != nil {
		return err
	}
	c, w, b, err := cs.openFiles(host, true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	var plan *migrate.Plan
	err = b.Scratch(ctx, func(ctx context.Context, drv dialect.Driver) (err error) {
		plan, err = w.Plan(ctx, drv, in.Args[0], time.Now())
		return err
	})
	if err != nil {
		return err
	}
	if plan == nil {
		in.Out.Printf("nothing to plan: the files in %s lead to this build's schema\n", c.path)
		return nil
	}
	file, err := w.Write(plan, c.path)
	if err != nil {
		return err
	}
	in.Out.Printf("%s\n", file)
	for _, s := range plan.Summary() {
		in.Out.Printf("  %s\n", s)
	}
	for _, loss := range plan.Losses {
		if loss.Note == "" {
			loss.Note = "check that it may"
		}
		in.Err.Printf("it %s: %s\n", loss.What, loss.Note)
	}
	for _, block := range plan.Blocks {
		in.Err.Printf("%s: edit the file before you apply it to data\n", block.Why)
	}
	cs.printLeftovers(ctx, b, w, in)
	in.Err.Printf("Review the file and %s, and commit both. After an edit: `%s hash`.\n", filepath.Join(c.path, "atlas.sum"), c.command)
	return nil
}

// printLeftovers names rows of the sets whose values the schema does not have any more: no
// statement shows that an enum has lost one.
func (cs Commands) printLeftovers(ctx context.Context, b database.Backend, w migrate.Way, in *catalog.Invocation) {
	sets, err := b.Sets(ctx)
	if err != nil {
		return // there are no rows to speak of
	}
	for _, set := range sets[:min(len(sets), mostLookedAt)] {
		_ = b.Look(ctx, set, func(ctx context.Context, drv dialect.Driver) error {
			left, err := w.Leftovers(ctx, drv)
			for _, l := range left {
				in.Err.Printf("%s: %s\n", set, l)
			}
			return err
		})
	}
}

func (cs Commands) hash(ctx context.Context, host catalog.Host, in *catalog.Invocation) (err error) {
	c, w, b, err := cs.openFiles(host, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	return b.Scratch(ctx, func(ctx context.Context, drv dialect.Driver) error {
		note, err := w.Sum(ctx, drv, c.path)
		if err != nil {
			return err
		}
		in.Out.Printf("%s\n", filepath.Join(c.path, "atlas.sum"))
		if note == "" {
			return nil
		}
		in.Err.Printf("%s\n  hint: Correct the last file and run `%s hash` again, or plan the rest: `%s plan NAME`.\n", note, c.command, c.command)
		return catalog.ErrNotice
	})
}

func (cs Commands) apply(ctx context.Context, host catalog.Host, in *catalog.Invocation) (err error) {
	c := cs.Configure(host)
	w, err := c.Way()
	if err != nil {
		return err
	}
	b, err := cs.Open(host, w)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	sets := []string{in.Strings["set"]}
	if sets[0] == "" {
		if sets, err = b.Sets(ctx); err != nil {
			return err
		}
	}
	if len(sets) == 0 {
		in.Out.Printf("there are no sets in %s yet; a set is created by the first write to it\n", b.Place())
	}
	broken := 0
	for _, set := range sets {
		var v *migrate.Verdict
		var left []string
		err := b.Change(ctx, set, func(ctx context.Context, drv dialect.Driver) (err error) {
			if v, err = w.Apply(ctx, drv, set, in.Bools["drop"]); err == nil {
				left, err = w.Leftovers(ctx, drv)
			}
			return err
		})
		if err != nil && (ctx.Err() != nil || in.Strings["set"] != "") {
			return WithDatabaseMessage(set, err)
		}
		if err != nil {
			// One set that cannot be migrated does not keep the others from it.
			broken++
			err = WithDatabaseMessage(set, err)
			in.Err.Printf("%s: %v\n  hint: %s\n", set, err, fault.From(err).Hint)
			continue
		}
		in.Out.Printf("%s: %s\n", set, v.Did())
		for _, l := range left {
			in.Err.Printf("%s: %s\n", set, l)
		}
	}
	if broken > 0 {
		in.Err.Printf("not current: %d of %d sets\n", broken, len(sets))
		return catalog.ErrNotice
	}
	return nil
}

// WithDatabaseMessage adds the database's own message to a fault: whoever migrates
// needs it.
func WithDatabaseMessage(set string, err error) error {
	var known *fault.Fault
	if errors.As(err, &known) && (errors.Unwrap(known) == nil || strings.Contains(known.Message, errors.Unwrap(known).Error())) {
		return err
	}
	if known != nil {
		return fault.Newf(known.Code, "%s (%v)", known.Message, errors.Unwrap(known)).WithHint("%s", known.Hint)
	}
	return fault.Newf(fault.ServiceUnavailable, "the set %q was not changed: %v", set, err).
		WithHint("Fix the data or the schema, and apply again.").Because(err)
}

// LostSets returns a fault for each set whose data is gone, as far as the backend knows that.
func LostSets(ctx context.Context, b database.Backend) ([]*fault.Fault, error) {
	if reporter, ok := b.(database.LossReporter); ok {
		return reporter.Lost(ctx)
	}
	return nil, nil
}

func (cs Commands) status(ctx context.Context, host catalog.Host, in *catalog.Invocation) (err error) {
	c := cs.Configure(host)
	w, refusal := c.Way()
	if w == nil {
		return refusal
	}
	b, err := cs.Open(host, w)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	sets, err := b.Sets(ctx)
	if err != nil {
		return err
	}
	states, err := setStates(ctx, b, w, sets)
	if err != nil {
		return err
	}
	lost, err := LostSets(ctx, b)
	if err != nil {
		return err
	}
	bad := refusal != nil || len(lost) > 0
	for _, s := range states {
		bad = bad || s.State != migrate.Current
	}
	if in.Bools["json"] {
		report := map[string]any{"place": b.Place(), "mode": c.Mode, "current": !bad, "sets": states}
		if refusal != nil {
			f := fault.From(refusal)
			report["why"], report["do"] = f.Message, f.Hint
		}
		if len(lost) > 0 {
			report["lost"] = lost
		}
		err = in.Out.JSON(report)
	} else {
		printStates(in.Out, b.Place(), c.Mode, states)
		for _, f := range lost {
			in.Err.Printf("%s\n  hint: %s\n", f.Message, f.Hint)
		}
		if refusal != nil {
			in.Err.Printf("%s\n  hint: %s\n", fault.From(refusal).Message, fault.From(refusal).Hint)
		}
	}
	if err == nil && bad {
		return catalog.ErrNotice
	}
	return err
}
