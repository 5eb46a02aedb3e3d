package owncode

import (
	"encoding/json"
	"maps"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/tests/fixture/ent"
	"github.com/koan-go/koan/tests/pgtest"
)

// A change of a field that callers do not write is refused at the field, and what was read may be sent
// back.
func TestReadOnlyFieldsAreNotChangedInSilence(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestReadOnlyFieldsAreNotChangedInSilence) {
		return
	}
	for name, hooks := range map[string][]func(*shop, *ent.Client){"without hooks": nil, "with hooks": {audited}} {
		t.Run(name, func(t *testing.T) {
			s := open(t, nil, hooks...)
			raw, err := s.Call("koan::Todo.upsert", map[string]any{"model": map[string]any{"id": "1", "title": "first"}})
			require.NoError(t, err)
			var read map[string]any
			require.NoError(t, json.Unmarshal(raw, &read))
			with := func(changes map[string]any) map[string]any {
				out := maps.Clone(read)
				maps.Copy(out, changes)
				return out
			}
			old := "2001-02-03T04:05:06Z"
			for path, call := range map[string]struct {
				op    string
				input map[string]any
			}{
				"/changes/createdAt":  {"patch", map[string]any{"id": "1", "changes": map[string]any{"createdAt": old, "title": "x"}}},
				"/changes/updatedAt":  {"patch", map[string]any{"id": "1", "changes": map[string]any{"updatedAt": old}}},
				"/changes/version":    {"patch", map[string]any{"id": "1", "changes": map[string]any{"version": 7}}},
				"/model/createdAt":    {"upsert", map[string]any{"model": with(map[string]any{"createdAt": old})}},
				"/models/1/createdAt": {"upsert-many", map[string]any{"models": []any{map[string]any{"id": "2", "title": "y"}, with(map[string]any{"createdAt": old})}}},
			} {
				_, err := s.Call("koan::Todo."+call.op, call.input)
				f := fault.From(err)
				require.Equal(t, fault.InvalidPayload, f.Code, "%s: %v", path, f)
				require.Equal(t, path, f.Path)
				require.Contains(t, f.Message, "read-only")
			}
			_, err = s.Call("koan::Todo.upsert", map[string]any{"replace": true, "model": with(map[string]any{"createdAt": old})})
			require.Equal(t, "/model/createdAt", fault.From(err).Path)
			_, err = s.Call("koan::Todo.update-by-query", map[string]any{"filter": map[string]any{"id": "1"}, "all": true, "changes": map[string]any{"createdAt": old}})
			require.Equal(t, fault.InvalidPayload, fault.CodeOf(err))
			require.Contains(t, fault.From(err).Path, "createdAt")
			require.Equal(t, []string{"first"}, s.titles("default"))

			for _, call := range []struct {
				op    string
				input map[string]any
			}{
				{"patch", map[string]any{"id": "1", "changes": with(nil)}},
				{"patch", map[string]any{"id": "1", "changes": map[string]any{"createdAt": read["createdAt"], "title": "second"}}},
				// What moves with each write may be older than what is stored.
				{"upsert", map[string]any{"model": with(map[string]any{"title": "third"})}},
				{"upsert-many", map[string]any{"models": []any{with(map[string]any{"title": "fourth"})}}},
				{"upsert", map[string]any{"replace": true, "model": with(map[string]any{"title": "last"})}},
			} {
				_, err := s.Call("koan::Todo."+call.op, call.input)
				require.NoError(t, err, "%s %v", call.op, call.input)
			}
			require.Equal(t, []string{"last"}, s.titles("default"))
		})
	}
}
