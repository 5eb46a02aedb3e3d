package engine

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"entgo.io/ent/dialect"

	"github.com/koan-go/koan/entities/internal/backend"
	"github.com/koan-go/koan/entities/internal/ledger"
	"github.com/koan-go/koan/entities/internal/migrate"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
)

// Commands implements catalog.Commander. An app that opens its own databases
// migrates them by its own means.
func (p *Provider) Commands() []*catalog.Command {
	if p.opts.Open != nil {
		return nil
	}
	return []*catalog.Command{{
		Name: "migrate", Short: "Plan schema migrations, apply them to sets, show the state of sets",
		Sub: []*catalog.Command{
			{
				Name: "plan", Args: []string{"NAME"}, Short: "Write a migration file with the schema's changes since the last one",
				Long: "Compares the app's schema with what the files in `migrations.dir` lead to, and writes the difference as\n" +
					"a new file, in Atlas' format with its atlas.sum. Review and commit both. The sets are not touched; the\n" +
					"files are run on a scratch copy, in the same kind of database. What may lose data is listed.",
				Example: "migrate plan add_due_date", Run: p.planMigration,
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
				Run: p.applyMigrations,
			},
			{
				Name: "status", Short: "Show the state of each set and what to do",
				Long:  "Changes nothing. The exit status is 1 if a set is not current.",
				Flags: []catalog.CommandFlag{{Name: "json", Default: false, Help: "one line of JSON"}},
				Run:   p.migrationStatus,
			},
			{
				Name: "hash", Short: "Update atlas.sum after a migration file was edited",
				Long: "Runs the files on a scratch copy, as a new set would, and writes atlas.sum. A file that a set has already\n" +
					"run must not be edited any more.",
				Run: p.hashMigrations,
			},
		},
	}}
}

// at opens the data for a command; it opens no set.
func (p *Provider) at(host catalog.Host, w migrate.Way) (backend.Backend, error) {
	s := &store{app: p.app, engine: p.engine, way: w}
	if err := s.open(opener(host.Settings().String(settingDatabase), host.App())); err != nil {
		return nil, err
	}
	return s.backend, nil
}

func (p *Provider) planMigration(ctx context.Context, host catalog.Host, in *catalog.Invocation) (err error) {
	if err := migrate.CheckName(in.Args[0]); err != nil {
		return err
	}
	m := newMigrations(p.app, p.opts, host)
	m.carried = nil // files are written where files are
	w, err := m.files(true)
	if err != nil {
		return err
	}
	b, err := p.at(host, w)
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
		in.Out.Printf("nothing to plan: the files in %s lead to this build's schema\n", m.path)
		return nil
	}
	file, err := w.Write(plan, m.path)
	if err != nil {
		return err
	}
	in.Out.Printf("%s\n", file)
	for _, s := range plan.Summary() {
		in.Out.Printf("  %s\n", s)
	}
	for _, loss := range plan.Losses {
		in.Err.Printf("it %s: renaming a field looks the same; edit the file if you meant a rename\n", loss)
	}
	for _, block := range plan.Blocks {
		in.Err.Printf("%s: edit the file before you apply it to data\n", block)
	}
	in.Err.Printf("Review the file and %s, and commit both. After an edit: `%s hash`.\n", filepath.Join(m.path, "atlas.sum"), m.command)
	return nil
}

func (p *Provider) hashMigrations(ctx context.Context, host catalog.Host, in *catalog.Invocation) (err error) {
	m := newMigrations(p.app, p.opts, host)
	m.carried = nil
	w, err := m.files(false)
	if err != nil {
		return err
	}
	b, err := p.at(host, w)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	return b.Scratch(ctx, func(ctx context.Context, drv dialect.Driver) error {
		note, err := w.Sum(ctx, drv, m.path)
		if note != "" {
			in.Err.Printf("%s\n", note)
		}
		if err == nil {
			in.Out.Printf("%s\n", filepath.Join(m.path, "atlas.sum"))
		}
		return err
	})
}

func (p *Provider) applyMigrations(ctx context.Context, host catalog.Host, in *catalog.Invocation) (err error) {
	m := newMigrations(p.app, p.opts, host)
	w, err := m.way()
	if err != nil {
		return err
	}
	b, err := p.at(host, w)
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
		err := b.Change(ctx, set, func(ctx context.Context, drv dialect.Driver) (err error) {
			v, err = w.Apply(ctx, drv, set, in.Bools["drop"])
			return err
		})
		if err != nil && (ctx.Err() != nil || in.Strings["set"] != "") {
			return withDatabaseMessage(set, err)
		}
		if err != nil {
			// One set that cannot be migrated does not keep the others from it.
			broken++
			err = withDatabaseMessage(set, err)
			in.Err.Printf("%s: %v\n  hint: %s\n", set, err, fault.From(err).Hint)
			continue
		}
		in.Out.Printf("%s: %s\n", set, v.Did())
	}
	if broken > 0 {
		in.Err.Printf("not current: %d of %d sets\n", broken, len(sets))
		return catalog.ErrNotice
	}
	return nil
}

// withDatabaseMessage adds the database's own message to a fault: whoever migrates
// needs it.
func withDatabaseMessage(set string, err error) error {
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

// standing is the state of a set, for `migrate status`, doctor and the boot report.
type standing struct {
	Set      string        `json:"set"`
	State    migrate.State `json:"state"`
	At       string        `json:"at"`
	Made     string        `json:"made,omitempty"`
	Migrated string        `json:"migrated,omitempty"`
	Pending  []string      `json:"pending,omitempty"`
	Why      string        `json:"why,omitempty"`
	Do       string        `json:"do,omitempty"`
}

// setStandings finds out the state of sets without changing them.
func setStandings(ctx context.Context, b backend.Backend, w migrate.Way, sets []string) ([]standing, error) {
	var out []standing
	for _, set := range sets {
		err := b.Look(ctx, set, func(ctx context.Context, drv dialect.Driver) error {
			v, err := w.Judge(ctx, drv)
			if err != nil {
				return err
			}
			s, err := ledger.ReadSet(ctx, drv)
			if err != nil {
				return err
			}
			out = append(out, standing{set, v.State, v.At, formatTime(s.Made), formatTime(s.Migrated()), v.Pending, v.Why, v.Do})
			return nil
		})
		if err != nil && ctx.Err() != nil {
			return nil, err
		}
		if err != nil {
			f := fault.From(withDatabaseMessage(set, err))
			out = append(out, standing{Set: set, State: migrate.Apart, At: "unknown", Why: f.Message, Do: f.Hint})
		}
	}
	return out, nil
}

func formatTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

func (p *Provider) migrationStatus(ctx context.Context, host catalog.Host, in *catalog.Invocation) (err error) {
	m := newMigrations(p.app, p.opts, host)
	w, refusal := m.way()
	if w == nil {
		return refusal
	}
	b, err := p.at(host, w)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	sets, err := b.Sets(ctx)
	if err != nil {
		return err
	}
	standings, err := setStandings(ctx, b, w, sets)
	if err != nil {
		return err
	}
	bad := refusal != nil
	for _, s := range standings {
		bad = bad || s.State != migrate.Current
	}
	if in.Bools["json"] {
		report := map[string]any{"place": b.Place(), "mode": m.mode, "current": !bad, "sets": standings}
		if refusal != nil {
			f := fault.From(refusal)
			report["why"], report["do"] = f.Message, f.Hint
		}
		err = in.Out.JSON(report)
	} else {
		printStandings(in.Out, b.Place(), m.mode, standings)
		if refusal != nil {
			in.Err.Printf("%s\n  hint: %s\n", fault.From(refusal).Message, fault.From(refusal).Hint)
		}
	}
	if err == nil && bad {
		return catalog.ErrNotice
	}
	return err
}

var moods = map[migrate.State]catalog.Mood{migrate.Current: catalog.Good, migrate.Behind: catalog.Bad, migrate.Ahead: catalog.Bad, migrate.Apart: catalog.Bad}

func printStandings(out catalog.Printer, place, mode string, standings []standing) {
	out.Printf("%s, migrations %s, %s\n", place, mode, countSets(len(standings)))
	if len(standings) == 0 {
		return
	}
	rows := [][]catalog.Cell{{{Text: "SET", Mood: catalog.Faint}, {Text: "STATE", Mood: catalog.Faint}, {Text: "AT", Mood: catalog.Faint}, {Text: "MADE", Mood: catalog.Faint}, {Text: "MIGRATED", Mood: catalog.Faint}}}
	for _, s := range standings {
		rows = append(rows, []catalog.Cell{{Text: s.Set}, {Text: string(s.State), Mood: moods[s.State]}, {Text: s.At}, {Text: orDash(s.Made)}, {Text: orDash(s.Migrated)}})
	}
	out.Table(rows)
	// What holds for many sets is said once.
	var order []string
	same := map[string][]string{}
	for _, s := range standings {
		if s.State == migrate.Current {
			continue
		}
		text := s.Why + "\n  " + s.Do
		if same[text] == nil {
			order = append(order, text)
		}
		same[text] = append(same[text], s.Set)
	}
	for _, text := range order {
		out.Printf("\n%s: %s\n", listSome(same[text]), text)
	}
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// listSome lists the first of many sets.
func listSome(sets []string) string {
	const most = 5
	if len(sets) <= most {
		return strings.Join(sets, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(sets[:most], ", "), len(sets)-most)
}

func countSets(n int) string {
	if n == 1 {
		return "1 set"
	}
	return fmt.Sprintf("%d sets", n)
}
