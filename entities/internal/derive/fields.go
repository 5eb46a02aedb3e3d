package derive

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/internal/filter"
	"github.com/koan-go/koan/entities/internal/inspect"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/database/sqltext"
)

// tableName is how statements name a relation.
func tableName(r *inspect.Relation) string { return sqltext.Qualified(r.Schema, r.Name) }

// fields makes the key and the fields of an entity.
func (g *graph) fields(e *entity) {
	e.taken["id"] = true
	e.Resource.Key = keyField()
	r := e.source
	switch {
	case len(r.Key) == 1:
		c := r.Column(r.Key[0])
		e.Resource.Key.Description = c.Comment
		e.Resource.Key.Generated = c.Computed || c.Default != nil
		e.Resource.Key.ReadOnly = c.Always
		e.Resource.Key.Required = !e.Resource.Key.Generated && !c.Generated && r.Writable()
		e.Key = column(c)
		e.Key.Field, e.Key.Ent = "id", "id"
		if !plainKey(c) {
			part := e.Key
			part.Native = cmp.Or(part.Native, c.Cast)
			if c.Storage == descriptor.Bytes && c.Keeping == descriptor.Loose {
				part.Native = filter.Blob
			}
			e.Key = descriptor.Column{Field: "id", Ent: "id", Storage: descriptor.Text, Parts: []descriptor.Column{part}}
		}
	case len(r.Key) > 1:
		e.Key = descriptor.Column{Field: "id", Ent: "id", Storage: descriptor.Text}
		for _, name := range r.Key {
			part := column(r.Column(name)) // SQLite lets it be null, whatever a key is
			if !plainKey(r.Column(name)) {
				part.Native = cmp.Or(part.Native, r.Column(name).Cast)
			}
			if r.Column(name).Type == "" { // values of any type, which are compared as texts
				part.Storage, part.Form = descriptor.Bytes, nil
			}
			e.Key.Parts = append(e.Key.Parts, part)
		}
	case r.RowID != "":
		e.Resource.Key.Description = "The number of the row, as SQLite counts it: the table has no key."
		e.Key = descriptor.Column{Field: "id", Ent: "id", Name: r.RowID, Storage: descriptor.Int}
	default:
		e.Key = descriptor.Column{Field: "id", Ent: "id", Storage: descriptor.Text, Nullable: true}
		e.Resource.Key.Description, e.Resource.Key.Nullable = "Always null: the rows have no key.", true
	}
	for _, c := range r.Columns {
		if len(r.Key) == 1 && c.Name == r.Key[0] {
			continue
		}
		f, d := field(c), column(c)
		f.Name = e.take(fieldName(c.Name), fieldName(c.Name)+"Value")
		if f.Immutable = slices.Contains(r.Key, c.Name); f.Immutable && !c.Generated && r.Writable() {
			f.Required = c.Default == nil && !c.Computed
		}
		d.Field, d.Ent = f.Name, f.Name
		e.Resource.Fields, e.Columns = append(e.Resource.Fields, f), append(e.Columns, d)
	}
	e.nameParts()
	g.unique(e)
}

// plainKey reports whether callers see of a key what its column holds.
func plainKey(c *inspect.Column) bool {
	switch c.Storage {
	case descriptor.Text, descriptor.Int, descriptor.UUID:
		return c.Form == nil && c.Native == ""
	case descriptor.Float, descriptor.Bool, descriptor.Time, descriptor.Day, descriptor.JSON, descriptor.Bytes, descriptor.Decimal, descriptor.Held:
	}
	return false
}

// nameParts gives the parts of a key of several columns the names of their fields.
func (e *entity) nameParts() {
	if len(e.Key.Parts) < 2 {
		return
	}
	var names []string
	for i := range e.Key.Parts {
		part := &e.Key.Parts[i]
		part.Field = e.fieldOf(part.Name).Name
		names = append(names, part.Field)
	}
	e.Resource.Key.Description = "The values of " + strings.Join(names, " and ") + ", with a comma between them."
}

// unique takes the first unique key for upserts: a key of several columns is one, too.
func (g *graph) unique(e *entity) {
	if len(e.source.Key) == 0 {
		return
	}
	keys := e.source.Unique
	if len(e.source.Key) > 1 {
		keys = append([]inspect.Unique{{Columns: e.source.Key}}, keys...)
	}
	for _, u := range keys {
		var names []string
		for _, name := range u.Columns {
			// SQLite lets columns of a key be null, which rows never are in earnest.
			if f := e.fieldOf(name); f != nil && (!f.Nullable || slices.Contains(e.source.Key, name)) && !f.ReadOnly {
				names = append(names, f.Name)
			}
		}
		if len(names) == len(u.Columns) {
			e.UpsertBy = names
			return
		}
	}
}

// fieldOf returns the field of a column, nil for the key and for none.
func (e *entity) fieldOf(name string) *catalog.Field {
	for i := range e.Columns {
		if e.Columns[i].Name == name {
			return &e.Resource.Fields[i]
		}
	}
	return nil
}

// columnOf returns the column of a field.
func (e *entity) columnOf(name string) *descriptor.Column {
	for i := range e.Columns {
		if e.Columns[i].Name == name {
			return &e.Columns[i]
		}
	}
	if e.Key.Name == name && name != "" {
		return &e.Key
	}
	return nil
}

func column(c *inspect.Column) descriptor.Column {
	return descriptor.Column{
		Name: c.Name, Keeping: c.Keeping, Storage: c.Storage, Nullable: c.Nullable, Affinity: c.Affinity, Native: c.Native,
		Capacity: c.Capacity, Single: c.Single, Form: c.Form, Origin: origin(c), Folding: folding(c),
	}
}

func folding(c *inspect.Column) descriptor.Folding {
	switch {
	case c.Textual:
		return descriptor.AsTexts
	case c.Ordered:
		return descriptor.OwnOrder
	}
	if c.Alike {
		return descriptor.FoldsID
	}
	return 0
}

func origin(c *inspect.Column) descriptor.Origin {
	switch {
	case c.Generated:
		return descriptor.Computed
	case c.Always:
		return descriptor.Counted
	}
	return descriptor.Written
}

// types are the field types of storages.
var types = map[descriptor.Storage]catalog.FieldType{
	descriptor.Text: catalog.TypeText, descriptor.Int: catalog.TypeInt, descriptor.Float: catalog.TypeFloat, descriptor.Bool: catalog.TypeBool,
	descriptor.Time: catalog.TypeTime, descriptor.Day: catalog.TypeDay, descriptor.JSON: catalog.TypeJSON, descriptor.Bytes: catalog.TypeBytes,
	descriptor.UUID: catalog.TypeUUID, descriptor.Decimal: catalog.TypeDecimal,
}

// field describes a column for callers.
func field(c *inspect.Column) catalog.Field {
	f := catalog.Field{
		Description: c.Comment, Type: types[c.Storage], Nullable: c.Nullable, ReadOnly: c.Generated || c.Always || c.Unlisted,
		Required: !c.Nullable && c.Default == nil && !c.Computed && !c.Generated && !c.Unlisted,
		Enum:     c.Enum, Min: c.Min, Max: c.Max, MinLength: c.MinLength, MaxLength: c.MaxLength,
		Generated: c.Computed,
	}
	if f.Type == catalog.TypeText && (c.Short || c.MaxLength != nil && *c.MaxLength <= shortText) {
		f.Type = catalog.TypeString
	}
	if len(c.Enum) > 0 {
		f.Type, f.MinLength, f.MaxLength = catalog.TypeEnum, nil, nil
	}
	if c.Capacity != nil {
		f.Precision, f.Scale = c.Capacity.Precision, c.Capacity.Scale
	}
	f.Wide = f.Type == catalog.TypeInt && c.Min == nil && c.Max == nil
	if c.Keeping == descriptor.Array {
		f.Schema = listSchema(c.Items)
	}
	if c.Default != nil {
		if f.Default = constant(c.Default, f); f.Default == nil {
			f.Generated = true
		}
	}
	return f
}

// shortText is how long a text may be that is called a string.
const shortText = 255

func listSchema(items string) json.RawMessage {
	if items == "" {
		return json.RawMessage(`{"type":"array","items":{}}`)
	}
	return json.RawMessage(`{"type":"array","items":{"type":[` + strconv.Quote(items) + `,"null"]}}`)
}

// constant is a default as callers see it, nil where it is written in a way of the database's own.
func constant(l *inspect.Literal, f catalog.Field) json.RawMessage {
	quoted := func() json.RawMessage {
		text, err := json.Marshal(l.Text)
		if err != nil {
			return nil
		}
		return text
	}
	switch f.Type {
	case catalog.TypeString, catalog.TypeText:
		return quoted()
	case catalog.TypeDecimal:
		if json.Valid([]byte(l.Text)) {
			return quoted()
		}
	case catalog.TypeEnum:
		if slices.Contains(f.Enum, l.Text) {
			return quoted()
		}
	case catalog.TypeInt:
		if n, err := strconv.ParseInt(l.Text, 10, 64); err == nil && n == int64(float64(n)) {
			return json.RawMessage(strconv.FormatInt(n, 10))
		}
	case catalog.TypeFloat:
		if json.Valid([]byte(l.Text)) && l.Text != "" && l.Text[0] != '"' {
			return json.RawMessage(l.Text)
		}
	case catalog.TypeBool:
		switch strings.ToUpper(l.Text) {
		case "1", "TRUE", "T":
			return json.RawMessage("true")
		case "0", "FALSE", "F":
			return json.RawMessage("false")
		}
	case catalog.TypeTime, catalog.TypeDay, catalog.TypeUUID, catalog.TypeID, catalog.TypeJSON, catalog.TypeBytes:
	}
	return nil
}
