package dynamic

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"

	"github.com/google/uuid"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/internal/filter"
	"github.com/koan-go/koan/entities/shim"
	"github.com/koan-go/koan/framework/database/sqltext"
)

// setID chooses the id of a new row. One of several columns is what these get, where nobody has set them.
func (m *mutation) setID(id any) error {
	m.id = id
	parts := m.kind.entity.Key.Parts
	if len(parts) == 0 {
		return nil
	}
	texts, ok := descriptor.SplitKey(fmt.Sprint(id), len(parts))
	if !ok {
		return fmt.Errorf("%v is not an id of %d values with commas between them", id, len(parts))
	}
	for i := range parts {
		v, err := valueOfPart(&parts[i], texts[i])
		if err != nil {
			return err
		}
		c := &m.cells[m.kind.byColumn[parts[i].Name]]
		if c.change != put {
			*c = cell{change: put, v: v}
			continue
		}
		if _, inOwnWords := v.(shim.Bound); !inOwnWords && c.v != v {
			return fmt.Errorf("%s is not what the id %v says of it", parts[i].Field, id)
		}
	}
	return nil
}

// valueOfPart returns the value that an id has of a column: in the database's own words where callers see it in
// others.
func valueOfPart(c *descriptor.Column, text string) (any, error) {
	switch {
	case c.IsLoose() && c.Form == nil && c.Native == filter.Blob:
		return shim.Bound{V: filter.BlobOf(text)}, nil
	case c.IsLoose() && !fitsLoose(c, text):
		return nil, fmt.Errorf("%q does not fit the column %s", text, c.Name)
	case c.Form != nil || c.Native != "":
	case c.Storage == descriptor.Int:
		n, err := strconv.ParseInt(text, 10, 64)
		if err == nil || !c.IsLoose() {
			return n, err
		}
	case c.Storage == descriptor.Text:
		return text, nil
	}
	return shim.Bound{V: text}, nil
}

// fitsLoose reports whether a text is a value of a type that SQLite itself does not enforce.
func fitsLoose(c *descriptor.Column, text string) bool {
	switch {
	case c.Form != nil:
		seen, err := c.Form.Show(text)
		_, isTime := seen.(time.Time)
		return err == nil && isTime
	case c.Storage == descriptor.Day:
		_, err := time.Parse(time.DateOnly, text)
		return err == nil
	case c.Storage == descriptor.Decimal:
		return json.Valid([]byte(text)) && strings.Trim(text, "-+.0123456789eE") == ""
	}
	return true
}

// composite carries out a mutation of a row whose key has several columns, which ent's builders do not know. All
// that is written to such a row are columns of its own.
type composite struct{ *mutation }

var errMatched = errors.New("entities: a row whose key has several columns is found by its key alone")

func (m composite) statement() *sqltext.Builder {
	if m.tx.dialect == dialect.Postgres {
		return &sqltext.Builder{Dialect: sqltext.PostgreSQL{}}
	}
	return &sqltext.Builder{Dialect: sqltext.SQLite{}}
}

// written calls fn for each column that gets a value, nil for NULL.
func (m composite) written(fn func(column string, v any)) {
	for i := range m.cells {
		switch c := &m.cells[i]; c.change {
		case put:
			fn(m.kind.slots[i].column, argument(c.v))
		case cleared:
			fn(m.kind.slots[i].column, nil)
		case unchanged, added:
		}
	}
}

// argument returns a value as both drivers bind it.
func argument(v any) any {
	switch v := v.(type) {
	case json.RawMessage:
		return string(v)
	case uuid.UUID:
		return v.String()
	}
	return v
}

func (m composite) insert(ctx context.Context) error {
	b := m.statement()
	b.Raw("INSERT INTO ").Name(m.kind.entity.Table)
	var values []any
	m.written(func(column string, v any) {
		b.Raw([]string{" (", ", "}[min(len(values), 1)]).Name(column)
		values = append(values, v)
	})
	if len(values) == 0 {
		b.Raw(" DEFAULT VALUES")
	} else {
		b.Raw(")")
		if writer(m).overrides() {
			b.Raw(" OVERRIDING SYSTEM VALUE")
		}
		b.Raw(" VALUES (")
		for i, v := range values {
			b.Raw([]string{"", ", "}[min(i, 1)]).Arg(v)
		}
		b.Raw(")")
	}
	b.Raw(" RETURNING ")
	filter.OwnKey(b, &m.kind.entity.Key)
	var rows entsql.Rows
	if err := m.tx.Query(ctx, string(b.Text()), b.Args(), &rows); err != nil {
		return err
	}
	var key any
	err := entsql.ScanOne(&rows, &key)
	if err = errors.Join(err, rows.Close()); err != nil {
		return err
	}
	m.id, err = m.kind.ids.ScanID(key)
	return err
}

func (m composite) update(ctx context.Context) error {
	b := m.statement()
	b.Raw("UPDATE ").Name(m.kind.entity.Table)
	n := 0
	m.written(func(column string, v any) {
		b.Raw([]string{" SET ", ", "}[min(n, 1)]).Name(column).Raw(" = ").Arg(v)
		n++
	})
	if n == 0 {
		return nil
	}
	return m.one(ctx, b)
}

func (m composite) delete(ctx context.Context) error {
	b := m.statement()
	b.Raw("DELETE FROM ").Name(m.kind.entity.Table)
	return m.one(ctx, b)
}

// one ends and runs a statement that writes the row.
func (m composite) one(ctx context.Context, b *sqltext.Builder) error {
	if len(m.where) > 0 {
		return errMatched
	}
	key, err := m.kind.ids.BindID(m.id)
	if err != nil {
		return err
	}
	b.Raw(" WHERE ")
	filter.OwnKeyIs(b, &m.kind.entity.Key, key)
	var result sql.Result
	if err := m.tx.Exec(ctx, string(b.Text()), b.Args(), &result); err != nil {
		return err
	}
	if affected, err := result.RowsAffected(); err != nil || affected > 0 {
		return err
	}
	return &goneError{m.Type()}
}
