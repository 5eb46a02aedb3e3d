package migrate

import (
	"testing"
	"time"

	"entgo.io/ent/dialect"
	"entgo.io/ent/dialect/entsql"
	entschema "entgo.io/ent/dialect/sql/schema"
	"entgo.io/ent/schema/field"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
)

// owned is a schema of things with an owner, and of owners.
func owned(hash int32, change ...func(things, owners *entschema.Table)) *Schema {
	s := table(hash, &entschema.Column{Name: "name", Type: field.TypeString, Nullable: true}, &entschema.Column{Name: "owner", Type: field.TypeString, Nullable: true})
	id := &entschema.Column{Name: "id", Type: field.TypeString}
	owners := &entschema.Table{Name: "owners", Columns: []*entschema.Column{id}, PrimaryKey: []*entschema.Column{id}}
	for _, f := range change {
		f(s.Tables[0], owners)
	}
	s.Tables = append(s.Tables, owners)
	return s
}

func references(things, owners *entschema.Table) {
	things.ForeignKeys = []*entschema.ForeignKey{{
		Symbol: "things_owner", Columns: things.Columns[2:3], RefTable: owners, RefColumns: owners.Columns[:1], OnDelete: entschema.SetNull,
	}}
}

func checks(checks ...string) func(things, owners *entschema.Table) {
	return func(things, _ *entschema.Table) {
		things.Annotation = &entsql.Annotation{Checks: map[string]string{}}
		for i, c := range checks {
			things.Annotation.Checks["things_check_"+string(rune('a'+i))] = c
		}
	}
}

// A new reference and a new check are refused where rows break them, and name these rows; a plan says what
// may come.
func TestRowsThatBreakConstraints(t *testing.T) {
	for name, c := range map[string]struct {
		from, to *Schema
		rows     []string
		why      string
		said     string
		planned  string
		mend     string
	}{
		"a reference": {
			owned(1), owned(2, references),
			[]string{"'a','Milk','ann'", "'b','Eggs','bob'", "'c','Salt',NULL"},
			"things.owner becomes a reference to owners, but 1 row of Thing refers to one that does not exist", `id "b", owner "bob"`,
			"things.owner becomes a reference to owners, which fails where a row refers to none that exists", "INSERT INTO owners VALUES ('bob')",
		},
		"a check": {
			owned(1), owned(2, checks("length(name) > 3")),
			[]string{"'a','Milk','ann'", "'b','Oil','bob'", "'c',NULL,NULL"},
			"things (things_check_a) gets the check length(name) > 3, which does not hold in 1 row of Thing", `id "b", name "Oil"`,
			"things (things_check_a) gets the check length(name) > 3, which fails where a row breaks it", "UPDATE things SET name = 'Oil!' WHERE id = 'b'",
		},
		"a narrower check": {
			owned(1, checks("length(name) > 2")), owned(2, checks("length(name) > 2", "length(name) > 3")),
			[]string{"'a','Milk','ann'", "'b','Oil','bob'"},
			"gets the check length(name) > 3, which does not hold in 1 row of Thing", `id "b", name "Oil"`, "gets the check length(name) > 3", "DELETE FROM things WHERE id = 'b'",
		},
	} {
		t.Run(name, func(t *testing.T) {
			places(t, c.from, func(t *testing.T, drv dialect.Driver) {
				made, err := c.from.known(ctx, drv)
				require.NoError(t, err)
				d, err := c.to.compare(ctx, drv, made, true)
				require.NoError(t, err)
				require.Len(t, d.Blocks, 1)
				require.Contains(t, d.Blocks[0].Why, c.planned)

				c.to.Entities = thing(catalog.Field{Name: "name"}, catalog.Field{Name: "owner"})
				exec(t, drv, "INSERT INTO owners VALUES ('ann')")
				for _, row := range c.rows {
					exec(t, drv, "INSERT INTO things VALUES ("+row+")")
				}
				v := judged(t, in(c.to), drv)
				require.Equal(t, Apart, v.State)
				require.Contains(t, v.Why, c.why)
				require.Equal(t, c.said, v.Rows)
				_, err = in(c.to).Apply(ctx, drv, "default", true)
				f := fault.From(err)
				require.Contains(t, f.Message, c.why)
				require.Contains(t, f.Message, c.said)
				err = AtOpening(in(c.to))(ctx, "default", drv)
				require.ErrorContains(t, err, c.why)
				require.NotContains(t, err.Error(), `"b"`)

				exec(t, drv, c.mend)
				v, err = in(c.to).Apply(ctx, drv, "default", true)
				require.NoError(t, err)
				require.Equal(t, Current, v.State)
				require.Error(t, drv.Exec(ctx, "INSERT INTO things VALUES ('x','Oi','nobody')", []any{}, nil), "the constraint is there")
			})
		})
	}
}

// A reference to a table that comes with the same change has nothing to refer to; one of a column that
// comes with it, and a check of such a column, meet no values.
func TestConstraintsOfNewColumns(t *testing.T) {
	places(t, table(1, &entschema.Column{Name: "name", Type: field.TypeString, Nullable: true}, &entschema.Column{Name: "owner", Type: field.TypeString, Nullable: true}), func(t *testing.T, drv dialect.Driver) {
		exec(t, drv, "INSERT INTO things VALUES ('a','Milk','ann')")
		require.Contains(t, judged(t, in(owned(2, references)), drv).Why, "things.owner becomes a reference to owners, but 1 row of things refers to one that does not exist")
		exec(t, drv, "UPDATE things SET owner = NULL")
		_, err := in(owned(2, references)).Apply(ctx, drv, "default", false)
		require.NoError(t, err)
	})
	places(t, table(1), func(t *testing.T, drv dialect.Driver) {
		exec(t, drv, "INSERT INTO things VALUES ('a')")
		_, err := in(owned(2, references, checks("length(name) > 3"))).Apply(ctx, drv, "default", false)
		require.NoError(t, err)
	})
}

// A column may change its type as it becomes a reference.
func TestReferencesOfColumnsThatChangeTheirType(t *testing.T) {
	for name, c := range map[string]struct {
		of            field.Type
		good, missing string
	}{
		"an integer": {field.TypeInt64, "5", "7"},
		"a UUID":     {field.TypeUUID, "00000000-0000-4000-8000-0000000000ab", "00000000-0000-4000-8000-0000000000cd"},
	} {
		t.Run(name, func(t *testing.T) {
			places(t, owned(1, func(things, _ *entschema.Table) { things.Columns[2].Type = c.of }), func(t *testing.T, drv dialect.Driver) {
				exec(t, drv, "INSERT INTO owners VALUES ('"+c.good+"')", "INSERT INTO things VALUES ('a','Milk','"+c.good+"'), ('b','Eggs','"+c.missing+"'), ('c','Salt',NULL)")
				v := judged(t, in(owned(2, references)), drv)
				require.Contains(t, v.Why, "things.owner becomes a reference to owners, but 1 row of things refers to one that does not exist")
				require.Contains(t, v.Rows, `id "b", owner "`+c.missing+`"`)
				exec(t, drv, "INSERT INTO things VALUES ('d','Oil','"+c.missing+"')")
				require.Contains(t, judged(t, in(owned(2, references)), drv).Why, "but 2 rows of things refer to ones that do not exist")
				exec(t, drv, "INSERT INTO owners VALUES ('"+c.missing+"')")
				_, err := in(owned(2, references)).Apply(ctx, drv, "default", true)
				require.NoError(t, err)
				read, err := column[string](ctx, drv, "SELECT owner FROM things WHERE owner IS NOT NULL ORDER BY id")
				require.NoError(t, err)
				require.Equal(t, []string{c.good, c.missing, c.missing}, read)
			})
		})
	}
}

// A check may have several lines; a plan says on comments' lines alone what to review.
func TestPlansWithChecksOfSeveralLines(t *testing.T) {
	first := owned(1)
	second := owned(2, checks("length(name) > 3\n\tAND\r\nname <> 'none'"))
	plan, err := files(t, first, summed(t, map[string]string{})).Plan(ctx, memory(t), "first", time.Now().Add(-time.Hour))
	require.NoError(t, err)
	dir := map[string]string{plan.name: plan.text}
	plan, err = files(t, second, summed(t, dir)).Plan(ctx, memory(t), "check", time.Now())
	require.NoError(t, err)
	require.Contains(t, plan.text, "-- Review this: things (things_check_a) gets the check length(name) > 3 AND name <> 'none', which fails where a row breaks it.\n")
	dir[plan.name] = plan.text
	_, err = files(t, second, summed(t, dir)).Apply(ctx, made(t, first), "default", false)
	require.NoError(t, err)
}
