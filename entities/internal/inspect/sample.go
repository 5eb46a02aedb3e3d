package inspect

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/framework/database/sqltext"
)

// sampled is how many rows are looked at of a table whose declared types leave open how values are
// kept.
const sampled = 1000

// lookingTime bounds how long the rows of a relation are looked at: a view may take hours for its first one.
const lookingTime = 2 * time.Second

// sample decides how the columns of a relation keep values whose types leave that open. SQLite has no
// type for times: they are texts in one of several forms, or numbers. A column whose rows have one
// form is one of times; any other one is what its rows have, so that every value comes out as it
// is kept.
func (s *sqliteFile) sample(ctx context.Context, r *Relation) error {
	var open []*Column
	for _, c := range r.Columns {
		if r.Kind == View && strings.EqualFold(c.Type, "BLOB") { // so SQLite names the type of what has none in a table, too
			c.Storage = ""
		}
		if c.Storage == "" || c.Storage == descriptor.Time || c.Storage == descriptor.Day {
			open = append(open, c)
		}
	}
	if len(open) == 0 {
		if r.Kind == View { // which may name what is not there any more
			return s.compile(ctx, "SELECT 1 FROM "+string(sqltext.AppendName(nil, r.Name)))
		}
		return nil
	}
	found := make([]seen, len(open))
	query := []byte("SELECT ")
	for i, c := range open {
		if i > 0 {
			query = append(query, ',')
		}
		query = fmt.Appendf(query, "typeof(t.%[1]s),CASE WHEN typeof(t.%[1]s)='text' THEN substr(t.%[1]s,1,64) END", sqltext.AppendName(nil, c.Name))
	}
	query = fmt.Appendf(query, " FROM %s AS t LIMIT %d", sqltext.AppendName(nil, r.Name), sampled)
	looking, done := context.WithTimeout(ctx, lookingTime)
	defer done()
	err := each(looking, s, func(rows *sql.Rows) error {
		values := make([]sql.NullString, 2*len(open))
		into := make([]any, len(values))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			return err
		}
		for i := range open {
			found[i].add(values[2*i].String, values[2*i+1].String)
		}
		return nil
	}, string(query))
	if looking.Err() != nil && ctx.Err() == nil { // of a slow view: what was seen until then
		err = nil
	}
	for i, c := range open {
		found[i].decide(c)
	}
	return err
}

// seen is what rows have in a column.
type seen struct {
	kinds []string // of SQLite: integer, real, text, blob
	forms []string // of texts: layouts of times, "" for none of them
}

func (s *seen) add(kind, text string) {
	if kind == "null" {
		return
	}
	if !slices.Contains(s.kinds, kind) {
		s.kinds = append(s.kinds, kind)
	}
	if kind == "text" {
		if form := timeForm(text); !slices.Contains(s.forms, form) {
			s.forms = append(s.forms, form)
		}
	}
}

// decide sets the storage of a column from the values that were seen in it.
func (s *seen) decide(c *Column) {
	slices.Sort(s.kinds)
	declared := c.Storage
	switch strings.Join(s.kinds, " ") {
	case "": // no row yet: what SQLite's own functions would write
		if c.Storage == "" {
			c.Storage = descriptor.Text
			if c.Type != "" { // a view's BLOB
				c.Storage = descriptor.Bytes
			}
		}
		if c.Storage == descriptor.Time {
			c.Form = timeText(plainTime)
		}
	case "integer":
		c.Storage = descriptor.Int
	case "real", "integer real":
		c.Storage = descriptor.Float
	case "blob":
		c.Storage = descriptor.Bytes
	case "text":
		c.Storage = descriptor.Text
		if declared == "" || len(s.forms) != 1 || s.forms[0] == "" {
			return
		}
		if s.forms[0] == dayForm {
			c.Storage = descriptor.Day
			return
		}
		c.Storage, c.Form = descriptor.Time, timeText(s.forms[0])
	default:
		c.Storage = descriptor.Text
	}
}
