package codemode

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/tests/fixture"
)

// A script that uses names of other libraries gets a fault that says how things are
// called here, in the failure itself and where the script catches it.
func TestFailuresTeach(t *testing.T) {
	t.Parallel()
	k := koantest.New(t, fixture.App())
	for name, tt := range map[string]struct {
		code  string
		fault fault.Code
		hint  string
	}{
		"option":            {"SDK.Entities.Todo.collection({where: {}})", fault.InvalidPayload, "There is no option `where`; did you mean \"filter\"? There are: filter, q, sort,"},
		"option below":      {"SDK.Entities.Todo.collection({\n  filter: {},\n  orderBy: 'title',\n})", fault.InvalidPayload, `did you mean "sort"?`},
		"operator":          {"SDK.Entities.Todo.count({title: {$regex: 'x'}})", fault.InvalidPayload, "There is no filter operator `$regex`. There are: $eq, $ne"},
		"two kinds":         {"SDK.Entities.Todo.count({titel: 'x', $foo: 1})", fault.InvalidPayload, "There is no filter operator `$foo`. There are: $and, $or, $nor, $not, $search."},
		"filter in a count": {"SDK.Entities.Todo.count({filter: {}})", fault.InvalidPayload, "write the fields without `filter` around them, such as {title: ...}"},
		"several":           {"SDK.Entities.Todo.collection({limit: 3, select: 'id'})", fault.InvalidPayload, `did you mean "pageSize"?`},
		"page as an array":  {"SDK.Entities.Todo.collection().map(t => t.id)", fault.JavaScriptError, "in its `items`"},
		"made while it ran": {"SDK.Entities.Todo.collection({['wh' + 'ere']: {}})", fault.InvalidPayload, "Call it as collection({filter, q, sort,"},
		"another call":      {"try { SDK.Entities.Todo.count({titel: 1}) } catch {} SDK.Entities.Todo.collection({['wh' + 'ere']: {}})", fault.InvalidPayload, "Call it as collection({filter,"},
		"wrong type":        {"SDK.Entities.Todo.upsert({title: 1})", fault.InvalidPayload, "Correct the value at /model/title; the declaration of Todo says what its fields take."},
		"enum value":        {"SDK.Entities.Todo.upsert({title: 'x', priority: ['urg' + 'ent'][0]})", fault.InvalidPayload, "Expected: one of low, medium, high."},
		"page too long":     {"SDK.Entities.Todo.collection({pageSize: 201})", fault.InvalidPayload, "each goes through all pages by itself"},
		"page":              {"SDK.Entities.Todo.collection({page: -1})", fault.InvalidPayload, "Correct the value of page."},
		"no argument":       {"SDK.Entities.Todo.upsert()", fault.InvalidPayload, "Call it as upsert(model, {replace, ifVersion, set})."},
		"path":              {"SDK.Entities.Todo.count({'assignedUser.name': 'x'})", fault.InvalidPayload, "Write {assignedUser: {name: ...}}."},
		"member of JSON":    {"SDK.Entities.Todo.count({tags: {a: 1}})", fault.InvalidPayload, "Write {tags: {$path: {a: ...}}}."},
		"path into JSON":    {"SDK.Entities.Todo.count({'tags.a': 1})", fault.InvalidPayload, "Write {tags: {$path: {a: ...}}}."},
		"id in to many":     {"SDK.Entities.Todo.count({labels: {$in: [1]}})", fault.InvalidPayload, "`$in` does not apply to `labels`, a relationship to many. Write {labels: {$some: {id: {$in: ...}}}}."},
	} {
		t.Run(name, func(t *testing.T) {
			r := k.Try(tt.code, koantest.Input{})
			require.False(t, r.Success)
			require.Equal(t, tt.fault, r.Error.Code, r.Error.Message)
			require.Contains(t, r.Error.Hint, tt.hint)

			var caught string
			k.Run("let h; try { "+tt.code+" } catch (e) { h = e.hint ?? e.message }; h", koantest.Input{}).ResultInto(&caught)
			require.Contains(t, caught, tt.hint, "caught")
		})
	}
}
