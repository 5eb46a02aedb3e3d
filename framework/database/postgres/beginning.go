package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
)

// image is what is in the tables of a set: how it begins.
type image struct {
	Tables    []imageTable     `json:"tables"`
	Sequences map[string]int64 `json:"sequences,omitempty"` // their last values, by name
}

type imageTable struct {
	Name    string          `json:"name"`
	Columns []string        `json:"columns"`
	Rows    json.RawMessage `json:"rows"` // as PostgreSQL writes them
}

// take returns the image of a set that was just made; nil where the app has put nothing into
// it.
func (w within) take(ctx context.Context) ([]byte, error) {
	tables, err := w.imageTables(ctx)
	if err != nil {
		return nil, err
	}
	out, filled := image{Sequences: map[string]int64{}}, false
	for _, t := range tables {
		var rows []byte
		if err := w.one(ctx, &rows, "SELECT json_agg(t) FROM (SELECT "+names(t.Columns)+" FROM "+quoted(t.Name)+") t"); err != nil {
			return nil, err
		}
		if rows == nil {
			continue
		}
		t.Rows = rows
		filled = filled || !strings.HasPrefix(t.Name, "koan_")
		out.Tables = append(out.Tables, t)
	}
	if !filled {
		return nil, nil
	}
	var sequences []byte
	err = w.one(ctx, &sequences, "SELECT json_object_agg(sequencename, last_value) FROM pg_sequences WHERE schemaname = current_schema() AND last_value IS NOT NULL")
	if err != nil {
		return nil, err
	}
	if sequences != nil {
		if err := json.Unmarshal(sequences, &out.Sequences); err != nil {
			return nil, err
		}
	}
	return json.Marshal(out)
}

// imageTables are the tables of a set with the columns that are stored as they are given.
func (w within) imageTables(ctx context.Context) (out []imageTable, err error) {
	rows, err := w.t.QueryContext(ctx, `SELECT c.relname, json_agg(a.attname ORDER BY a.attnum) FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
		WHERE c.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema()) AND c.relkind IN ('r', 'p') AND NOT c.relispartition AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
		GROUP BY c.relname ORDER BY c.relname`)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var t imageTable
		var columns []byte
		if err := rows.Scan(&t.Name, &columns); err != nil {
			return nil, err
		}
		if err := json.Unmarshal(columns, &t.Columns); err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, rows.Err()
}

// restore puts an image into the empty tables of a set. All rows come in one statement, at
// whose end the foreign keys are checked, so their order does not matter.
func (w within) restore(ctx context.Context, taken []byte) error {
	var i image
	if err := json.Unmarshal(taken, &i); err != nil {
		return err
	}
	var text strings.Builder
	var args []any
	for n, t := range i.Tables {
		number, columns, table := strconv.Itoa(n+1), names(t.Columns), quoted(t.Name)
		text.WriteString([]string{"WITH ", ", "}[min(n, 1)] + "i" + number + " AS (INSERT INTO " + table + " (" + columns + ") OVERRIDING SYSTEM VALUE SELECT " + columns +
			" FROM json_populate_recordset(NULL::" + table + ", $" + number + "::json))")
		args = append(args, string(t.Rows))
	}
	if _, err := w.t.ExecContext(ctx, text.String()+" SELECT", args...); err != nil {
		return err
	}
	for name, last := range i.Sequences {
		if _, err := w.t.ExecContext(ctx, "SELECT setval($1::regclass, $2)", quoted(name), last); err != nil {
			return err
		}
	}
	return nil
}

// one reads the only value of a query.
func (w within) one(ctx context.Context, into any, query string) (err error) {
	rows, err := w.t.QueryContext(ctx, query)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		if err := rows.Scan(into); err != nil {
			return err
		}
	}
	return rows.Err()
}

// names lists the names of columns.
func names(columns []string) string {
	out := make([]string, len(columns))
	for i, c := range columns {
		out[i] = quoted(c)
	}
	return strings.Join(out, ", ")
}
