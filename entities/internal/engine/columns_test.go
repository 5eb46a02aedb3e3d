package engine_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	stdent "entgo.io/ent"
	"entgo.io/ent/dialect"
	"entgo.io/ent/dialect/sql"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/entities/shim"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/tests/specimen/ent"
)

// renamedField is a field with a column of another name, and what the field of
// Specimen with the same type had.
type renamedField struct {
	name, ent, column string // JSON name, ent's, the column's
	nullable          bool
	low, high         string // JSON
	ops               string
	goLow, goHigh     any // as ent's own client read them from a Specimen
}

// renamedTable is an entity with such fields, written by the app and by ent's own
// client beside it.
type renamedTable struct {
	*app
	entity, table, key string
	typ                reflect.Type
	fields             []renamedField
	next               int

	get    func(id int) any
	create func(id int, serial string, fill func(stdent.Mutation))
	update func(id int, fill func(stdent.Mutation))
	remove func(id int)
	rows   func() int
}

// passing is a hook that does nothing: with it the engine writes through ent's
// builders instead of by statements of its own.
func passing(next stdent.Mutator) stdent.Mutator { return next }

// entBeside is ent's own client for the app's default set.
func (a *app) entBeside(t *testing.T) *ent.Client {
	name := dialect.SQLite
	if postgres(t) {
		name = dialect.Postgres
	}
	return ent.NewClient(ent.Driver(sql.OpenDB(name, beside(t, a.place, "default"))))
}

func startRenamed(t *testing.T, opts ...ent.EntitiesOption) []*renamedTable {
	t.Helper()
	shimmed := ent.Entities(opts...)
	a := start(t, shimmed)
	model := func(pick func(i int) string) string {
		var parts []string
		for i, s := range specimens {
			parts = append(parts, fmt.Sprintf("%q:%s", s.field, pick(i)))
		}
		return `{"model":{` + strings.Join(parts, ",") + `}}`
	}
	low := a.call("Specimen.upsert", model(func(i int) string { return specimens[i].low }))["id"].(string)
	high := a.call("Specimen.upsert", model(func(i int) string { return specimens[i].high }))["id"].(string)
	c, ctx := a.entBeside(t), t.Context()
	lowest, highest := c.Specimen.GetX(ctx, uuid.MustParse(low)), c.Specimen.GetX(ctx, uuid.MustParse(high))

	things := &renamedTable{
		entity: "Renamed", table: "Renamed Things", key: "Row No", typ: reflect.TypeFor[ent.Renamed](),
		get: func(id int) any { return c.Renamed.GetX(ctx, id) },
		create: func(id int, serial string, fill func(stdent.Mutation)) {
			b := c.Renamed.Create().SetID(id).SetSerialNo(serial)
			fill(b.Mutation())
			b.SaveX(ctx)
		},
		update: func(id int, fill func(stdent.Mutation)) {
			b := c.Renamed.UpdateOneID(id)
			fill(b.Mutation())
			b.ExecX(ctx)
		},
		remove: func(id int) { c.Renamed.DeleteOneID(id).ExecX(ctx) },
		rows:   func() int { return c.Renamed.Query().CountX(ctx) },
	}
	names := &renamedTable{
		entity: "NickName", table: "nick_names", key: "id", typ: reflect.TypeFor[ent.NickName](),
		get: func(id int) any { return c.NickName.GetX(ctx, id) },
		create: func(id int, serial string, fill func(stdent.Mutation)) {
			b := c.NickName.Create().SetID(id).SetSerialNo(serial)
			fill(b.Mutation())
			b.SaveX(ctx)
		},
		update: func(id int, fill func(stdent.Mutation)) {
			b := c.NickName.UpdateOneID(id)
			fill(b.Mutation())
			b.ExecX(ctx)
		},
		remove: func(id int) { c.NickName.DeleteOneID(id).ExecX(ctx) },
		rows:   func() int { return c.NickName.Query().CountX(ctx) },
	}
	covered := things.join(t, a, shimmed, lowest, highest) + names.join(t, a, shimmed, lowest, highest)
	require.Equal(t, len(specimens), covered, "every type of field is in one of the two")
	return []*renamedTable{things, names}
}

// join finds the specimens' fields in a table, and returns how many there are.
func (r *renamedTable) join(t *testing.T, a *app, shimmed *shim.App, low, high *ent.Specimen) int {
	r.app = a
	entity := shimmed.Graph.Entity(r.entity)
	for _, s := range specimens {
		for _, c := range entity.Columns {
			if c.Name != "col_"+s.field {
				continue
			}
			require.NotEqual(t, c.Name, c.Ent)
			r.fields = append(r.fields, renamedField{
				name: c.Field, ent: c.Ent, column: c.Name, nullable: c.Nullable, low: s.low, high: s.high, ops: s.ops,
				goLow: entField(t, low, s.field), goHigh: entField(t, high, s.field),
			})
		}
	}
	// Names of several words, with columns that ent derives.
	for name, values := range map[string][4]any{"homeURL": {`"a"`, `"b"`, "a", "b"}, "isPublic": {`false`, `true`, false, true}, "otherForms": {`["x"]`, `[]`, []string{"x"}, []string{}}} {
		if c := entity.Column(name); c != nil {
			ops := ""
			if name == "otherForms" {
				ops = "json"
			}
			r.fields = append(r.fields, renamedField{name: c.Field, ent: c.Ent, column: c.Name, nullable: true, low: values[0].(string), high: values[1].(string), ops: ops, goLow: values[2], goHigh: values[3]})
		}
	}
	n := 0
	for _, f := range r.fields {
		if strings.HasPrefix(f.column, "col_") {
			n++
		}
	}
	return n
}

// goField finds the Go field of one of ent's entities by ent's name.
func goField(t *testing.T, typ reflect.Type, name string) reflect.StructField {
	t.Helper()
	f, known := typ.FieldByNameFunc(func(s string) bool { return strings.EqualFold(s, strings.ReplaceAll(name, "_", "")) })
	require.True(t, known, name)
	return f
}

// entField reads a field of one of ent's entities; where it is Nillable, the
// pointer is followed.
func entField(t *testing.T, entity any, name string) any {
	t.Helper()
	v := reflect.ValueOf(entity).Elem()
	v = v.FieldByIndex(goField(t, v.Type(), name).Index)
	if v.Kind() == reflect.Pointer && !v.IsNil() && v.Type().Elem().PkgPath() != "math/big" && v.Type().Elem().PkgPath() != "net/url" {
		v = v.Elem()
	}
	return v.Interface()
}

// plainly shows a value without the names of types: each generated package has
// enums of its own.
func plainly(v any) string {
	if s, ok := v.(fmt.Stringer); ok {
		return s.String()
	}
	if r := reflect.ValueOf(v); r.Kind() == reflect.String {
		return r.String()
	}
	return fmt.Sprintf("%#v", v)
}

// json joins a value for each field into one object.
func (r *renamedTable) json(pick func(f *renamedField) string, more ...string) string {
	parts := more
	for i := range r.fields {
		parts = append(parts, fmt.Sprintf("%q:%s", r.fields[i].name, pick(&r.fields[i])))
	}
	return "{" + strings.Join(parts, ",") + "}"
}

func lows(f *renamedField) string  { return f.low }
func highs(f *renamedField) string { return f.high }

// id is a new id, with the members of a model that has it.
func (r *renamedTable) id() (id int, members string) {
	r.next++
	return r.next, fmt.Sprintf(`"id":"%d","serialNo":"s%d"`, r.next, r.next)
}

// do calls an operation of the entity.
func (r *renamedTable) do(op, input string, args ...any) map[string]any {
	r.Helper()
	return r.call(r.entity+"."+op, fmt.Sprintf(input, args...))
}

// expect compares a row as callers and as ent's own client read it with the low or
// the high values.
func (r *renamedTable) expect(t *testing.T, id int, high bool) {
	t.Helper()
	seen, row := r.do("get-by-id", `{"id":"%d"}`, id), r.get(id)
	for _, f := range r.fields {
		want, held := f.low, f.goLow
		if high {
			want, held = f.high, f.goHigh
		}
		got, err := json.Marshal(seen[f.name])
		require.NoError(t, err)
		require.JSONEq(t, want, string(got), f.name)
		require.Equal(t, plainly(held), plainly(entField(t, row, f.ent)), f.name)
	}
}

func TestRenamedColumnsKeepWhatIsWritten(t *testing.T) {
	t.Parallel()
	if forEach(t, TestRenamedColumnsKeepWhatIsWritten) {
		return
	}
	for name, opts := range hookings {
		t.Run(name, func(t *testing.T) {
			for _, r := range startRenamed(t, opts...) {
				t.Run(r.entity, func(t *testing.T) {
					for name, part := range map[string]func(*testing.T){"models": r.wholeModels, "fields": r.eachField, "by ent": r.writtenByEnt} {
						t.Run(name, func(t *testing.T) {
							r.app = r.within(t)
							part(t)
						})
					}
				})
			}
		})
	}
}

// wholeModels writes all fields at once.
func (r *renamedTable) wholeModels(t *testing.T) {
	id, own := r.id()
	r.do("upsert", `{"model":%s}`, r.json(lows, own))
	r.expect(t, id, false)
	r.do("upsert", `{"model":%s}`, r.json(highs, own))
	r.expect(t, id, true)
	r.do("upsert", `{"model":%s,"replace":true}`, r.json(lows, own))
	r.expect(t, id, false)
	r.do("upsert", `{"model":%s}`, r.json(highs, fmt.Sprintf(`"serialNo":"s%d"`, id)))
	r.expect(t, id, true)
	r.do("patch", `{"id":"%d","changes":%s}`, id, r.json(lows))
	r.expect(t, id, false)
	r.do("update-by-query", `{"filter":{"id":"%d"},"changes":%s}`, id, r.json(highs))
	r.expect(t, id, true)
	require.EqualValues(t, 6, r.do("get-by-id", `{"id":"%d"}`, id)["editCount"])

	second, members := r.id()
	r.do("upsert-many", `{"models":[%s,%s]}`, r.json(lows, own), r.json(highs, members))
	r.expect(t, id, false)
	r.expect(t, second, true)

	changes, err := r.recorded(r.entity+".upsert", `{"model":`+r.json(highs, own)+`}`)
	require.NoError(t, err)
	require.Len(t, changes, 1)
	var before, after map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(changes[0].Before, &before))
	require.NoError(t, json.Unmarshal(changes[0].After, &after))
	for _, f := range r.fields {
		require.JSONEq(t, f.low, string(before[f.name]), f.name)
		require.JSONEq(t, f.high, string(after[f.name]), f.name)
	}
	require.EqualValues(t, 2, r.do("delete-many", `{"ids":["%d","%d"]}`, id, second)["deleted"])
	require.Zero(t, r.rows())
}

// eachField writes and finds one field at a time.
func (r *renamedTable) eachField(t *testing.T) {
	id, own := r.id()
	other, members := r.id()
	r.do("upsert-many", `{"models":[{%s},%s]}`, own, r.json(lows, members))
	for _, f := range r.fields {
		is := func(want string) {
			t.Helper()
			raw, err := json.Marshal(r.do("get-by-id", `{"id":"%d","fields":%q}`, id, f.name)[f.name])
			require.NoError(t, err)
			require.JSONEq(t, want, string(raw), f.name)
		}
		r.do("patch", `{"id":"%d","changes":{%q:%s}}`, id, f.name, f.high)
		is(f.high)
		if f.nullable {
			r.do("patch", `{"id":"%d","changes":{%q:null}}`, id, f.name)
			is("null")
			require.Equal(t, 1, r.number(fmt.Sprintf(`SELECT count(*) FROM %q WHERE %q IS NULL AND %q = %d`, r.table, f.column, r.key, id)), f.name)
			require.Equal(t, []string{fmt.Sprint(id)}, found(r.do("collection", `{"filter":{%q:null},"fields":"id"}`, f.name)), f.name)
		}
		require.EqualValues(t, 1, r.do("update-by-query", `{"filter":{"id":"%d"},"changes":{%q:%s}}`, id, f.name, f.high)["updated"])
		is(f.high)
		if f.ops != "json" && f.ops != "null" {
			require.Equal(t, []string{fmt.Sprint(id)}, found(r.do("collection", `{"filter":{%q:%s}}`, f.name, f.high)), f.name)
			require.Len(t, r.do("aggregate", `{"groupBy":%q}`, f.name)["rows"], 2, f.name)
		}
		if strings.Contains(f.ops, "order") {
			require.Equal(t, []string{fmt.Sprint(id), fmt.Sprint(other)}, found(r.do("collection", `{"sort":"-%s"}`, f.name)), f.name)
			first := r.do("collection", `{"sort":%q,"pageSize":1}`, f.name)
			require.Equal(t, []string{fmt.Sprint(id)}, found(r.do("collection", `{"sort":%q,"pageSize":1,"cursor":%q}`, f.name, first["nextCursor"])), f.name)
		}
	}
	r.expect(t, id, true)
	require.EqualValues(t, 2, r.do("delete-by-query", `{"filter":{},"maxAffected":10}`)["deleted"])
	require.Zero(t, r.rows())
}

// writtenByEnt has ent's own client write rows, which callers then read.
func (r *renamedTable) writtenByEnt(t *testing.T) {
	fill := func(pick func(f *renamedField) any) func(stdent.Mutation) {
		return func(m stdent.Mutation) {
			for i := range r.fields {
				f := &r.fields[i]
				v := pick(f)
				if typ := goField(t, r.typ, f.ent).Type; reflect.TypeOf(v).ConvertibleTo(typ) {
					v = reflect.ValueOf(v).Convert(typ).Interface() // an enum of the other package
				}
				require.NoError(t, m.SetField(f.column, v), f.name)
			}
		}
	}
	id, _ := r.id()
	r.create(id, "by ent", fill(func(f *renamedField) any { return f.goLow }))
	r.expect(t, id, false)
	r.update(id, fill(func(f *renamedField) any { return f.goHigh }))
	r.expect(t, id, true)
	r.remove(id)
	r.fails(fault.NotFound, r.entity+".get-by-id", fmt.Sprintf(`{"id":"%d"}`, id))
}
