package migrate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"entgo.io/ent/dialect"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/ledger"
)

// Check refuses a directory that does not lead to the schema: either a change of
// the schema has not been planned yet, or the files are those of another build.
func (w Files) Check() error {
	switch {
	case w.Dir.schemaHash() == w.Hash:
		return nil
	case len(w.Dir.files) == 0:
		return fault.Newf(fault.ServiceUnavailable, "there are no migrations in %s, and `migrations.mode` is versioned", w.Dir.place).
			WithHint("Plan the first one with `%s plan NAME`, or set `migrations.dir` to their folder.", w.Command)
	}
	return fault.Newf(fault.ServiceUnavailable, "the migrations in %s lead to the schema %s at %s, and this build has the schema %s", w.Dir.place, hashText(w.Dir.schemaHash()), w.Dir.last(), hashText(w.Hash)).
		WithHint("If the schema has changed, plan a migration: `%s plan NAME`. Otherwise run the build that the files belong to.", w.Command)
}

// Mark implements Way.
func (w Files) Mark() int32 { return mark(w.Hash, ledger.Version, w.Dir.digest()) }

// Create implements Way.
func (w Files) Create(ctx context.Context, drv dialect.Driver) error {
	for _, f := range w.Dir.files {
		if err := f.run(ctx, drv); err != nil {
			return err
		}
	}
	return ledger.Migrate(ctx, drv)
}

// Made implements Way.
func (w Files) Made(ctx context.Context, drv dialect.Driver) error {
	for _, f := range w.Dir.files {
		if err := w.note(ctx, drv, ledger.File, f, time.Now()); err != nil {
			return err
		}
	}
	return nil
}

// note keeps that a file is in effect. The tables that the ledger knows are those
// of the app's schema: what a file makes beside them is the owner's.
func (w Files) note(ctx context.Context, drv dialect.Driver, kind ledger.Kind, f *file, started time.Time) error {
	tables, err := w.known(ctx, drv)
	if err != nil {
		return err
	}
	return ledger.NoteStep(ctx, drv, ledger.Step{Kind: kind, Version: f.Version(), Digest: f.digest, Schema: f.schema, At: started, Took: time.Since(started)}, tables)
}

// run runs a file.
func (f *file) run(ctx context.Context, drv dialect.Driver) error {
	for n, statement := range f.statements {
		if err := drv.Exec(ctx, statement, []any{}, nil); err != nil {
			return &statementError{File: f.Name(), Number: n + 1, Err: err}
		}
	}
	return nil
}

// statementError is a statement of a file that the database refused.
type statementError struct {
	File   string
	Number int // of the statement in the file, from 1
	Err    error
}

func (e *statementError) Error() string {
	return fmt.Sprintf("%s, statement %d: %v", e.File, e.Number, e.Err)
}

func (e *statementError) Unwrap() error { return e.Err }

// Judge implements Way.
func (w Files) Judge(ctx context.Context, drv dialect.Driver) (*Verdict, error) {
	s, err := ledger.ReadSet(ctx, drv)
	if err != nil {
		return nil, err
	}
	return w.judge(s), nil
}

func (w Files) judge(s ledger.Set) *Verdict {
	v := &Verdict{State: Current, set: s, At: "unknown"}
	if s.Known {
		v.At = hashText(s.Schema)
	}
	apart := func(do, format string, args ...any) *Verdict {
		v.State, v.Why, v.Do = Apart, fmt.Sprintf(format, args...), do
		return v
	}
	const mend = "Compare the set with the directory. If the directory is right, copy the set's data into a new set; if the set is right, restore the file in the directory."
	next := 0 // the first file that has not run
	for _, step := range s.Steps {
		if step.Version == "" {
			continue
		}
		v.At = step.Version
		i := w.Dir.at(step.Version)
		switch {
		case i < 0 && step.Version > w.Dir.last():
			v.State, v.Why = Ahead, fmt.Sprintf("they are at %s, and the migrations in %s end at %s", step.Version, w.Dir.place, w.Dir.last())
			v.Do = "Run the newer build, with its migrations."
			return v
		case i < 0:
			return apart(mend, "the migration %s has run but is no longer in %s", step.Version, w.Dir.place)
		case w.Dir.files[i].digest != step.Digest:
			return apart(mend, "the migration %s was changed after it ran", step.Version)
		case i < next:
			continue
		case i > next:
			return apart(mend, "the migration %s in %s was inserted before one that has run", w.Dir.files[next].label(), w.Dir.place)
		}
		next = i + 1
	}
	here := int32(0) // where the files that have run lead to
	if next > 0 {
		here = w.Dir.files[next-1].schema
	}
	if !s.Known {
		return apart(fmt.Sprintf("Open the set once with `migrations.mode` auto and the build that made it, then run `%s apply`.", w.Command), "they were created before the ledger recorded sets")
	}
	if s.Schema != here {
		// Made or migrated in place: the last file that leads to the same schema is in
		// effect already, with all before it.
		adopted := -1
		for i := len(w.Dir.files) - 1; i >= next; i-- {
			if w.Dir.files[i].schema == s.Schema && w.Dir.files[i].planned {
				adopted = i
				break
			}
		}
		if adopted < 0 {
			return apart("Run the build that made them, and plan its schema into the directory first.", "they have the schema %s, to which no migration in %s leads", hashText(s.Schema), w.Dir.place)
		}
		v.adopt, next = w.Dir.files[next:adopted+1], adopted+1
		v.At = w.Dir.files[adopted].Version()
	}
	v.pending = w.Dir.files[next:]
	for _, f := range v.pending {
		v.Pending = append(v.Pending, f.label())
	}
	if len(v.pending) > 0 {
		v.State = Behind
		v.Why, v.Do = plural(len(v.pending), "migration")+" to run: "+strings.Join(v.Pending, ", "), fmt.Sprintf("Run `%s apply`.", w.Command)
	}
	return v
}

// sharing says of the unique keys that a file makes, and that ignore case, which rows have the same in them, by the
// names of the keys. That is asked first: PostgreSQL answers nothing in a transaction that has failed.
func (w Files) sharing(ctx context.Context, drv dialect.Driver, f *file) (map[string]string, error) {
	out := map[string]string{}
	for _, x := range w.Keys {
		if !slices.ContainsFunc(f.statements, func(s string) bool { return strings.Contains(s, x.Name()) }) {
			continue
		}
		there, err := declared(ctx, drv)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(x.Columns, func(c string) bool { _, ok := there[[2]string{x.Table, c}]; return !ok }) {
			continue
		}
		r, err := w.sharingRows(ctx, drv, x)
		if err != nil {
			return nil, err
		}
		if r.n > 0 {
			out[x.Name()] = fmt.Sprintf("%s differ from another in the case of %s alone (%s)", w.of(x.Table, r.n), strings.Join(x.Columns, " with "), r.some)
		}
	}
	return out, nil
}

// refused is the fault of a file that a set does not take. What has run on another set stays as it is.
func (w Files) refused(set string, f *file, sharing map[string]string, err error) *fault.Fault {
	why := err.Error()
	var at *statementError
	if errors.As(err, &at) {
		for name, rows := range sharing {
			if strings.Contains(f.statements[at.Number-1], name) {
				why += ": " + rows
			}
		}
	}
	return fault.Newf(fault.ServiceUnavailable, "the set %q was not changed: %s", set, why).
		WithHint("Correct the data with the build before, whose tables they still are, and run `%s apply` again. The file itself can be changed only while no set has run it, which `%s status` tells; then run `%s hash`.", w.Command, w.Command, w.Command).Because(err)
}

// Open implements Way. It runs no file; it only notes those that are in effect.
func (w Files) Open(ctx context.Context, drv dialect.Driver, _ string) (*Verdict, error) {
	v, err := w.Judge(ctx, drv)
	if err != nil || v.State != Current {
		return v, err
	}
	if err := ledger.Migrate(ctx, drv); err != nil {
		return v, err
	}
	return v, w.noteAdopted(ctx, drv, v)
}

// noteAdopted keeps that files are in effect that did not run.
func (w Files) noteAdopted(ctx context.Context, drv dialect.Driver, v *Verdict) error {
	for _, f := range v.adopt {
		if err := w.note(ctx, drv, ledger.Adopted, f, time.Now()); err != nil {
			return err
		}
	}
	return nil
}

// Apply implements Way. The files are what the owner has reviewed: drop says
// nothing more.
func (w Files) Apply(ctx context.Context, drv dialect.Driver, set string, _ bool) (*Verdict, error) {
	if err := w.Check(); err != nil {
		return nil, err
	}
	v, err := w.Judge(ctx, drv)
	if err != nil {
		return nil, err
	}
	if v.State != Current && v.State != Behind {
		return v, v.Fault(set)
	}
	if err := ledger.Migrate(ctx, drv); err != nil {
		return v, err
	}
	if err := w.noteAdopted(ctx, drv, v); err != nil {
		return v, err
	}
	before, err := declared(ctx, drv)
	if err != nil {
		return v, err
	}
	for _, f := range v.pending {
		started := time.Now()
		sharing, err := w.sharing(ctx, drv, f)
		if err != nil {
			return v, err
		}
		if err := w.runChecked(ctx, drv, f); err != nil {
			return v, w.refused(set, f, sharing, err)
		}
		if err := w.note(ctx, drv, ledger.File, f, started); err != nil {
			return v, err
		}
	}
	if err := w.checkConverted(ctx, drv, set, before); err != nil {
		return v, err
	}
	v.State = Current
	return v, nil
}
