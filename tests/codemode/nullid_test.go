package codemode

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/tests/fixture"
)

// An id that is null is said to be that, with where it may come from.
func TestNullIDs(t *testing.T) {
	t.Parallel()
	k := koantest.New(t, fixture.App())
	for _, call := range []string{"getById(null)", "findById(null)", "patch(null, {title: 'x'})", "delete(null)", "deleteMany(['1', null])"} {
		got := k.Try("SDK.Entities.Todo."+call, koantest.Input{})
		require.False(t, got.Success, call)
		require.Equal(t, fault.InvalidPayload, got.Error.Code, call)
		text, err := json.Marshal(got.Error)
		require.NoError(t, err)
		require.Contains(t, string(text), "must be an id, not null: a relationship that is not set", call)
	}
}

// A fault with one problem says what it is about without its path: a person reads the message alone.
func TestProblemsNameTheirMember(t *testing.T) {
	t.Parallel()
	k := koantest.New(t, fixture.App())
	for call, want := range map[string]string{
		"Entities.Todo.upsert([])":                                        `"model" takes an object`,
		"Entities.Todo.upsertMany([{title: 'a'}, null])":                  `item 1 of "models" takes an object`,
		"Entities.Todo.upsertMany({})":                                    `"models" takes a list`,
		"Entities.Todo.upsert({title: 'a'}, {replace: 1})":                `"replace" takes true or false`,
		"Entities.Todo.updateByQuery({id: 'a'}, [])":                      `"changes" takes an object`,
		"Entities.Todo.updateByQuery({}, {title: 'a'}, {maxAffected: 0})": `"maxAffected" takes an integer from 1`,
		"Entities.Todo.upsert({title: 'a', labels: 5})":                   `"labels" takes a list of ids`,
		"Entities.Todo.deleteMany(['a', null])":                           `item 1 of "ids" must be an id, not null`,
		"Files.create({text: 'a', name: 5})":                              `"name" must be string, not number`,
		"Files.get({id: 5})":                                              `"id" must be`,
	} {
		got := k.Try("SDK."+call, koantest.Input{})
		require.False(t, got.Success, call)
		require.Equal(t, fault.InvalidPayload, got.Error.Code, call)
		require.Contains(t, got.Error.Message, want, call)
	}
}
