package entgen

import (
	"encoding"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"entgo.io/ent/dialect"
	"entgo.io/ent/entc/gen"
	"entgo.io/ent/schema/field"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/expose"
	"github.com/koan-go/koan/framework/catalog"
)

// shape says what callers see of a field, what its column keeps, and how the
// generated code goes from one to the other.
type shape struct {
	Type    catalog.FieldType
	Storage descriptor.Storage
	Opaque  bool
	Single  bool // a float32
	// Convert is the converter of package shim that sets the field, "" where it is
	// set through a form.
	Convert string
	// Seen is the form's constant, "" where there is no form. Kept says that the
	// column holds what callers see, so that only setting needs the form.
	Seen string
	Kept bool
}

const uuidPackage = "github.com/google/uuid"

// storesItself reports whether a Go type keeps itself in the database.
func storesItself(f *gen.Field) bool { return f.HasGoType() && f.Type.ValueScanner() }

// isTextual reports whether a Go type is written and read as text.
func isTextual(f *gen.Field) bool {
	t := f.Type.RType
	return t != nil && t.Implements(reflect.TypeFor[encoding.TextMarshaler]()) && t.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

func kindIs(f *gen.Field, kinds ...reflect.Kind) bool {
	for _, k := range kinds {
		if f.HasGoType() && f.Type.RType.Kind == k {
			return true
		}
	}
	return false
}

var (
	integers = []reflect.Kind{reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64}
	floats   = []reflect.Kind{reflect.Float32, reflect.Float64}
)

// shapeOf decides how a field is exposed, or says why it cannot be.
func shapeOf(f *gen.Field, a *expose.Field) (s shape, problem string) {
	s = basicShape(f)
	google := f.Type.Type == field.TypeUUID && f.Type.PkgPath == uuidPackage && !f.HasValueScanner()
	switch {
	case f.Type.Type == field.TypeOther:
		s, problem = otherShape(f)
	case f.Type.Type == field.TypeJSON, google, !f.HasGoType() && !f.HasValueScanner():
	case f.HasValueScanner() || storesItself(f):
		s = ownShape(f, s)
	case s.Convert == "":
		problem = "the type " + f.Type.String() + " does not say how it is stored: give it Value and Scan, or the field a ValueScanner"
	}
	if problem != "" {
		return s, problem
	}
	if s.Seen != "" && (isSet(a.Decimal) || decimalColumn(f)) && s.Type != catalog.TypeDecimal {
		if s.Seen == "AsIs" && s.Type != catalog.TypeString && s.Type != catalog.TypeText || s.Type == catalog.TypeJSON {
			return s, "it cannot be a decimal: " + f.Type.String() + " is not marshalled as text"
		}
		s.Type, s.Storage, s.Opaque = catalog.TypeDecimal, descriptor.Decimal, false
	}
	if isSet(a.Decimal) && s.Type != catalog.TypeDecimal {
		return s, "Decimal is for fields with a custom Go type or ValueScanner"
	}
	if isSet(a.Day) && s.Type != catalog.TypeDay {
		return s, "Day is for a field.Time without a Go type of its own whose SchemaType on PostgreSQL, if it has one, is date"
	}
	if isSet(a.Comparable) {
		if s.Seen == "" || s.Type == catalog.TypeJSON {
			return s, "Comparable is for fields with a custom Go type or ValueScanner"
		}
		s.Opaque = false
		if s.Type == catalog.TypeString {
			s.Storage = descriptor.Text
		}
	}
	if s.Opaque && s.Type != catalog.TypeJSON {
		s.Storage = descriptor.Held
	}
	return s, ""
}

// basicShape is the shape by ent's type alone.
func basicShape(f *gen.Field) shape {
	switch t := f.Type.Type; {
	case t == field.TypeBool:
		return shape{Type: catalog.TypeBool, Storage: descriptor.Bool, Convert: "Bool"}
	case t == field.TypeTime && !f.HasGoType() && isDateColumn(f):
		return shape{Type: catalog.TypeDay, Storage: descriptor.Day, Convert: "Time"}
	case t == field.TypeTime:
		return shape{Type: catalog.TypeTime, Storage: descriptor.Time, Convert: "Time"}
	case t == field.TypeJSON:
		return shape{Type: catalog.TypeJSON, Storage: descriptor.JSON, Convert: "JSON"}
	case t == field.TypeUUID:
		return shape{Type: catalog.TypeUUID, Storage: descriptor.UUID, Convert: "UUID"}
	case t == field.TypeBytes:
		return shape{Type: catalog.TypeBytes, Storage: descriptor.Bytes, Convert: "Bytes"}
	case t == field.TypeEnum:
		return shape{Type: catalog.TypeEnum, Storage: descriptor.Text, Convert: "Text"}
	case t.Integer():
		return shape{Type: catalog.TypeInt, Storage: descriptor.Int, Convert: "Int"}
	case t.Float():
		return shape{Type: catalog.TypeFloat, Storage: descriptor.Float, Single: t == field.TypeFloat32 || kindIs(f, reflect.Float32) || isSingleColumn(f), Convert: "Float"}
	case f.Column().Size >= math.MaxInt32:
		return shape{Type: catalog.TypeText, Storage: descriptor.Text, Convert: "Text"}
	}
	return shape{Type: catalog.TypeString, Storage: descriptor.Text, Convert: "Text"}
}

// ownShape is the shape of a field whose Go type, or ValueScanner, decides what is
// kept. What ent's type says of the column holds: a number is kept as a number, a
// time as a time, an enum as one of its values. Texts may be kept in any form.
func ownShape(f *gen.Field, s shape) shape {
	s.Convert = ""
	s.Seen, s.Kept = "AsKept", true
	seen := func(how string) {
		s.Seen, s.Kept, s.Opaque = how, false, true
	}
	if s.Storage == descriptor.Text || s.Storage == descriptor.UUID {
		s.Kept = false // texts may be kept as bytes
	}
	switch t := f.Type.Type; {
	case t == field.TypeString && isTextual(f), t == field.TypeUUID && isTextual(f):
		seen("AsText")
		if t == field.TypeUUID && f.Type.RType.Name != "UUID" {
			s.Type, s.Storage = catalog.TypeString, descriptor.Text
		}
	case t == field.TypeString && (!f.HasGoType() || kindIs(f, reflect.String)):
		seen("AsIs")
	case t == field.TypeEnum && (!f.HasGoType() || kindIs(f, reflect.String)):
		seen("AsIs")
		s.Opaque = false
	case t == field.TypeBytes && isTextual(f):
		seen("AsText")
		s.Type = catalog.TypeString
	case t == field.TypeBytes && (!f.HasGoType() || kindIs(f, reflect.Slice)):
		seen("AsIs")
	case f.HasValueScanner() && t.Integer() && (!f.HasGoType() || kindIs(f, integers...)),
		f.HasValueScanner() && t.Float() && (!f.HasGoType() || kindIs(f, floats...)),
		f.HasValueScanner() && t == field.TypeBool && (!f.HasGoType() || kindIs(f, reflect.Bool)):
		seen("AsIs")
	case t.Float() && isTextual(f):
		seen("AsText")
		s.Type, s.Storage, s.Opaque = catalog.TypeDecimal, descriptor.Decimal, false
	}
	return s
}

// otherShape is the shape of a field.Other, by its column types and its Go type.
func otherShape(f *gen.Field) (shape, string) {
	if !storesItself(f) && !f.HasValueScanner() {
		return shape{}, "the type " + f.Type.String() + " needs Value and Scan"
	}
	text := shape{Type: catalog.TypeString, Storage: descriptor.Text, Seen: "AsText", Opaque: true}
	switch {
	case isTextual(f):
		return text, ""
	case kindIs(f, reflect.String):
		text.Seen = "AsIs"
		return text, ""
	}
	s, ok := columnShape(f)
	switch {
	case ok:
		s.Seen, s.Kept = "AsKept", s.Storage != descriptor.Text && s.Storage != descriptor.UUID
		return s, ""
	case kindIs(f, reflect.Slice, reflect.Map, reflect.Struct):
		return shape{Type: catalog.TypeJSON, Storage: descriptor.JSON, Seen: "AsJSON", Opaque: true}, ""
	}
	return s, fmt.Sprintf("the type %s cannot be shown to callers: give it MarshalText and UnmarshalText, or annotate the field with a SchemaType that says what its column holds", f.Type)
}

// columnClasses are what columns hold, by how their SchemaTypes begin.
var columnClasses = []struct {
	words string
	shape
}{
	{"varchar char character bpchar nvarchar", shape{Type: catalog.TypeString, Storage: descriptor.Text}},
	{"text tinytext mediumtext longtext citext", shape{Type: catalog.TypeText, Storage: descriptor.Text}},
	{"numeric decimal", shape{Type: catalog.TypeDecimal, Storage: descriptor.Decimal}},
	{"json jsonb", shape{Type: catalog.TypeJSON, Storage: descriptor.JSON}},
	{"bigint integer int int2 int4 int8 smallint", shape{Type: catalog.TypeInt, Storage: descriptor.Int}},
	{"double real float float4 float8", shape{Type: catalog.TypeFloat, Storage: descriptor.Float}},
	{"bool boolean", shape{Type: catalog.TypeBool, Storage: descriptor.Bool}},
	{"timestamp timestamptz datetime", shape{Type: catalog.TypeTime, Storage: descriptor.Time}},
	{"bytea blob", shape{Type: catalog.TypeBytes, Storage: descriptor.Bytes}},
	{"uuid", shape{Type: catalog.TypeUUID, Storage: descriptor.UUID}},
}

// columnShape is the shape that all SchemaTypes of a field agree about; false
// where they do not, or where one is of no known class.
func columnShape(f *gen.Field) (found shape, ok bool) {
	for _, typ := range f.Column().SchemaType {
		class, known := classOf(typ)
		if !known || ok && found.Storage != class.Storage {
			return shape{}, false
		}
		found, ok = class, true
	}
	return found, ok
}

// classOf is the class of a SchemaType; false for lists, and for types of the
// database's own.
func classOf(typ string) (shape, bool) {
	word := strings.ToLower(strings.TrimSpace(typ))
	if i := strings.IndexFunc(word, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }); i >= 0 {
		word = word[:i]
	}
	if strings.HasSuffix(typ, "]") {
		return shape{}, false
	}
	for _, c := range columnClasses {
		if slices.Contains(strings.Fields(c.words), word) {
			return c.shape, true
		}
	}
	return shape{}, false
}

// incomparable are the types of PostgreSQL that have no equality, or one of something else than the value: two boxes of
// one area are equal.
var incomparable = strings.Fields("xml point line lseg box path polygon circle jsonpath refcursor pg_snapshot txid_snapshot")

// keyFolding says whether the database finds a row by other texts than its id, too: by its type or its collation.
func keyFolding(id *gen.Field) descriptor.Folding {
	c := id.Column()
	word, _, _ := strings.Cut(strings.ToLower(c.SchemaType[dialect.Postgres]), "(")
	if c.Collation != "" || slices.Contains([]string{"char", "character", "nchar", "bpchar", "citext"}, strings.TrimSpace(word)) {
		return descriptor.FoldsID
	}
	return 0
}

// nativeType is the type of a field's column on PostgreSQL where that may not compare
// with text. ent's enums do: PostgreSQL takes their values for what they are.
func nativeType(f *gen.Field, s shape) string {
	typ := f.Column().SchemaType[dialect.Postgres]
	if _, known := classOf(typ); typ == "" || known || s.Type == catalog.TypeEnum || s.Storage != descriptor.Text && s.Storage != descriptor.Held {
		return ""
	}
	return typ
}

// affinityOf returns what SQLite makes of the decimals of a field, by the rules that it has
// for the names of types; "" for a field of another type, and where it leaves texts alone.
func affinityOf(f *gen.Field, s shape) descriptor.Affinity {
	if s.Storage != descriptor.Decimal {
		return ""
	}
	typ, named := f.Column().SchemaType[dialect.SQLite]
	typ = strings.ToUpper(typ)
	has := func(parts ...string) bool {
		return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(typ, p) })
	}
	switch {
	case !named && f.Type.Type.Float():
		return descriptor.Real
	case !named && f.Type.Type.Integer(), has("INT"):
		return descriptor.Numeric
	case !named, typ == "", has("CHAR", "CLOB", "TEXT", "BLOB"):
		return ""
	case has("REAL", "FLOA", "DOUB"):
		return descriptor.Real
	}
	return descriptor.Numeric
}

// decimalColumn reports whether some database keeps the field as a decimal.
func decimalColumn(f *gen.Field) bool {
	for _, typ := range f.Column().SchemaType {
		typ = strings.ToLower(typ)
		if strings.HasPrefix(typ, "numeric") || strings.HasPrefix(typ, "decimal") {
			return true
		}
	}
	return false
}

// isDateColumn reports whether PostgreSQL keeps a field as a date.
func isDateColumn(f *gen.Field) bool {
	return strings.EqualFold(strings.TrimSpace(f.Column().SchemaType[dialect.Postgres]), "date")
}

// keepDaysAsDates sets the column type on PostgreSQL of fields that are annotated as days to
// that of days, unless the schema names another.
func keepDaysAsDates(g *gen.Graph) {
	for _, s := range g.Schemas {
		for _, f := range s.Fields {
			raw, err := json.Marshal(f.Annotations[expose.FieldName])
			if err != nil {
				continue // reported where the field is read
			}
			var a expose.Field
			if json.Unmarshal(raw, &a) != nil || !isSet(a.Day) || f.Info == nil || f.Info.Type != field.TypeTime || f.SchemaType[dialect.Postgres] != "" {
				continue
			}
			if f.SchemaType == nil {
				f.SchemaType = map[string]string{}
			}
			f.SchemaType[dialect.Postgres] = "date"
		}
	}
}

// formName is the generated variable of a field's form.
func formName(n *gen.Type, f *gen.Field) string { return "koanForm" + n.Name + "_" + f.StructField() }

// formExpr is the Go expression of a field's form.
func formExpr(n *gen.Type, f *gen.Field, s shape) string {
	keeps := "nil"
	if f.HasValueScanner() {
		keeps = "&" + scannerPackage(n) + ".ValueScanner." + f.StructField()
	}
	return fmt.Sprintf("shim.NewForm((*%s).%s, shim.%s, %s)", n.MutationName(), f.MutationSet(), s.Seen, keeps)
}

// scannerPackage is the name under which the generated file imports the package
// that ent puts an entity's ValueScanners into.
func scannerPackage(n *gen.Type) string { return "koan" + n.PackageDir() }
