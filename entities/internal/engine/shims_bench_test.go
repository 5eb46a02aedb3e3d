package engine_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/entities/internal/dynamic"
	"github.com/koan-go/koan/entities/shim"
	"github.com/koan-go/koan/tests/fixture/ent"
)

// todosWithoutCode are the fixture's entities without their generated code, and with the same defaults.
func todosWithoutCode() *shim.App {
	compiled := ent.Entities()
	now := func() (any, error) { return time.Now(), nil }
	return dynamic.App(compiled.Graph, dynamic.Options{
		Tables: compiled.Tables, SchemaHash: compiled.SchemaHash, Constants: true,
		Fill: map[string]dynamic.Fill{"Todo": {
			Create: map[string]dynamic.Maker{
				"id":         func() (any, error) { return uuid.Must(uuid.NewV7()).String(), nil },
				"created_at": now, "updated_at": now,
			},
			Update: map[string]dynamic.Maker{"updated_at": now},
		}},
	})
}

// BenchmarkWithoutCode reports what calls on entities without generated code cost against the same calls on
// those that have it: as ratio, which is at most 1.05 for reads and 1.2 for writes.
func BenchmarkWithoutCode(b *testing.B) {
	if forEach(b, BenchmarkWithoutCode) {
		return
	}
	fresh := func(i int) string {
		return fmt.Sprintf(`{"model":{"id":"new-%d","title":"New","views":%d}}`, i, i)
	}
	for _, c := range []struct {
		op    string
		input func(i int) string
	}{
		{"get-by-id", func(i int) string { return `{"id":"` + scattered(i) + `"}` }},
		{"collection", func(i int) string {
			return fmt.Sprintf(`{"filter":{"completed":true,"views":{"$gte":%d}},"pageSize":20,"count":false}`, i%100)
		}},
		{"create", fresh},
		{"upsert", func(i int) string {
			return `{"model":{"id":"todo-` + strconv.Itoa(i*7919%(2*rows)) + `","title":"Stored again","views":1}}`
		}},
		{"patch", func(i int) string { return fmt.Sprintf(`{"id":%q,"changes":{"views":%d}}`, scattered(i), i) }},
	} {
		b.Run(c.op, func(b *testing.B) {
			bare, _ := filledWith(b, todosWithoutCode())
			compiled, _ := filled(b)
			inScript(b, bare, c.op, func(ours func(string)) {
				inScript(b, compiled, c.op, func(theirs func(string)) {
					compare(b, func(i int) { ours(c.input(i)) }, func(i int) { theirs(c.input(i)) })
				})
			})
		})
	}
}

// BenchmarkManyWithoutCode is the same for 1,000 new rows in one call.
func BenchmarkManyWithoutCode(b *testing.B) {
	models := make([]map[string]any, 1000)
	for n := range models {
		models[n] = map[string]any{"title": "One of many", "priority": "low", "views": n}
	}
	input := string(encode(b, map[string]any{"models": models}))
	bare, compiled := start(b, todosWithoutCode()), start(b, ent.Entities())
	store := func(a *app) func(int) {
		return func(int) {
			_, _, err := a.try("Todo.upsert-many", input)
			require.NoError(b, err)
		}
	}
	compare(b, store(bare), store(compiled))
}
