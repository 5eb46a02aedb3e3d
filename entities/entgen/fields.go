package entgen

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math"
	"regexp"
	"slices"
	"strings"

	"entgo.io/ent/dialect/sql/schema"
	"entgo.io/ent/entc/gen"
	"entgo.io/ent/schema/field"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/expose"
	"github.com/koan-go/koan/framework/catalog"
)

// readTables learns from the tables what foreign keys do on delete, and hashes
// everything that a migration looks at.
func (m *model) readTables() {
	m.deletes = map[[2]string]string{}
	if m.checkTables() {
		return
	}
	tables, err := m.graph.Tables()
	if err != nil {
		m.problem("the tables cannot be derived: %v", err)
		return
	}
	m.checkIdentifiers(tables)
	h := fnv.New32a()
	for _, t := range tables {
		fmt.Fprintf(h, "table %s\n", t.Name)
		for _, c := range t.Columns {
			fmt.Fprintf(h, "column %s %s %d %v %v %v %v %v %s\n", c.Name, c.Type, c.Size, c.Nullable, c.Unique, c.Increment, c.Default, c.Enums, c.Collation)
			if len(c.SchemaType) > 0 {
				fmt.Fprintf(h, "type %v\n", c.SchemaType)
			}
		}
		for _, c := range t.PrimaryKey {
			fmt.Fprintf(h, "key %s\n", c.Name)
		}
		if a := t.Annotation; a != nil && (a.Check != "" || len(a.Checks) > 0) {
			fmt.Fprintf(h, "check %s %v\n", a.Check, a.Checks)
		}
		for _, i := range t.Indexes {
			fmt.Fprintf(h, "index %s %v %+v", i.Name, i.Unique, i.Annotation)
			for _, c := range i.Columns {
				fmt.Fprintf(h, " %s", c.Name)
			}
			fmt.Fprintln(h)
		}
		for _, fk := range t.ForeignKeys {
			fmt.Fprintf(h, "foreign %s %s %s %s\n", fk.Symbol, fk.Columns[0].Name, fk.RefTable.Name, fk.OnDelete)
			m.deletes[[2]string{t.Name, fk.Columns[0].Name}] = string(fk.OnDelete)
			m.foreign = append(m.foreign, foreign{t.Name, fk.Columns[0].Name, fk.RefTable.Name, fk.OnDelete})
		}
	}
	m.hash = int32(h.Sum32() & math.MaxInt32)
}

// foreign is a foreign key.
type foreign struct {
	table, column, refers string
	onDelete              schema.ReferenceOption
}

// referrers returns the columns of exposed entities that refer to a table, and of
// those that refer to rows of others which go with its rows.
func (m *model) referrers(table string, via ...descriptor.Via) []descriptor.Referrer {
	var out []descriptor.Referrer
	for _, f := range m.foreign {
		for _, n := range m.graph.Nodes {
			if f.refers != table || n.Table() != f.table {
				continue
			}
			r := descriptor.Referrer{Entity: n.Name, Column: f.column, Cascade: f.onDelete == schema.Cascade, SetNull: f.onDelete == schema.SetNull, Via: slices.Clone(via)}
			on := descriptor.Via{Table: f.table, Column: f.column}
			passed := slices.ContainsFunc(via, func(v descriptor.Via) bool { return v.Table == f.table })
			switch {
			case m.exposed[n.Name] != nil:
				if len(via) == 0 || r.Cascade || r.SetNull {
					out = append(out, r)
				}
			case r.Cascade && n.HasOneFieldID() && !passed:
				on.Key = n.ID.StorageKey()
				out = append(out, m.referrers(f.table, append(slices.Clone(via), on)...)...)
			}
		}
	}
	return out
}

// unexposed returns the references to a table's rows from tables that are not exposed
// which deleting a row follows. Rows that only link two others are none: they are
// seen as the relationship that they are.
func (m *model) unexposed(table string) (out []descriptor.Unexposed) {
	for _, f := range m.foreign {
		if f.refers != table || f.onDelete != schema.Cascade && f.onDelete != schema.SetNull {
			continue
		}
		for _, n := range m.graph.Nodes {
			if n.Table() == f.table && m.exposed[n.Name] == nil && !n.IsEdgeSchema() {
				out = append(out, descriptor.Unexposed{Table: f.table, Column: f.column})
			}
		}
	}
	return out
}

func isSet(f expose.Flag) bool { return f != nil && *f }

func (m *model) readField(n *gen.Type, f *gen.Field, version string) (catalog.Field, descriptor.Column) {
	where := n.Name + "." + f.Name
	a := decode[expose.Field](m, where, f.Annotations, expose.FieldName)
	if a == nil {
		a = &expose.Field{}
	}
	filled := f.Annotations[expose.FilledName] != nil
	shape, problem := shapeOf(f, a)
	if problem != "" {
		m.problem("%s: %s", where, problem)
	}
	typ := shape.Type
	cf := catalog.Field{
		Name: camel(f.Name), Description: a.Description, Aliases: a.Aliases, Type: typ, Enum: f.EnumValues(),
		Nullable: f.Optional, Required: !f.Optional && !f.Default && !filled, Immutable: f.Immutable || isSet(a.Immutable), ReadScopes: a.ReadScopes,
		ReadOnly: isSet(a.ReadOnly) || f.Name == version, WriteOnly: isSet(a.WriteOnly),
		Sensitive: f.Sensitive() || isSet(a.Sensitive), Searchable: isSet(a.Searchable), Opaque: shape.Opaque,
		Generated: f.Default && f.DefaultFunc() || f.UpdateDefault || filled,
		MinLength: a.MinLength, MaxLength: a.MaxLength, Min: a.Min, Max: a.Max, Pattern: a.Pattern,
	}
	if filled && f.Default {
		m.problem("%s: Filled is for fields without a default: a hook could not tell one from what a caller sends", where)
	}
	if cf.Description == "" {
		cf.Description = f.Comment()
	}
	if len(cf.Enum) == 0 {
		cf.Enum = nil
	}
	if f.Default && !f.DefaultFunc() {
		cf.Default = m.constant(where, f.DefaultValue())
		if shape.Seen != "" && !matchesType(cf.Default, typ) { // written otherwise than callers see it
			cf.Default, cf.Generated = nil, true
		}
	}
	if a.Example != nil {
		cf.Example = m.constant(where, a.Example)
	}
	if size := f.Column().Size; cf.MaxLength == nil && (typ == catalog.TypeString) && size > 0 && size < math.MaxInt32 {
		max := int(size)
		cf.MaxLength = &max
	}
	capacity := capacityOf(f, shape)
	limitByCapacity(&cf, capacity)
	switch r, ok := ranges[f.Type.Type]; {
	case ok:
		cf.Min, cf.Max = within(cf.Min, r[0]), within(cf.Max, r[1])
	case typ == catalog.TypeInt && (f.Type.Type == field.TypeUint || f.Type.Type == field.TypeUint64):
		cf.Min = within(cf.Min, 0) // what they hold at most is beyond a float's digits, and a column's
	}
	cf.Wide = typ == catalog.TypeInt && (f.Type.Type == field.TypeInt64 || f.Type.Type == field.TypeUint64) && f.Name != version
	if typ == catalog.TypeJSON {
		cf.Schema = jsonSchema(f.Type.String())
	}
	refers := ""
	if f.IsEdgeField() {
		if e, err := f.Edge(); err == nil {
			cf.Type, cf.MaxLength, cf.Min, cf.Max, cf.Precision, cf.Scale, cf.Wide = catalog.TypeID, nil, nil, nil, 0, 0, false
			if m.visible(e) {
				cf.Edge = camel(e.Name)
			}
			if m.exposed[e.Type.Name] != nil {
				refers = e.Type.Name
			}
		}
	}
	col := descriptor.Column{Field: cf.Name, Ent: f.Name, Name: f.StorageKey(), Storage: shape.Storage, Affinity: affinityOf(f, shape), Native: nativeType(f, shape), Capacity: capacity, Nullable: f.Optional, Single: shape.Single, Refers: refers}
	if a.Fold == expose.Accents {
		col.Folding |= descriptor.FoldsAccents
	}
	if slices.Contains(incomparable, strings.ToLower(col.Native)) {
		col.Folding |= descriptor.AsTexts
	}
	if f.Annotations[expose.IgnoreCaseName] != nil {
		col.Folding |= descriptor.FoldsKey
	}
	if a.Fold != "" && (a.Fold != expose.Accents || shape.Type != catalog.TypeString && shape.Type != catalog.TypeText || shape.Opaque) {
		m.problem("%s: Fold is %q for strings, or empty", where, expose.Accents)
	}
	m.checkScopes(where, "ReadScopes", a.ReadScopes)
	if sound := m.checkField(where, &cf, f.Name == version); sound && problem == "" {
		m.checkSamples(where, f, shape, &cf, &col)
	}
	return cf, col
}

// limitByCapacity declares what a column keeps as limits of its field, where the schema does
// not set narrower ones.
func limitByCapacity(cf *catalog.Field, c *descriptor.Capacity) {
	if c == nil {
		return
	}
	cf.Precision, cf.Scale = c.Precision, c.Scale
	if c.Length > 0 && (cf.MaxLength == nil || *cf.MaxLength > c.Length) {
		cf.MaxLength = &c.Length
	}
	if c.Fixed {
		cf.MinLength = &c.Length
	}
	if c.Bits && cf.Pattern == "" {
		cf.Pattern = "^[01]*$"
	}
	if c.Least < c.Most {
		least, most := float64(c.Least), float64(c.Most)
		if cf.Min == nil || *cf.Min < least {
			cf.Min = &least
		}
		if cf.Max == nil || *cf.Max > most {
			cf.Max = &most
		}
	}
}

// matchesType reports whether the JSON of a default is how callers see values of a type.
func matchesType(raw json.RawMessage, typ catalog.FieldType) bool {
	if len(raw) == 0 {
		return false
	}
	switch typ {
	case catalog.TypeInt, catalog.TypeFloat:
		return raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9'
	case catalog.TypeBool:
		return raw[0] == 't' || raw[0] == 'f'
	case catalog.TypeJSON:
		return true
	default:
		return raw[0] == '"'
	}
}

// ranges are the integer types that hold less than a number of JavaScript.
var ranges = map[field.Type][2]float64{
	field.TypeInt8: {math.MinInt8, math.MaxInt8}, field.TypeInt16: {math.MinInt16, math.MaxInt16}, field.TypeInt32: {math.MinInt32, math.MaxInt32},
	field.TypeUint8: {0, math.MaxUint8}, field.TypeUint16: {0, math.MaxUint16}, field.TypeUint32: {0, math.MaxUint32},
}

// within returns the limit of a field: its annotation's, else its type's.
func within(annotated *float64, limit float64) *float64 {
	if annotated != nil {
		return annotated
	}
	return &limit
}

// checkField compares annotations with the field's type and with each other. What
// a version field has to be is checked with the entity.
func (m *review) checkField(where string, f *catalog.Field, version bool) (sound bool) {
	before := len(m.problems)
	text := f.Type == catalog.TypeString || f.Type == catalog.TypeText
	number := f.Type == catalog.TypeInt || f.Type == catalog.TypeFloat
	if !text && (f.MinLength != nil || f.MaxLength != nil || f.Pattern != "" || f.Searchable) {
		m.problem("%s: MinLength, MaxLength, Pattern and Searchable are for strings", where)
	}
	if !number && (f.Min != nil || f.Max != nil) {
		m.problem("%s: Min and Max are for numbers", where)
	}
	if f.MinLength != nil && *f.MinLength < 0 || f.MaxLength != nil && *f.MaxLength < 0 || exceeds(f.MinLength, f.MaxLength) {
		m.problem("%s: no string can satisfy both MinLength and MaxLength", where)
	}
	if exceeds(f.Min, f.Max) {
		m.problem("%s: Min is greater than Max", where)
	}
	if _, err := regexp.Compile(f.Pattern); err != nil {
		m.problem("%s: the Pattern %q is not an RE2 expression: %v", where, f.Pattern, err)
	}
	if f.ReadOnly && f.Required && !version {
		m.problem("%s: a read-only field must have a default or be Optional", where)
	}
	return len(m.problems) == before
}

// exceeds reports whether a lower limit is higher than the upper one.
func exceeds[T int | float64](lower, upper *T) bool {
	return lower != nil && upper != nil && *lower > *upper
}

// constant returns a default or example as JSON.
func (m *review) constant(where string, v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		m.problem("%s: %v is not JSON: %v", where, v, err)
	}
	return b
}

// jsonSchema returns the schema of the Go types whose JSON is plain, nil for
// others.
func jsonSchema(goType string) json.RawMessage {
	if elem, ok := strings.CutPrefix(goType, "[]"); ok {
		if inner := jsonSchema(elem); inner != nil && elem != "byte" {
			return json.RawMessage(fmt.Sprintf(`{"type":"array","items":%s}`, inner))
		}
		return nil
	}
	if elem, ok := strings.CutPrefix(goType, "map[string]"); ok {
		if inner := jsonSchema(elem); inner != nil {
			return json.RawMessage(fmt.Sprintf(`{"type":"object","additionalProperties":%s}`, inner))
		}
		return nil
	}
	switch goType {
	case "string":
		return json.RawMessage(`{"type":"string"}`)
	case "bool":
		return json.RawMessage(`{"type":"boolean"}`)
	case "int", "int64":
		return json.RawMessage(`{"type":"integer"}`)
	case "float64":
		return json.RawMessage(`{"type":"number"}`)
	case "interface {}", "any":
		return json.RawMessage(`true`)
	}
	return nil
}

// visible reports whether callers see an edge: its target is exposed, and no
// annotation hides it.
func (m *model) visible(e *gen.Edge) bool {
	a := decode[expose.Edge](m, e.Name, e.Annotations, expose.EdgeName)
	return m.exposed[e.Type.Name] != nil && (a == nil || !isSet(a.Hidden))
}

func (m *model) readEdge(n *gen.Type, e *gen.Edge) (catalog.Edge, descriptor.Edge, bool) {
	if !m.visible(e) {
		return catalog.Edge{}, descriptor.Edge{}, false
	}
	ce := catalog.Edge{Name: camel(e.Name), Target: e.Type.Name, Many: !e.Unique, Required: !e.Optional, Immutable: e.Immutable, Description: e.Comment()}
	if a := decode[expose.Edge](m, n.Name+"."+e.Name, e.Annotations, expose.EdgeName); a != nil {
		if ce.Owned = isSet(a.Owned); ce.Owned && !e.M2M() {
			m.problem("%s.%s: Owned is for edges of many to many", n.Name, e.Name)
		}
		ce.Aliases = a.Aliases
		if a.Description != "" {
			ce.Description = a.Description
		}
	}
	de := descriptor.Edge{Name: ce.Name, Ent: e.Name, Target: e.Type.Name, Inverse: e.IsInverse()}
	if e.M2M() {
		de.Relation, de.JoinTable = descriptor.M2M, e.Rel.Table
		de.JoinOwn, de.JoinTarget = e.Rel.Columns[0], e.Rel.Columns[1]
		if e.IsInverse() {
			de.JoinOwn, de.JoinTarget = de.JoinTarget, de.JoinOwn
		}
		if where := m.writtenElsewhere(e); where != "" {
			ce.ReadOnly, ce.Reason = true, where
			ce.Description = strings.TrimSpace(ce.Description + " " + where)
		}
		return ce, de, true
	}
	de.Relation = map[gen.Rel]descriptor.Relation{gen.O2O: descriptor.O2O, gen.O2M: descriptor.O2M, gen.M2O: descriptor.M2O}[e.Rel.Type]
	column := e.Rel.Column()
	if e.OwnFK() {
		de.OwnKey = column
		for _, f := range n.Fields {
			if fe, err := f.Edge(); f.IsEdgeField() && err == nil && fe.Name == e.Name {
				ce.Reference = camel(f.Name)
			}
		}
		return ce, de, true
	}
	de.TargetKey = column
	action := schema.ReferenceOption(m.deletes[[2]string{e.Rel.Table, column}])
	de.Cascade, de.SetNull = action == schema.Cascade, action == schema.SetNull
	return ce, de, true
}
