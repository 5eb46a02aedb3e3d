package earlier

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"
)

// row is one row of a renamed table, by columns, as the driver returns it.
type row map[string]any

// read returns all rows of a table of the first model.
func read(ctx context.Context, drv dialect.Driver, table string) ([]row, error) {
	rows := &entsql.Rows{}
	if err := drv.Query(ctx, fmt.Sprintf("SELECT * FROM %q ORDER BY id", aside(table)), []any{}, rows); err != nil {
		return nil, err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	var out []row
	for rows.Next() {
		values, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		r := row{}
		for i, c := range columns {
			r[c] = values[i]
		}
		out = append(out, r)
	}
	return out, rows.Err()
}

func (r row) text(column string) string {
	switch v := r[column].(type) {
	case string:
		return v
	case []byte:
		return string(v)
	}
	return ""
}

// optional is a text, nil where there is none.
func (r row) optional(column string) *string {
	if s := r.text(column); s != "" {
		return &s
	}
	return nil
}

func (r row) number(column string) float64 {
	switch v := r[column].(type) {
	case float64:
		return v
	case int64:
		return float64(v)
	case string:
		f, _ := strconv.ParseFloat(v, 64) // the column is numeric
		return f
	}
	return 0
}

func (r row) truth(column string) bool {
	switch v := r[column].(type) {
	case bool:
		return v
	case int64:
		return v != 0
	}
	return false
}

// time is a moment; ok is false for null.
func (r row) time(column string) (t time.Time, ok bool) {
	switch v := r[column].(type) {
	case time.Time:
		return v.UTC(), true
	case string:
		for _, layout := range []string{time.RFC3339Nano, "2006-01-02 15:04:05.999999999-07:00", "2006-01-02 15:04:05.999999999", time.DateOnly} {
			if t, err := time.Parse(layout, v); err == nil {
				return t.UTC(), true
			}
		}
	}
	return time.Time{}, false
}

// day is the date of a moment in UTC, which the first model meant.
func (r row) day(column string) *time.Time {
	t, ok := r.time(column)
	if !ok {
		return nil
	}
	d := t.Truncate(24 * time.Hour)
	return &d
}

// list is a list of texts; empty for null.
func (r row) list(column string) ([]string, error) {
	out := []string{}
	if s := r.text(column); s != "" {
		if err := json.Unmarshal([]byte(s), &out); err != nil {
			return nil, fmt.Errorf("%s of %s: %w", column, r.text("id"), err)
		}
	}
	if out == nil {
		out = []string{}
	}
	return out, nil
}
