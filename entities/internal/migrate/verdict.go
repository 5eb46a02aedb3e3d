package migrate

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"entgo.io/ent/dialect"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/ledger"
)

// State is how a set's tables stand to what the app works with.
type State string

// The states. Apart means that neither a newer app nor the pending migrations
// explain the tables: a person has to look.
const (
	Current State = "current"
	Behind  State = "behind"
	Ahead   State = "ahead"
	Apart   State = "apart"
)

// Verdict is what holds for one set.
type Verdict struct {
	State State
	// At is where the set is: the version of the last file, or the hash of its
	// tables.
	At string
	// Why says for people what is not current, and Do the command or the step that
	// mends it.
	Why, Do string
	// Pending are the files that have to run, by version.
	Pending []string

	// Rows names rows that stand in the way, for whoever runs the app; "" for none.
	Rows string

	set     ledger.Set
	diff    *Diff
	adopt   []*file // files that are in effect already
	pending []*file
}

// Fault is the refusal to work with a set that is not current. Calling again does not help: somebody
// has to migrate it, or to start another build.
func (v *Verdict) Fault(set string) *fault.Fault {
	return fault.Newf(fault.ServiceUnavailable, "the tables of the set %q are %s: %s", set, v.phrase(), v.Why).WithHint("%s", v.Do).WithRetry(fault.Never).
		WithDetails(map[string]any{"set": set, "state": string(v.State), "at": v.At})
}

// refusal is Fault for whoever runs the app.
func (v *Verdict) refusal(set string) *fault.Fault {
	whole := *v
	whole.Why = v.Explain()
	return whole.Fault(set)
}

// Explain is Why, with the rows that stand in the way.
func (v *Verdict) Explain() string {
	if v.Rows == "" {
		return v.Why
	}
	return v.Why + " (" + v.Rows + ")"
}

// blocked says that rows stand in the way.
func (v *Verdict) blocked(command string) {
	var why, rows, do []string
	for _, b := range v.diff.Blocks {
		why = append(why, b.Why)
		if b.Rows != "" {
			rows = append(rows, b.Rows)
		}
		if !slices.Contains(do, b.Do) {
			do = append(do, b.Do)
		}
	}
	v.State, v.Why, v.Rows = Apart, strings.Join(why, "; "), strings.Join(rows, " | ")
	if len(v.diff.Losses) > 0 {
		do = append(do, "If a newer build made them, run that one")
	}
	v.Do = strings.Join(do, ". ") + fmt.Sprintf(". To plan a migration with `%s plan NAME`, `migrations.mode` has to be versioned, and the first file planned with the build before.", command)
}

// Compare looks at the tables of a set that is current by its ledger: somebody may have changed
// them, or a file not done what it says.
func (v *Verdict) Compare(ctx context.Context, drv dialect.Driver, w Way) error {
	drift, err := w.Drift(ctx, drv)
	if err != nil || len(drift) == 0 {
		return err
	}
	v.State, v.Why = Apart, "the ledger says that they are current, but they differ from the schema by: "+strings.Join(drift, "; ")
	v.Do = "Find out what changed them, or which migration does not do what it says, and run these statements by hand, or restore a backup."
	return nil
}

func (v *Verdict) phrase() string {
	switch v.State {
	case Behind:
		return "behind this build"
	case Ahead:
		return "ahead of this build"
	}
	return "not what this build works with"
}

// Way is how sets are brought to a schema.
type Way interface {
	// Mark identifies where the way leads: a set that is marked with it is there.
	Mark() int32
	// Create makes the tables where there are none. It binds no values, so that what
	// it executes can be repeated for another set.
	Create(ctx context.Context, drv dialect.Driver) error
	// Made notes in the ledger of a new set how its tables came about.
	Made(ctx context.Context, drv dialect.Driver) error
	// Judge says how a set stands, without changing anything.
	Judge(ctx context.Context, drv dialect.Driver) (*Verdict, error)
	// Open makes a set current where that needs nobody's consent, and returns what it
	// found. What is not current afterwards must not be worked with.
	Open(ctx context.Context, drv dialect.Driver, set string) (*Verdict, error)
	// Leftovers names rows with values that the schema does not have any more, although
	// nothing keeps the set from being opened.
	Leftovers(ctx context.Context, drv dialect.Driver) ([]string, error)
	// Unindexed names references of large tables that no index helps to follow.
	Unindexed(ctx context.Context, drv dialect.Driver) ([]string, error)
	// Drift returns the statements that lie between the tables that are there and the schema.
	Drift(ctx context.Context, drv dialect.Driver) ([]string, error)
	// Apply makes a set current on somebody's command, and returns what it found and
	// did. With drop it also does what loses data. Its error is a fault where the
	// state of the set stands in the way.
	Apply(ctx context.Context, drv dialect.Driver, set string, drop bool) (*Verdict, error)
}

// InPlace compares tables with the schema and adds what is missing.
type InPlace struct {
	*Schema
	// Command is how the app's commands are called: "pantrypal migrate".
	Command string
}

// Files runs the files of a migration directory.
type Files struct {
	*Schema
	Dir     *Dir
	Command string
}

var (
	_ Way = InPlace{}
	_ Way = Files{}
)

// mark mixes what a set's mark stands for. It is never 0.
func mark(parts ...int32) int32 {
	out := int32(0)
	for _, p := range parts {
		out = out*31 ^ p
	}
	return out&(1<<31-1) | 1<<30
}

// Mark implements Way.
func (w InPlace) Mark() int32 { return mark(w.Hash, ledger.Version) }

// Create implements Way.
func (w InPlace) Create(ctx context.Context, drv dialect.Driver) error {
	d, err := w.compare(ctx, drv, nil, false)
	if err != nil {
		return err
	}
	if err := d.execute(ctx, drv); err != nil {
		return err
	}
	return ledger.Migrate(ctx, drv)
}

// Made implements Way.
func (w InPlace) Made(ctx context.Context, drv dialect.Driver) error {
	return w.note(ctx, drv, ledger.Auto, time.Now())
}

// note keeps that the tables are the schema's.
func (w InPlace) note(ctx context.Context, drv dialect.Driver, kind ledger.Kind, started time.Time) error {
	tables, err := w.known(ctx, drv)
	if err != nil {
		return err
	}
	return ledger.NoteStep(ctx, drv, ledger.Step{Kind: kind, Schema: w.Hash, At: started, Took: time.Since(started)}, tables)
}

// Judge implements Way.
func (w InPlace) Judge(ctx context.Context, drv dialect.Driver) (*Verdict, error) {
	v, err := w.judge(ctx, drv)
	if err == nil && len(w.Upgrades) > 0 && w.upgradable(v) {
		v.State, v.Why = Behind, "the app has to bring its data to a newer schema"
		v.Do = fmt.Sprintf("It does so at the set's next use, or now with `%s apply`.", w.Command)
	}
	return v, err
}

// judge judges without regard to what upgrades would do.
func (w InPlace) judge(ctx context.Context, drv dialect.Driver) (*Verdict, error) {
	s, err := ledger.ReadSet(ctx, drv)
	if err != nil {
		return nil, err
	}
	v := &Verdict{State: Current, set: s, At: "unknown"}
	if s.Known {
		v.At = hashText(s.Schema)
		if s.Schema == w.Hash {
			return v, nil
		}
	}
	if v.diff, err = w.compare(ctx, drv, s.Tables, false); err != nil {
		return nil, err
	}
	v.State = Behind
	v.Why, v.Do = "they lack what was added to the schema", fmt.Sprintf("They are migrated at the set's next use, or now with `%s apply`.", w.Command)
	switch {
	case hasFileSteps(s):
		v.State, v.Why = Apart, "they are managed by a migration directory and must not be changed in place"
		v.Do = "Set `migrations.mode` to versioned."
	case hadSchema(s, w.Hash):
		v.State, v.Why = Ahead, fmt.Sprintf("they were migrated beyond this build's schema %s, to %s", hashText(w.Hash), hashText(s.Schema))
		v.Do = fmt.Sprintf("Run the newer build. To go back and lose what the newer one added: `%s apply --drop`.", w.Command)
	case len(v.diff.Blocks) > 0:
		v.blocked(w.Command)
	case len(v.diff.Losses) > 0:
		v.State, v.Why = Ahead, "to become its own, the migration "+v.diff.takes()
		v.Do = fmt.Sprintf("If a newer build made them, run that one. If something was removed from the schema, accept the loss: `%s apply --drop`.", w.Command)
	}
	return v, nil
}

// hasFileSteps reports whether a file has changed the set.
func hasFileSteps(s ledger.Set) bool {
	for _, step := range s.Steps {
		if step.Kind == ledger.File {
			return true
		}
	}
	return false
}

// hadSchema reports whether a set had a schema before the one it has, and nobody has
// consented to go back since.
func hadSchema(s ledger.Set, hash int32) bool {
	for _, step := range slices.Backward(s.Steps) {
		if step.Schema == hash {
			return true
		}
		if step.Kind == ledger.Consented {
			return false
		}
	}
	return false
}

// Open implements Way.
func (w InPlace) Open(ctx context.Context, drv dialect.Driver, set string) (*Verdict, error) {
	v, err := w.judge(ctx, drv)
	if err != nil {
		return nil, err
	}
	if len(w.Upgrades) > 0 && w.upgradable(v) {
		if v, err = w.setAside(ctx, drv, set); err != nil {
			return nil, err
		}
	}
	switch v.State {
	case Current:
		return v, ledger.Migrate(ctx, drv) // the ledger's own tables may be older
	case Behind:
		return v, w.applyDiff(ctx, drv, set, ledger.Auto, v)
	}
	return v, nil
}

// applyDiff makes the difference, and says so in the verdict.
func (w InPlace) applyDiff(ctx context.Context, drv dialect.Driver, set string, kind ledger.Kind, v *Verdict) error {
	started := time.Now()
	if err := v.diff.execute(ctx, drv); err != nil {
		return err
	}
	for _, u := range w.Upgrades {
		if err := fault.Guard(func() error { return u.After(ctx, set, drv) }); err != nil {
			return fmt.Errorf("upgrade the data: %w", err)
		}
	}
	v.State = Current
	if err := ledger.Migrate(ctx, drv); err != nil {
		return err
	}
	return w.note(ctx, drv, kind, started)
}

// Apply implements Way.
func (w InPlace) Apply(ctx context.Context, drv dialect.Driver, set string, drop bool) (*Verdict, error) {
	v, err := w.Open(ctx, drv, set)
	if err != nil || v.State == Current {
		return v, err
	}
	if drop && !hasFileSteps(v.set) && len(v.diff.Blocks) > 0 {
		v.blocked(w.Command)
	}
	if !drop || hasFileSteps(v.set) || len(v.diff.Blocks) > 0 {
		return v, v.refusal(set)
	}
	return v, w.applyDiff(ctx, drv, set, ledger.Consented, v)
}

// Did says what was done to a set.
func (v *Verdict) Did() string {
	switch {
	case len(v.pending) > 0:
		return "ran " + strings.Join(v.Pending, ", ")
	case len(v.adopt) > 0:
		return "found them already in effect: nothing to run"
	case v.diff != nil && len(v.diff.Statements()) > 0:
		return plural(len(v.diff.Statements()), "statement")
	case v.diff != nil:
		return "no statement was needed"
	}
	return "is current"
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// AtOpening is the look at a set that has another mark, under its lock: backend's
// Schema.Migrate.
func AtOpening(w Way) func(ctx context.Context, set string, drv dialect.Driver) error {
	return func(ctx context.Context, set string, drv dialect.Driver) error {
		v, err := w.Open(ctx, drv, set)
		if err != nil {
			return failedMigration(set, err)
		}
		if v.State != Current {
			return v.Fault(set)
		}
		return nil
	}
}

// failedMigration is the fault for a statement that the database refused. The
// database's message is for the log only. It will refuse the statement again, unless it
// could not be asked at all.
func failedMigration(set string, err error) error {
	var known *fault.Fault
	if errors.As(err, &known) {
		return err
	}
	failed := fault.Newf(fault.ServiceUnavailable, "the tables of the set %q could not be migrated and were not changed", set).
		WithHint("Check the server's log, or run `migrate apply` to see why.").Because(err)
	var lost net.Error
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, driver.ErrBadConn) || errors.As(err, &lost) {
		return failed
	}
	return failed.WithRetry(fault.Never)
}
