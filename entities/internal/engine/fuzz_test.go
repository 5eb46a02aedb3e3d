package engine_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exposure"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/tests/fixture/ent"
	"github.com/koan-go/koan/tests/pgtest"
)

// writing are the operations that take a caller's values.
var writing = []string{"Todo.upsert", "Todo.patch", "Todo.upsert-many", "Todo.update-by-query", "Todo.delete-many", "Step.upsert", "Label.upsert", "Person.upsert", "Person.patch"}

// FuzzWritesSQLite writes whatever comes: every call succeeds or ends in a fault of
// the caller's, and the database is never asked what it does not understand.
func FuzzWritesSQLite(f *testing.F) { fuzzWrites(f, "sqlite://"+f.TempDir()) }

// FuzzWritesPostgreSQL is the same on PostgreSQL.
func FuzzWritesPostgreSQL(f *testing.F) { fuzzWrites(f, pgtest.Place(f)) }

func fuzzWrites(f *testing.F, place string) {
	a := startIn(f, place, ent.Entities())
	a.call("Todo.upsert", `{"model":{"id":"t","title":"x"}}`)
	a.call("Label.upsert", `{"model":{"name":"a"}}`)
	for _, s := range []string{
		"plain", "'; DROP TABLE todos; --", `" OR ""="`, `\`, "%_", "$1", "?", ":name", "@x", "{}", "\u0000", "\ufffd", "\u202e", "🎉", "é", strings.Repeat("x", 300),
		"\xff\xfe", "9223372036854775808", "1e400", "NaN", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999999+14:00", "-1", "null", "true",
	} {
		raw, _ := json.Marshal(s)
		value := string(raw)
		for op, input := range map[byte]string{
			0: `{"model":{"id":` + value + `,"title":` + value + `,"notes":` + value + `,"tags":[` + value + `]}}`,
			1: `{"id":"t","changes":{"title":` + value + `,"secret":` + value + `,"dueDate":` + value + `,"views":` + value + `,"effort":` + value + `}}`,
			2: `{"models":[{"id":` + value + `,"title":"a","assignedUserId":` + value + `},{"title":` + value + `,"labels":[` + value + `]}]}`,
			3: `{"filter":{"title":` + value + `},"changes":{"notes":` + value + `}}`,
			4: `{"ids":[` + value + `]}`,
			5: `{"model":{"text":` + value + `,"todo":` + value + `}}`,
			6: `{"model":{"id":` + value + `,"name":` + value + `}}`,
			7: `{"model":{"name":` + value + `,"email":` + value + `,"todos":{"$add":["t",` + value + `]}}}`,
		} {
			f.Add(op, []byte(input))
		}
	}
	f.Add(byte(1), []byte(`{"id":"t","changes":{"views":1e400,"effort":1e308,"dueDate":"2026-02-30T00:00:00Z","priority":"","labels":{"$set":[1,1,"1"]}}}`))
	f.Add(byte(1), []byte(`{"id":"t","changes":{"views":-9223372036854775808,"effort":-0.0,"tags":[[]],"labels":null}}`))
	ways := []func(op string, input []byte) (failed, err error){a.writer(run.Spec{Atomic: true}), a.writer(run.Spec{DryRun: true})}
	f.Fuzz(func(t *testing.T, op byte, input []byte) {
		name := writing[int(op)%len(writing)]
		for _, write := range ways {
			failed, err := write(name, input)
			if err != nil {
				t.Fatalf("%s %q: %v", name, input, err)
			}
			switch fault.CodeOf(failed) {
			case "", fault.InvalidPayload, fault.Conflict, fault.NotFound, fault.UnknownSet:
			default:
				t.Fatalf("%s %q: %v (%v)", name, input, failed, fault.From(failed).Unwrap())
			}
		}
	})
}

// writer makes one call after the other, each in a run of its own, with one
// catalog for all of them.
func (a *app) writer(spec run.Spec) func(op string, input []byte) (failed, err error) {
	var entity, verb string
	var in []byte
	var failed error
	op := body(spec, func(ctx context.Context, r *run.Attempt) error {
		_, failed = r.Invoke(ctx, r.Next(), catalog.EntityID(entity, verb), in)
		if run.Ends(failed) {
			return failed
		}
		return nil
	})
	s, err := catalog.NewSnapshot(a.provider.Offer(), catalog.Offer{Operations: []*catalog.Operation{op}})
	require.NoError(a, err)
	view := s.View(a.as, exposure.Full, false)
	return func(name string, input []byte) (error, error) {
		entity, verb, _ = strings.Cut(name, ".")
		in = input
		_, _, err := a.engine.Invoke(context.Background(), run.Request{View: view, Principal: a.as, ID: op.ID, Surface: "app"})
		return failed, err
	}
}
