package codemode

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/tests/fixture"
)

// An object inside itself cannot be sent, wherever it stands; one that stands in several places can, however
// deeply, and so can what a toJSON makes a call of its own for.
func TestInputsThatRunInCircles(t *testing.T) {
	t.Parallel()
	k := koantest.New(t, fixture.App())
	for code, at := range map[string]string{
		`const m = {title: "x"}; m.tags = m; SDK.Entities.Todo.upsert(m)`:                                                                           "/model/tags",
		`const m = {title: "x"}, l = [m]; m.tags = [1, l]; SDK.Entities.Todo.upsert(m)`:                                                             "/model/tags/1/0",
		`const f = {}; f.$and = [{title: "x"}, {$not: f}]; SDK.Entities.Todo.count(f)`:                                                              "/filter/$and/1/$not",
		`const f = {title: "x"}; SDK.Entities.Todo.count({$and: [f, f, {$or: [f, {$not: f}]}]})`:                                                    "",
		`let f = {title: "x"}; for (let i = 0; i < 5; i++) f = {$not: f}; SDK.Entities.Todo.count({$or: [f, f]})`:                                   "",
		`const f = {title: "x", toJSON() { SDK.Entities.Todo.count({title: "y"}); return {title: "z"}; }}; SDK.Entities.Todo.count({$and: [f, f]})`: "",
	} {
		r := k.Try(code, koantest.Input{})
		if at == "" {
			require.True(t, r.Success, "%s: %v", code, r.Error)
			continue
		}
		require.Equal(t, fault.InvalidPayload, r.Error.Code, code)
		require.Equal(t, at, r.Error.Path, code)
		require.Contains(t, r.Error.Message, "an object inside itself", code)
	}
}
