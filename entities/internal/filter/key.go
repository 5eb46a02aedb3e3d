package filter

import (
	"encoding/hex"
	"slices"
	"strconv"
	"strings"

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
		if p.Native == Blob {
			b.Raw("CASE WHEN typeof(")
			named(p.Name)
			b.Raw(")='blob' THEN '\\x'||lower(hex(")
			named(p.Name)
			b.Raw(")) ELSE ")
			escapedText(b, named, p)
			b.Raw(" END")
			continue
		}
		if p.Storage == descriptor.Int && !p.IsLoose() || p.Storage == descriptor.UUID {
			b.Raw("CAST(")
			named(p.Name)
			b.Raw(" AS TEXT)")
			continue
		}
		escapedText(b, named, p)
	}
	b.Raw(")")
}

// escapedText appends a part of a key as a text in which nothing is a separator.
func escapedText(b *sqltext.Builder, named func(name string), p *descriptor.Column) {
	b.Raw("replace(replace(CAST(")
	named(p.Name)
	b.Raw(" AS TEXT),'%','%25'),',','%2C')")
}

// Blob is the type of a key's column that has bytes on SQLite. They are written as PostgreSQL writes its own: `\xdead`.
const Blob = "BLOB"

// BlobOf returns what a key's column of bytes has for a text: itself where it names no bytes.
func BlobOf(text string) any {
	if digits, ok := strings.CutPrefix(text, `\x`); ok && strings.ToLower(digits) == digits {
		if raw, err := hex.DecodeString(digits); err == nil {
			return raw
		}
	}
	return text
}

// isReadAgain reports whether the database may take two texts for one value of a key: 1.5 and 1.50, or a day in two
// ways of writing it. A row has one id alone, so that the text is compared, too.
func isReadAgain(key *descriptor.Column) bool {
	return slices.ContainsFunc(key.Parts, func(p descriptor.Column) bool {
		if p.Storage == descriptor.Bytes {
			return p.Native == Blob || !p.IsLoose() // else it is a text already
		}
		return p.Native != "" || p.Form != nil || p.Storage != descriptor.Text && p.Storage != descriptor.Int && p.Storage != descriptor.UUID
	})
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
	if isReadAgain(key) {
		b.Raw("(")
		SelectKey(b, key, named)
		b.Raw(" IN (").List(values).Raw(") AND ")
		defer b.Raw(")")
	}
	tuple(b, func(p *descriptor.Column) { comparedPart(b, named, p) }, key)
	before, after := " IN (", ")"
	if b.Dialect.Name() == dialect.SQLite && len(key.Parts) > 1 { // which takes no list of tuples
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
	if isReadAgain(key) {
		b.Raw(" AND ")
		SelectKey(b, key, named)
		b.Raw("=").Arg(descriptor.JoinKey(parts))
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
	if p.Storage == descriptor.Bytes && p.Native != Blob && b.Dialect.Name() == dialect.SQLite {
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
	if p.Native == Blob {
		b.Arg(BlobOf(text))
		return
	}
	if p.Native != "" {
		before, after := b.Dialect.Native(p.Native)
		b.Raw(before).Arg(text).Raw(after)
		return
	}
	b.Arg(text)
}

// PartValue returns what the column of a key's only part has for an id.
func PartValue(key *descriptor.Column, id any) any {
	text := keyValues(key, id)[0]
	if key.Parts[0].Native == Blob {
		return BlobOf(text)
	}
	return text
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
		if p := &key.Parts[i]; p.Storage == descriptor.Int && !p.IsLoose() {
			n, err := strconv.ParseInt(parts[i], 10, 64)
			if err != nil {
				return "", false
			}
			parts[i] = strconv.FormatInt(n, 10)
		}
	}
	return descriptor.JoinKey(parts), true
}
