package codemode

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/tests/fixture"
)

// A script that uses names of other libraries gets a fault that says how things are
// called here, in the failure itself.
func TestFailuresTeach(t *testing.T) {
	t.Parallel()
	k := koantest.New(t, fixture.App())
	for name, tt := range map[string]struct {
		code  string
		fault fault.Code
		hint  string
	}{
		"option":            {"SDK.Entities.Todo.collection({where: {}})", fault.InvalidPayload, "there is no option `where`; did you mean \"filter\"? There are: filter, q, sort,"},
		"option below":      {"SDK.Entities.Todo.collection({\n  filter: {},\n  orderBy: 'title',\n})", fault.InvalidPayload, `did you mean "sort"?`},
		"operator":          {"SDK.Entities.Todo.count({title: {$regex: 'x'}})", fault.InvalidPayload, "there is no filter operator `$regex`. There are: $eq, $ne"},
		"filter in a count": {"SDK.Entities.Todo.count({filter: {}})", fault.InvalidPayload, "Todo has no field `filter`. There are: id, title"},
		"several":           {"SDK.Entities.Todo.collection({limit: 3, select: 'id'})", fault.InvalidPayload, `did you mean "pageSize"?`},
		"page as an array":  {"SDK.Entities.Todo.collection().map(t => t.id)", fault.JavaScriptError, "in its `items`"},
		"made while it ran": {"SDK.Entities.Todo.collection({['wh' + 'ere']: {}})", fault.InvalidPayload, "Call it as collection({filter, q, sort,"},
		"another call":      {"try { SDK.Entities.Todo.count({titel: 1}) } catch {} SDK.Entities.Todo.collection({['wh' + 'ere']: {}})", fault.InvalidPayload, "Call it as collection({filter,"},
		"wrong value":       {"SDK.Entities.Todo.upsert({title: 1})", fault.InvalidPayload, "Call it as upsert(model, {replace, ifVersion, set})."},
	} {
		t.Run(name, func(t *testing.T) {
			r := k.Try(tt.code, koantest.Input{})
			require.False(t, r.Success)
			require.Equal(t, tt.fault, r.Error.Code, r.Error.Message)
			require.Contains(t, r.Error.Hint, tt.hint)
		})
	}
}
