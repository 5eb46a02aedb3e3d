package validate_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/codemode/internal/wire"
)

func related() wire.Bindings {
	return wire.Bindings{Entities: []wire.Entity{
		{
			Name: "Recipe", Ops: all, Fields: []string{"id", "name", "meta", "done", "rating", "tags", "pin"}, Kinds: "otjeolh", Edges: []string{"steps", "hidden"},
			Targets: map[string]string{"steps": "Step", "hidden": "Secret"}, Many: []string{"steps", "hidden"}, Sets: []string{"default"},
		},
		{
			Name: "Step", Ops: all, Fields: []string{"id", "text"}, Kinds: "ot", Edges: []string{"recipe"},
			Targets: map[string]string{"recipe": "Recipe"},
		},
		{Name: "Plain", Ops: all, Fields: []string{"id"}, Kinds: "o", Versioned: true, Searchable: true},
	}}
}

// An operator that a relationship does not take is said to exist, with the condition that may be meant.
func TestOperatorsOfRelationships(t *testing.T) {
	for src, want := range map[string]string{
		"Recipe.count({steps: {$in: ['1']}})":      "`$in` does not apply to `steps`, a relationship to many. Write {steps: {$some: {id: {$in: ...}}}}.",
		"Recipe.count({steps: {$lt: 1}})":          "`$lt` does not apply to `steps`, a relationship to many. Write {steps: {$some: {field: {$lt: ...}}}}.",
		"Recipe.count({steps: {$or: []}})":         "`$or` does not apply to `steps`, a relationship to many. Write {steps: {$some: {$or: ...}}}.",
		"Recipe.count({steps: {$null: true}})":     "`$null` does not apply to `steps`, a relationship to many. {steps: {$exists: false}} is true where there is none.",
		"Recipe.count({steps: {$size: 1}})":        "`$size` does not apply to `steps`, a relationship to many. There are: $some, $every, $none, $exists.",
		"Recipe.count({steps: {$foo: 1}})":         "there is no filter operator `$foo`. There are: $some, $every, $none, $exists.",
		"Step.count({recipe: {$in: ['1']}})":       "`$in` does not apply to `recipe`, a relationship to one. Write {recipe: {id: {$in: ...}}}.",
		"Step.count({recipe: {$contains: 'x'}})":   "`$contains` does not apply to `recipe`, a relationship to one. Write {recipe: {field: {$contains: ...}}}.",
		"Step.count({recipe: {$null: true}})":      "`$null` does not apply to `recipe`, a relationship to one. {recipe: {$exists: false}} is true where there is none.",
		"Step.count({recipe: {$some: {id: '1'}}})": "`$some` is for relationships to many; `recipe` is to one. Write {recipe: {field: ...}}.",
	} {
		d := check(t, "SDK.Entities."+src, related())
		require.Len(t, d, 1, src)
		require.Equal(t, want, d[0].Message+". "+d[0].Hint, src)
	}
}

func TestRelatedEntities(t *testing.T) {
	const r = "SDK.Entities.Recipe."
	for src, code := range map[string]string{
		r + "count('badset')":                                                                    wire.DiagnosticUnknownSet,
		r + "all({with: 'steps.bad'})":                                                           wire.DiagnosticUnknownRelationship,
		r + "all({with: 'steps.recipe.bad'})":                                                    wire.DiagnosticUnknownRelationship,
		r + "all({with: {steps: {with: 'bad'}}})":                                                wire.DiagnosticUnknownRelationship,
		r + "all({with: {steps: {fields: ['bad']}}})":                                            wire.DiagnosticUnknownField,
		r + "all({with: {steps: {filter: {bad: 1}}}})":                                           wire.DiagnosticUnknownField,
		r + "all({filter: {steps: {$some: {bad: 1}}}})":                                          wire.DiagnosticUnknownField,
		r + "all({filter: {steps: {$none: {recipe: {nme: 1}}}}})":                                wire.DiagnosticUnknownField,
		r + "all({filter: {'steps.text': 1}})":                                                   wire.DiagnosticUnknownField,
		r + "all({filter: {'meta.a.b': 1}})":                                                     wire.DiagnosticUnknownField,
		r + "all({filter: {pin: 1}})":                                                            wire.DiagnosticUnknownField,
		r + "all({sort: 'pin'})":                                                                 wire.DiagnosticUnknownField,
		r + "all({sort: '+name'})":                                                               wire.DiagnosticUnknownField,
		r + "all({fields: 'pin'})":                                                               wire.DiagnosticUnknownField,
		r + "all({filter: {$eq: 1}})":                                                            wire.DiagnosticUnknownOperator,
		r + "all({filter: {$some: {}}})":                                                         wire.DiagnosticUnknownOperator,
		r + "all({filter: {done: {$gt: 1}}})":                                                    wire.DiagnosticUnknownOperator,
		r + "all({filter: {rating: {$contains: '1'}}})":                                          wire.DiagnosticUnknownOperator,
		r + "all({filter: {rating: {gt: 1}}})":                                                   wire.DiagnosticUnknownOperator,
		r + "all({filter: {name: {startsWith: 'a'}}})":                                           wire.DiagnosticUnknownOperator,
		r + "all({filter: {name: {$has: 'x'}}})":                                                 wire.DiagnosticUnknownOperator,
		r + "all({filter: {name: {$not: {$contains: 'x'}}}})":                                    wire.DiagnosticUnknownOperator,
		r + "all({filter: {meta: {$has: 'x'}}})":                                                 wire.DiagnosticUnknownOperator,
		r + "all({filter: {meta: {colour: 'x'}}})":                                               wire.DiagnosticUnknownOperator,
		r + "all({filter: {tags: {$contains: 'x'}}})":                                            wire.DiagnosticUnknownOperator,
		r + "all({filter: {steps: {text: 'a'}}})":                                                wire.DiagnosticUnknownOperator,
		r + "all({filter: {steps: {$has: 'a'}}})":                                                wire.DiagnosticUnknownOperator,
		r + "all({q: 'x'})":                                                                      wire.DiagnosticUnknownOption,
		r + "patch('1', {}, {ifVersion: 1})":                                                     wire.DiagnosticUnknownOption,
		"SDK.Entities.Plain.all({with: 'all'})":                                                  wire.DiagnosticUnknownRelationship,
		"SDK.Entities.Plain.all({q: 'x'}); SDK.Entities.Plain.delete('1', {ifVersion: 2})":       "",
		r + "all({where: {}})":                                                                   wire.DiagnosticUnknownOption,
		r + "getById('1', {filter: {}})":                                                         wire.DiagnosticUnknownOption,
		r + "upsert({}, {ifversion: 1})":                                                         wire.DiagnosticUnknownOption,
		r + "aggregate({group: 'name'})":                                                         wire.DiagnosticUnknownOption,
		r + "all({with: {steps: {pageSize: 3}}})":                                                wire.DiagnosticUnknownOption,
		"SDK.Entities.Step.all({filter: {recipe: {$some: {name: 'x'}}}})":                        wire.DiagnosticUnknownOperator,
		"SDK.Entities.Step.all({filter: {recipe: {$null: true}}})":                               wire.DiagnosticUnknownOperator,
		"SDK.Entities.Step.all({sort: ['-recipe.name', {field: 'recipe.name', nulls: 'last'}]})": "",
		"SDK.Entities.Step.all({sort: 'recipe'})":                                                wire.DiagnosticUnknownField,
		"SDK.Entities.Step.all({sort: {field: 'recipe.nmae'}})":                                  wire.DiagnosticUnknownField,
		"SDK.Entities.Step.all({sort: [{field: 'recipe.name', nullz: 'last'}]})":                 wire.DiagnosticUnknownOption,
		"SDK.Entities.Step.all({sort: 'recipe.steps.text'})":                                     wire.DiagnosticUnknownField,
		r + "all({filter: {steps: {$sme: {}}}})":                                                 wire.DiagnosticUnknownOperator,
		"SDK.Entities.Step.all({filter: {recipe: {bad: 1}}})":                                    wire.DiagnosticUnknownField,
		"SDK.Entities.Step.all({sort: 'recipe.bad'})":                                            wire.DiagnosticUnknownField,
		"SDK.Servers.github.create_issue({})":                                                    wire.DiagnosticUnknownDomain,
		"const s = SDK.Servers":                                                                  wire.DiagnosticUnknownDomain,
		r + "count('default')":                                                                   "",
		r + "count('default' + '')":                                                              "",
		r + "count({name: 'a'}, 'default')":                                                      "",
		r + "all({with: 'steps.recipe.steps,hidden.anything'})":                                  "",
		r + "all({with: {steps: {limit: 3, sort: '-text', with: 'recipe'}}})":                    "",
		r + "all({with: {steps: true, hidden: {fields: ['x']}}})":                                "",
		r + "all({filter: {steps: {$some: {text: {$contains: 'a'}}}}})":                          "",
		r + "all({filter: {steps: {$every: {$or: [{text: 'a'}]}}}})":                             "",
		r + "all({filter: {steps: {$exists: true}, hidden: {$some: {x: 1}}}})":                   "",
		r + "all({filter: {meta: {$path: {'a.b': {$gt: 1}}, $null: false}}})":                    "",
		r + "all({filter: {tags: {$has: 'a', $all: [], $size: 1, $eq: null}}})":                  "",
		r + "all({filter: {rating: {$between: [1, 2]}, done: {$ne: true}}})":                     "",
		r + "all({filter: {$nor: [{name: 'x'}], $search: 'y', $not: {}}})":                       "",
		r + "upsert({pin: 'x', steps: ['1']})":                                                   "",
		"SDK.Entities.Step.all({filter: {recipe: null}})":                                        "",
		"SDK.Entities.Step.all({filter: {recipe: {$exists: true, name: 'x'}}})":                  "",
		"SDK.Entities.Step.all({filter: {recipe: {$or: [{name: 'x'}]}}})":                        "",
		"typeof SDK.Servers":                                                                     "",
		"SDK.Servers?.github":                                                                    "",
	} {
		found := check(t, src, related())
		if code == "" {
			require.Empty(t, found, src)
			continue
		}
		require.Len(t, found, 1, src)
		require.Equal(t, code, found[0].Code, src)
	}
}

func TestHintsOfWhatWasMeant(t *testing.T) {
	for src, hint := range map[string]string{
		"SDK.Entities.Recipe.count({filter: {name: 'a'}})":         "write the fields without `filter` around them, such as {name: ...}",
		"SDK.Entities.Recipe.deleteByQuery({where: {name: 'a'}})":  "without `where`",
		"SDK.Entities.Recipe.all({filter: {filter: {name: 'a'}}})": "without `filter`",
		"SDK.Entities.Recipe.new({name: 'a'})":                     "Store one with SDK.Entities.Recipe.upsert({name: ...}).",
	} {
		found := check(t, src, related())
		require.Len(t, found, 1, src)
		require.Contains(t, found[0].Hint, hint, src)
	}
}
