package inspect

import (
	"context"
	"database/sql"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/koan-go/koan/entities/descriptor"
)

// postgresType is a type of the catalog.
type postgresType struct {
	schema, name string
	kind         string // b base, c composite, d domain, e enum, r range, m multirange
	category     string // A array, S string, ...
	element      int64
	base         int64  // of a domain
	members      string // of a composite: the types of its columns
	equality     bool   // it can be compared, by what the database itself has for indexes
	modifier     int    // of a domain's base
	notNull      bool
	labels       []string // of an enum
	checks       []string // of a domain, about VALUE
}

// types reads all types with their labels and checks.
func (s *postgresCatalog) types(ctx context.Context) error {
	s.typesOf = map[int64]*postgresType{}
	err := each(ctx, s, func(rows *sql.Rows) error {
		var id int64
		t := &postgresType{}
		if err := rows.Scan(&id, &t.schema, &t.name, &t.kind, &t.category, &t.element, &t.base, &t.modifier, &t.notNull, &t.members, &t.equality); err != nil {
			return err
		}
		s.typesOf[id] = t
		return nil
	}, `SELECT t.oid::bigint, n.nspname, t.typname, t.typtype::text, t.typcategory::text, t.typelem::bigint, t.typbasetype::bigint, t.typtypmod, t.typnotnull,
	coalesce((SELECT string_agg(a.atttypid::bigint::text, ',') FROM pg_attribute a WHERE t.typtype = 'c' AND a.attrelid = t.typrelid AND a.attnum > 0 AND NOT a.attisdropped), ''),
	t.typtype <> 'b' OR EXISTS (SELECT FROM pg_opclass o WHERE o.opcdefault AND o.opcmethod = 403 AND (o.opcintype = t.oid OR EXISTS (
		SELECT FROM pg_cast k WHERE k.castsource = t.oid AND k.casttarget = o.opcintype AND k.castmethod = 'b' AND k.castcontext = 'i')))
FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace`)
	if err != nil {
		return err
	}
	err = each(ctx, s, func(rows *sql.Rows) error {
		var id int64
		var label string
		err := rows.Scan(&id, &label)
		if t := s.typesOf[id]; t != nil {
			t.labels = append(t.labels, label)
		}
		return err
	}, "SELECT enumtypid::bigint, enumlabel FROM pg_enum ORDER BY enumtypid, enumsortorder")
	if err != nil {
		return err
	}
	return each(ctx, s, func(rows *sql.Rows) error {
		var id int64
		var check sql.NullString
		err := rows.Scan(&id, &check)
		if t := s.typesOf[id]; t != nil {
			t.checks = append(t.checks, check.String)
		}
		return err
	}, "SELECT contypid::bigint, pg_get_expr(conbin, 0) FROM pg_constraint WHERE contype = 'c' AND contypid <> 0 ORDER BY contypid, conname")
}

// describe says how a column with a type keeps values, and what the type itself says of them.
func (s *postgresCatalog) describe(c *Column, id int64, modifier int) {
	t := s.typesOf[id]
	var checks []string
	for depth := 0; t != nil && t.kind == "d" && depth < maxDepth; depth++ {
		c.Nullable = c.Nullable && !t.notNull
		checks = append(checks, t.checks...)
		if modifier = t.modifier; s.typesOf[t.base] == nil {
			break
		}
		t = s.typesOf[t.base]
	}
	if t == nil { // dropped while the catalog was read
		t = &postgresType{schema: "pg_catalog", name: "text"}
	}
	switch {
	case t.kind == "e":
		c.Storage, c.Native, c.Enum = descriptor.Text, quotedName(t.schema, t.name), t.labels
	case t.category == "A" && t.element != 0:
		c.Storage = descriptor.JSON
		c.Keeping = descriptor.Array
		var isJSON bool
		c.Items, isJSON = s.elements(t.element)
		c.Unlisted = c.Unlisted || isJSON
	default:
		c.Value, c.Limits = postgresValue(t, modifier)
		c.Textual = c.Native != "" && !s.compares(t, 0)
	}
	for _, text := range checks {
		if e, err := parseExpression(text); err == nil {
			applyCheck(e, func(name string) *Column {
				if name == "VALUE" || name == "value" {
					return c
				}
				return nil
			})
		}
	}
}

// ordered are the types whose order is not that of their texts, as far as there is a least and a greatest of them.
var ordered = []string{"money", "oid", "interval", "inet", "cidr", "pg_lsn", "timetz"}

// compares reports whether the database says of two values of a type whether they are the same.
func (s *postgresCatalog) compares(t *postgresType, depth int) bool {
	switch {
	case t == nil || depth > maxDepth:
		return false
	case t.kind == "d":
		return s.compares(s.typesOf[t.base], depth+1)
	case t.category == "A" && t.element != 0:
		return s.compares(s.typesOf[t.element], depth+1)
	}
	for _, text := range strings.FieldsFunc(t.members, func(r rune) bool { return r == ',' }) {
		id, err := strconv.ParseInt(text, 10, 64)
		if err != nil || !s.compares(s.typesOf[id], depth+1) {
			return false
		}
	}
	return t.equality
}

// elements says of which JSON type callers see the elements of an array, "" for several, and whether they are JSON.
func (s *postgresCatalog) elements(id int64) (items string, isJSON bool) {
	t := s.typesOf[id]
	for depth := 0; t != nil && t.kind == "d" && depth < maxDepth; depth++ {
		t = s.typesOf[t.base]
	}
	if t == nil {
		return "", false
	}
	switch v, _ := postgresValue(t, -1); v.Storage {
	case descriptor.Float, descriptor.Decimal:
		return "number", false
	case descriptor.Bool:
		return "boolean", false
	case descriptor.JSON:
		return "", true
	case descriptor.Int:
		return "", false // integers beyond 2^53 are strings
	case descriptor.Text, descriptor.Time, descriptor.Day, descriptor.Bytes, descriptor.UUID, descriptor.Held:
	}
	return "string", false
}

// postgresValue is how a type that is neither a domain, an enum nor an array keeps values.
func postgresValue(t *postgresType, modifier int) (v Value, l Limits) {
	if t.schema != "pg_catalog" && t.category != "S" {
		return Value{Storage: descriptor.Text, Native: quotedName(t.schema, t.name)}, l
	}
	switch t.name {
	case "bool":
		v.Storage = descriptor.Bool
	case "int2":
		v.Storage, l = descriptor.Int, within(math.MinInt16, math.MaxInt16)
		v.Capacity = &descriptor.Capacity{Least: math.MinInt16, Most: math.MaxInt16}
	case "int4":
		v.Storage, l = descriptor.Int, within(math.MinInt32, math.MaxInt32)
		v.Capacity = &descriptor.Capacity{Least: math.MinInt32, Most: math.MaxInt32}
	case "int8":
		v.Storage = descriptor.Int
	case "float4":
		v.Storage, v.Single = descriptor.Float, true
	case "float8":
		v.Storage = descriptor.Float
	case "numeric":
		v.Storage = descriptor.Decimal
		if scale := (modifier - 4) & 0x7ff; modifier >= 4 && scale <= 1000 { // a negative scale rounds what is before the point
			v.Capacity = &descriptor.Capacity{Precision: (modifier - 4) >> 16 & 0xffff, Scale: scale}
		}
	case "date":
		v.Storage = descriptor.Day
	case "timestamp", "timestamptz":
		v.Storage = descriptor.Time
		if modifier >= 0 {
			v.Capacity = &descriptor.Capacity{SecondDigits: &modifier}
		}
	case "uuid":
		v.Storage = descriptor.UUID
	case "json", "jsonb":
		v.Storage, v.Keeping = descriptor.JSON, descriptor.Unformatted
	case "bytea":
		v.Storage = descriptor.Bytes
	case "varchar", "bpchar":
		v.Storage, v.Alike = descriptor.Text, t.name == "bpchar"
		if n := modifier - 4; modifier > 4 {
			l.MaxLength, v.Short = &n, n <= shortText
			v.Capacity = &descriptor.Capacity{Length: n}
		}
	default:
		v.Storage, v.Alike = descriptor.Text, t.name == "citext"
		v.Ordered = t.schema == "pg_catalog" && slices.Contains(ordered, t.name)
		if t.category != "S" || t.name == "name" || t.name == "char" {
			v.Native = quotedName(t.schema, t.name)
		}
	}
	return v, l
}

func within(least, most float64) Limits { return Limits{Min: &least, Max: &most} }
