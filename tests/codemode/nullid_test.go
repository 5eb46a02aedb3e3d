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
