package migrate

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"

	"ariga.io/atlas/sql/postgres"
	"entgo.io/ent/dialect"
)

// changesType matches what may be a statement of PostgreSQL that changes the type of a column.
var changesType = regexp.MustCompile(`(?is)\bALTER\b.*\bTYPE\b`)

// runChecked runs a file on a set that has rows. Values that a statement would change by changing
// the type of their column end it, unless the statement says itself how they convert.
func (w Files) runChecked(ctx context.Context, drv dialect.Driver, f *file) error {
	if drv.Dialect() == dialect.SQLite {
		return w.runKept(ctx, drv, f)
	}
	if !slices.ContainsFunc(f.statements, changesType.MatchString) {
		return f.run(ctx, drv)
	}
	for n, statement := range f.statements {
		run := w.exec
		if changesType.MatchString(statement) {
			run = w.execChecked
		}
		if err := run(ctx, drv, statement); err != nil {
			return &statementError{File: f.Name(), Number: n + 1, Err: err}
		}
	}
	return nil
}

func (Files) exec(ctx context.Context, drv dialect.Driver, statement string) error {
	return drv.Exec(ctx, statement, []any{}, nil)
}

// execChecked runs a statement to see which types it changes, and takes it back to look at the
// values as they are before it: what a statement does is not to be seen in its text.
func (w Files) execChecked(ctx context.Context, drv dialect.Driver, statement string) error {
	before, err := declared(ctx, drv)
	if err != nil {
		return err
	}
	for _, s := range []string{"SAVEPOINT koan_types", statement} {
		if err := w.exec(ctx, drv, s); err != nil {
			return err
		}
	}
	after, err := declared(ctx, drv)
	if err != nil {
		return err
	}
	changed := map[[2]string]string{}
	for at, was := range before {
		if is, there := after[at]; there && is != was && !saysHow(statement, at[1]) {
			changed[at] = is
		}
	}
	if len(changed) == 0 {
		return w.exec(ctx, drv, "RELEASE SAVEPOINT koan_types")
	}
	if err := w.exec(ctx, drv, "ROLLBACK TO SAVEPOINT koan_types"); err != nil {
		return err
	}
	if err := w.checkChanged(ctx, drv, before, changed); err != nil {
		return err
	}
	return w.exec(ctx, drv, statement)
}

func (w Files) checkChanged(ctx context.Context, drv dialect.Driver, before, changed map[[2]string]string) error {
	var found []error
	for at, is := range changed {
		from, err := postgres.ParseType(before[at])
		if err != nil {
			continue // one of another's making, which has no conversion that is known to lose
		}
		to, err := postgres.ParseType(is)
		if err != nil {
			continue
		}
		b, err := w.losses(ctx, drv, at[0], at[1], from, to)
		if err != nil {
			return err
		}
		if b != nil {
			found = append(found, errors.New(b.Text()))
		}
	}
	slices.SortFunc(found, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(found...)
}

// saysHow reports whether a statement has a conversion of its own for a column. One that was planned
// and reads times in UTC has not been thought about.
func saysHow(statement, column string) bool {
	name := `(?:` + regexp.QuoteMeta(quote(column)) + `|\b` + regexp.QuoteMeta(column) + `\b)`
	clause := regexp.MustCompile(`(?is)\bALTER\s+(?:COLUMN\s+)?` + name + `\s+(?:SET\s+DATA\s+)?TYPE\s+(?:[^,(]|\([^)]*\))*?\bUSING\b(.*)`)
	m := clause.FindStringSubmatch(statement)
	if m == nil {
		return false
	}
	how := strings.TrimSpace(m[1])
	return !strings.HasPrefix(how, quote(column)+inUTC) && !strings.HasPrefix(how, "CAST("+quote(column)+inUTC+" AS date)")
}
