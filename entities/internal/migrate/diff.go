package migrate

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"ariga.io/atlas/sql/migrate"
	"ariga.io/atlas/sql/postgres"
	"ariga.io/atlas/sql/schema"
	"entgo.io/ent/dialect"

	"github.com/koan-go/koan/framework/database/sqltext"
	"github.com/koan-go/koan/framework/ledger"
)

// Diff is what lies between the tables of a set and a schema.
type Diff struct {
	// Losses say what of it takes something away that the app once made: a column,
	// a table, a wider type. They are also what an older app would do to the tables
	// of a newer one.
	Losses []Loss
	// Blocks say what no statement can do by itself, because of rows that exist: a
	// required column without a default, a unique one where rows share a value.
	Blocks []Block

	plan *migrate.Plan
}

// Loss is what a difference takes away.
type Loss struct {
	What string // what the migration does, after "it"
	Note string // what to know before it is planned; "" for nothing more
}

// What becomes of the rows.
const (
	noteRename   = "renaming a field looks the same; edit the file if you meant a rename"
	noteConvert  = "a value that would not stay the same ends the migration, and nothing is changed; edit the file to convert it otherwise"
	noteRequired = "a row without a value ends the migration, and nothing is changed; edit the file to fill it"
)

// Statements are the SQL statements of the difference, in order.
func (d *Diff) Statements() []string {
	out := make([]string, len(d.plan.Changes))
	for i, c := range d.plan.Changes {
		out[i] = c.Cmd
	}
	return out
}

// takes lists what the difference takes away.
func (d *Diff) takes() string {
	out := make([]string, len(d.Losses))
	for i, l := range d.Losses {
		out[i] = l.What
	}
	return strings.Join(out, ", ")
}

// Summary says what each statement is for, in order.
func (d *Diff) Summary() []string {
	out := make([]string, len(d.plan.Changes))
	for i, c := range d.plan.Changes {
		out[i] = c.Comment
	}
	return out
}

// differ compares the tables of a connection with a schema.
type differ struct {
	schema *Schema
	drv    dialect.Driver
	at     migrate.Driver
	made   ledger.Tables
	there  *schema.Schema // the tables as they are
	// suppose counts every table as one that has rows: for a plan, whose own
	// connection has none.
	suppose bool
	diff    Diff
}

// compare finds out what lies between the tables that are there and the schema.
// Tables, columns and indexes that are neither the schema's nor known to be made
// by the app belong to somebody else, and stay.
func (s *Schema) compare(ctx context.Context, drv dialect.Driver, made ledger.Tables, suppose bool) (*Diff, error) {
	at, err := open(drv)
	if err != nil {
		return nil, err
	}
	current, err := inspect(ctx, at)
	if err != nil {
		return nil, err
	}
	desired, err := s.desired(ctx, drv)
	if err != nil {
		return nil, err
	}
	desired.Name, desired.Attrs = current.Name, current.Attrs
	d := differ{schema: s, drv: drv, at: at, made: made, there: current, suppose: suppose}
	wanted := names(desired)
	current.Tables = slices.DeleteFunc(current.Tables, func(t *schema.Table) bool {
		_, ours := made[t.Name]
		_, ok := wanted[t.Name]
		return !ours && !ok
	})
	keepDefaults(current, desired)
	changes, err := at.SchemaDiff(current, desired)
	if err != nil {
		return nil, err
	}
	kept, err := d.keepRelevant(ctx, changes)
	if err != nil {
		return nil, err
	}
	d.diff.plan, err = at.PlanChanges(ctx, "changes", kept, func(o *migrate.PlanOptions) { o.SchemaQualifier, o.Indent = new(string), "  " })
	if err != nil {
		return nil, err
	}
	if err := d.checkKeys(ctx); err != nil {
		return nil, err
	}
	drops, makes, err := s.indexes(ctx, drv, kept)
	d.diff.plan.Changes = slices.Concat(drops, d.diff.plan.Changes, makes)
	return &d.diff, err
}

// keepDefaults takes over the defaults that are there already, and written otherwise: a database
// drops the parentheses of an expression, and tells a constant from one. Else each comparison
// would find a change, for which SQLite copies the table.
func keepDefaults(current, desired *schema.Schema) {
	for _, t := range desired.Tables {
		was, ok := current.Table(t.Name)
		if !ok {
			continue
		}
		for _, c := range t.Columns {
			if there, ok := was.Column(c.Name); ok && c.Default != nil && there.Default != nil && bare(c.Default) != "" && bare(c.Default) == bare(there.Default) {
				c.Default = there.Default
			}
		}
	}
}

// bare is the text of a default without parentheses around it.
func bare(x schema.Expr) string {
	text := ""
	switch x := x.(type) {
	case *schema.RawExpr:
		text = x.X
	case *schema.Literal:
		text = x.V
	}
	for strings.HasPrefix(text, "(") && strings.HasSuffix(text, ")") && balanced(text[1:len(text)-1]) {
		text = text[1 : len(text)-1]
	}
	return text
}

// balanced reports whether each parenthesis closes one that was opened before.
func balanced(text string) bool {
	open := 0
	for _, r := range text {
		switch r {
		case '(':
			open++
		case ')':
			if open--; open < 0 {
				return false
			}
		}
	}
	return open == 0
}

func (d *differ) loss(note, format string, args ...any) {
	d.diff.Losses = append(d.diff.Losses, Loss{fmt.Sprintf(format, args...), note})
}

// keepRelevant keeps the changes that are the app's business, and says what they lose.
func (d *differ) keepRelevant(ctx context.Context, changes []schema.Change) (kept []schema.Change, err error) {
	for _, c := range changes {
		switch c := c.(type) {
		case *schema.AddTable:
			kept = append(kept, c)
		case *schema.DropTable:
			d.loss(noteRename, "drops the table %s", c.T.Name)
			kept = append(kept, c)
		case *schema.ModifyTable:
			if c.Changes, err = d.table(ctx, c.T.Name, c.Changes); err != nil {
				return nil, err
			}
			if len(c.Changes) > 0 {
				kept = append(kept, c)
			}
		}
	}
	return kept, nil
}

func (d *differ) table(ctx context.Context, table string, changes []schema.Change) (kept []schema.Change, err error) {
	var foreign []string // what others put there
	for _, c := range changes {
		keep := true
		switch c := c.(type) {
		case *schema.AddColumn:
			err = d.checkNewColumn(ctx, table, c.C)
		case *schema.DropColumn:
			if keep = slices.Contains(d.made[table].Columns, c.C.Name); keep {
				d.loss(noteRename, "drops the column %s.%s", table, c.C.Name)
			} else {
				foreign = append(foreign, "the column "+table+"."+c.C.Name)
			}
		case *schema.DropIndex:
			if keep = slices.Contains(d.made[table].Indexes, c.I.Name); keep {
				d.loss("", "drops the index %s of %s", c.I.Name, table)
			} else {
				foreign = append(foreign, "the index "+c.I.Name+" of "+table)
			}
		case *schema.ModifyColumn:
			err = d.checkModifiedColumn(ctx, table, c)
			convertTimes(c)
		case *schema.AddIndex:
			err = d.checkUnique(ctx, table, c.I, added(changes))
		case *schema.ModifyIndex:
			d.loss("", "rebuilds the index %s of %s", c.To.Name, table)
			err = d.checkUnique(ctx, table, c.To, added(changes))
		case *schema.AddForeignKey:
			err = d.checkReference(ctx, table, c.F, added(changes))
		case *schema.ModifyForeignKey:
			if c.Change.Is(schema.ChangeRefTable) || c.Change.Is(schema.ChangeRefColumn) || c.Change.Is(schema.ChangeColumn) {
				err = d.checkReference(ctx, table, c.To, added(changes))
			}
		case *schema.AddCheck:
			err = d.checkCheck(ctx, table, c.C, changes)
		case *schema.ModifyCheck:
			err = d.checkCheck(ctx, table, c.To, changes)
		case *schema.DropForeignKey:
			d.loss("", "drops the reference %s of %s", c.F.Symbol, table)
		case *schema.AddPrimaryKey, *schema.DropPrimaryKey, *schema.ModifyPrimaryKey:
			d.loss("", "changes the key of %s", table)
		}
		if err != nil {
			return nil, err
		}
		if keep {
			kept = append(kept, c)
		}
	}
	if d.drv.Dialect() == dialect.SQLite && slices.ContainsFunc(kept, copiesTable) {
		for _, f := range foreign {
			d.loss("", "rebuilds the table %s without %s", table, f)
		}
	}
	return kept, nil
}

// added returns the columns that changes of a table add.
func added(changes []schema.Change) (out []string) {
	for _, c := range changes {
		if a, ok := c.(*schema.AddColumn); ok {
			out = append(out, a.C.Name)
		}
	}
	return out
}

// copiesTable reports whether SQLite makes a change by copying the table, as Atlas plans it.
func copiesTable(c schema.Change) bool {
	switch c := c.(type) {
	case *schema.AddColumn:
		if len(c.C.Indexes) > 0 || len(c.C.ForeignKeys) > 0 {
			return true
		}
		switch d := c.C.Default.(type) {
		case *schema.RawExpr:
			return true
		case *schema.Literal:
			return slices.Contains([]string{"CURRENT_TIME", "CURRENT_DATE", "CURRENT_TIMESTAMP"}, d.V)
		}
		return slices.ContainsFunc(c.C.Attrs, func(a schema.Attr) bool { _, ok := a.(*schema.GeneratedExpr); return ok })
	case *schema.AddIndex, *schema.DropIndex:
		return false
	}
	return true
}

// convertTimes says how PostgreSQL makes times of what a column has: dates of texts only where
// these have the form YYYY-MM-DD, any other ends the migration; and times with a zone, and
// without one, as they are in UTC, not in the zone of whoever migrates.
func convertTimes(c *schema.ModifyColumn) {
	to, ok := c.To.Type.Type.(*schema.TimeType)
	if !ok || !c.Change.Is(schema.ChangeType) {
		return
	}
	name, using := string(sqltext.AppendName(nil, c.To.Name)), ""
	switch from := c.From.Type.Type.(type) {
	case *schema.StringType:
		if to.T == postgres.TypeDate {
			using = "CAST(CASE WHEN " + name + " ~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}$' THEN " + name + " ELSE 'not YYYY-MM-DD: ' || " + name + " END AS date)"
		}
	case *schema.TimeType:
		switch {
		case isZoned(from) && to.T == postgres.TypeDate:
			using = "CAST(" + name + inUTC + " AS date)"
		case isZoned(from) && isUnzoned(to), isUnzoned(from) && isZoned(to):
			using = name + inUTC
		case from.T == postgres.TypeDate && isZoned(to):
			using = "CAST(" + name + " AS timestamp)" + inUTC
		}
	}
	if using != "" {
		c.Extra = append(c.Extra, &postgres.ConvertUsing{X: using})
	}
}

// inUTC is how a planned statement reads times.
const inUTC = " AT TIME ZONE 'UTC'"

func raw(c *schema.Column) string {
	switch t := c.Type.Type.(type) {
	case *schema.StringType:
		if t.Size > 0 {
			return fmt.Sprintf("%s(%d)", t.T, t.Size)
		}
		return t.T
	case *schema.IntegerType:
		return t.T
	case *schema.FloatType:
		return t.T
	case *schema.BoolType:
		return t.T
	case *schema.TimeType:
		if p := t.Precision; p != nil && fraction(t) < mostFraction {
			return fmt.Sprintf("%s(%d)", t.T, *p)
		}
		return t.T
	case *schema.JSONType:
		return t.T
	case *schema.BinaryType:
		return t.T
	case *schema.DecimalType:
		return fmt.Sprintf("%s(%d,%d)", t.T, t.Precision, t.Scale)
	}
	if c.Type.Raw != "" {
		return c.Type.Raw
	}
	return "another type"
}

// integers and floats are types from narrow to wide.
var (
	integers = []string{"smallint", "integer", "bigint"}
	floats   = []string{"real", "double precision"}
)

// widens reports whether every value of a type is one of another.
func widens(from, to schema.Type) bool {
	switch f := from.(type) {
	case *schema.StringType:
		t, ok := to.(*schema.StringType)
		return ok && !isPadded(f) && !isPadded(t) && (t.Size == 0 || f.Size != 0 && t.Size >= f.Size)
	case *schema.IntegerType:
		t, ok := to.(*schema.IntegerType)
		return ok && typeRank(integers, f.T, t.T)
	case *schema.FloatType:
		t, ok := to.(*schema.FloatType)
		return ok && typeRank(floats, f.T, t.T)
	case *schema.DecimalType:
		t, ok := to.(*schema.DecimalType)
		return ok && (t.Precision == 0 || f.Precision > 0 && t.Scale >= f.Scale && t.Precision-t.Scale >= f.Precision-f.Scale)
	}
	return false
}

func typeRank(order []string, from, to string) bool {
	f, t := slices.Index(order, strings.ToLower(from)), slices.Index(order, strings.ToLower(to))
	return f >= 0 && f <= t
}

// execute runs the statements.
func (d *Diff) execute(ctx context.Context, drv dialect.Driver) error {
	for _, c := range d.plan.Changes {
		args := c.Args
		if args == nil {
			args = []any{}
		}
		if err := drv.Exec(ctx, c.Cmd, args, nil); err != nil {
			return fmt.Errorf("%s: %w", c.Comment, err)
		}
	}
	return nil
}

// Drift implements Way.
func (s *Schema) Drift(ctx context.Context, drv dialect.Driver) ([]string, error) {
	d, err := s.compare(ctx, drv, nil, true)
	if err != nil {
		return nil, err
	}
	return d.Statements(), nil
}
