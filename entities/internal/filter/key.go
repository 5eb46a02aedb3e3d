package filter

import (
	"strconv"

	"entgo.io/ent/dialect"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/framework/database/sqltext"
)

// An id of several columns is one text for callers, and several comparisons for the database, so that its
// index answers them.

// SelectKey appends a key as callers see it. named writes a column's name.
func SelectKey(b *sqltext.Builder, key *descriptor.Column, named func(name string)) {
	switch {
	case key.Absent():
		b.Raw("NULL")
		return
	case len(key.Parts) == 0:
		named(key.Name)
		return
	}
	b.Raw("(")
	for i := range key.Parts {
		if i > 0 {
			b.Raw("||','||")
		}
		p := &key.Parts[i]
		if p.Storage == descriptor.Int && !p.IsLoose() || p.Storage == descriptor.UUID {
			b.Raw("CAST(")
			named(p.Name)
			b.Raw(" AS TEXT)")
			continue
		}
		b.Raw("replace(replace(CAST(")
		named(p.Name)
		b.Raw(" AS TEXT),'%','%25'),',','%2C')")
	}
	b.Raw(")")
}

// jsonColumn appends a column of JSON: an array of PostgreSQL is made such.
func jsonColumn(b *sqltext.Builder, c *descriptor.Column, column func()) {
	if !c.IsArray() {
		column()
		return
	}
	b.Raw("to_jsonb(")
	column()
	b.Raw(")")
}

// KeyText appends a key of an alias as callers see it.
func KeyText(b *sqltext.Builder, a sqltext.Alias, key *descriptor.Column) {
	SelectKey(b, key, func(name string) { b.Column(a, name) })
}

// KeyIs appends the condition that a key has a value.
func KeyIs(b *sqltext.Builder, a sqltext.Alias, key *descriptor.Column, v any) {
	keyParts(b, func(name string) { b.Column(a, name) }, key, "=", v)
}

// KeyIn appends the condition that a key has one of some values, of which there is one at least.
func KeyIn(b *sqltext.Builder, a sqltext.Alias, key *descriptor.Column, values []any) {
	keyIn(b, func(name string) { b.Column(a, name) }, key, values)
}

// OwnKey, OwnKeyIs and OwnKeyIn are SelectKey, KeyIs and KeyIn for a statement about one table, which has no
// alias.
func OwnKey(b *sqltext.Builder, key *descriptor.Column) {
	SelectKey(b, key, func(name string) { b.Name(name) })
}

// OwnKeyIs is described at OwnKey.
func OwnKeyIs(b *sqltext.Builder, key *descriptor.Column, v any) {
	keyParts(b, func(name string) { b.Name(name) }, key, "=", v)
}

// OwnKeyIn is described at OwnKey.
func OwnKeyIn(b *sqltext.Builder, key *descriptor.Column, values []any) {
	keyIn(b, func(name string) { b.Name(name) }, key, values)
}

func keyIn(b *sqltext.Builder, named func(string), key *descriptor.Column, values []any) {
	switch {
	case key.Absent():
		b.Raw("1=0")
		return
	case len(key.Parts) == 0:
		named(key.Name)
		b.Raw(" IN (").List(values).Raw(")")
		return
	}
	tuple(b, func(p *descriptor.Column) { comparedPart(b, named, p) }, key)
	before, after := " IN (", ")"
	if b.Dialect.Name() == dialect.SQLite {
		before = " IN (VALUES "
	}
	b.Raw(before)
	b.ListWith(values, func(v any) {
		parts := keyValues(key, v)
		i := -1
		tuple(b, func(p *descriptor.Column) { i++; bindPart(b, p, parts[i]) }, key)
	})
	b.Raw(after)
}

// keyParts appends a comparison of a key with a value, part by part where it is one for equality.
func keyParts(b *sqltext.Builder, named func(string), key *descriptor.Column, op string, v any) {
	switch {
	case key.Absent():
		b.Raw("1=0")
		return
	case len(key.Parts) == 0:
		named(key.Name)
		b.Raw(op).Arg(v)
		return
	}
	parts := keyValues(key, v)
	if op != "=" {
		tuple(b, func(p *descriptor.Column) { comparedPart(b, named, p) }, key)
		b.Raw(op)
		i := -1
		tuple(b, func(p *descriptor.Column) { i++; bindPart(b, p, parts[i]) }, key)
		return
	}
	b.Raw("(")
	for i := range key.Parts {
		if i > 0 {
			b.Raw(" AND ")
		}
		comparedPart(b, named, &key.Parts[i])
		b.Raw("=")
		bindPart(b, &key.Parts[i], parts[i])
	}
	b.Raw(")")
}

func tuple(b *sqltext.Builder, part func(*descriptor.Column), key *descriptor.Column) {
	if len(key.Parts) > 1 {
		b.Raw("(")
		defer b.Raw(")")
	}
	for i := range key.Parts {
		if i > 0 {
			b.Raw(",")
		}
		part(&key.Parts[i])
	}
}

// comparedPart appends a part as it is compared: as a text where SQLite may have kept it as anything.
func comparedPart(b *sqltext.Builder, named func(string), p *descriptor.Column) {
	if p.Storage == descriptor.Bytes && b.Dialect.Name() == dialect.SQLite {
		b.Raw("CAST(")
		named(p.Name)
		b.Raw(" AS TEXT)")
		return
	}
	named(p.Name)
}

func bindPart(b *sqltext.Builder, p *descriptor.Column, text string) {
	if n, err := strconv.ParseInt(text, 10, 64); p.Storage == descriptor.Int && err == nil {
		b.Arg(n)
		return
	}
	if p.Native != "" {
		before, after := b.Dialect.Native(p.Native)
		b.Raw(before).Arg(text).Raw(after)
		return
	}
	b.Arg(text)
}

// keyValues returns the values of an id, which Key has checked; an id that was none finds nothing.
func keyValues(key *descriptor.Column, v any) []string {
	text, _ := v.(string)
	if parts, ok := descriptor.SplitKey(text, len(key.Parts)); ok {
		return parts
	}
	return make([]string, len(key.Parts))
}

// partedKey checks an id of several columns.
func partedKey(key *descriptor.Column, v any) (string, bool) {
	text, isText := v.(string)
	if !isText && len(key.Parts) == 1 {
		if n, ok := Integer(v); ok {
			text, isText = strconv.FormatInt(n, 10), true
		}
	}
	parts, ok := descriptor.SplitKey(text, len(key.Parts))
	if !isText || !ok {
		return "", false
	}
	for i := range key.Parts {
		if _, err := strconv.ParseInt(parts[i], 10, 64); err != nil && key.Parts[i].Storage == descriptor.Int && !key.Parts[i].IsLoose() {
			return "", false
		}
	}
	return text, true
}
