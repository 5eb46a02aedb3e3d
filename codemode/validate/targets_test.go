package validate_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/codemode/validate"
	"github.com/koan-go/koan/codemode/wire"
)

func related() wire.Bindings {
	return wire.Bindings{Entities: []wire.Entity{
		{
			Name: "Recipe", Ops: all, Fields: []string{"id", "name", "meta"}, Edges: []string{"steps", "hidden"},
			Targets: map[string]string{"steps": "Step", "hidden": "Secret"}, Sets: []string{"default"},
		},
		{
			Name: "Step", Ops: all, Fields: []string{"id", "text"}, Edges: []string{"recipe"},
			Targets: map[string]string{"recipe": "Recipe"},
		},
	}}
}

func TestRelatedEntities(t *testing.T) {
	const r = "SDK.Entities.Recipe."
	for src, code := range map[string]string{
		r + "count('badset')":                                                  validate.UnknownSet,
		r + "all({with: 'steps.bad'})":                                         validate.UnknownRelationship,
		r + "all({with: 'steps.recipe.bad'})":                                  validate.UnknownRelationship,
		r + "all({with: {steps: {with: 'bad'}}})":                              validate.UnknownRelationship,
		r + "all({with: {steps: {fields: ['bad']}}})":                          validate.UnknownField,
		r + "all({with: {steps: {filter: {bad: 1}}}})":                         validate.UnknownField,
		r + "all({filter: {steps: {$some: {bad: 1}}}})":                        validate.UnknownField,
		r + "all({filter: {steps: {$none: {recipe: {nme: 1}}}}})":              validate.UnknownField,
		r + "all({filter: {'steps.bad': 1}})":                                  validate.UnknownField,
		r + "all({filter: {steps: {$sme: {}}}})":                               validate.UnknownOperator,
		"SDK.Entities.Step.all({filter: {recipe: {bad: 1}}})":                  validate.UnknownField,
		"SDK.Entities.Step.all({sort: 'recipe.bad'})":                          validate.UnknownField,
		"SDK.Servers.github.create_issue({})":                                  validate.UnknownDomain,
		"const s = SDK.Servers":                                                validate.UnknownDomain,
		r + "count('default')":                                                 "",
		r + "count('default' + '')":                                            "",
		r + "count({name: 'a'}, 'default')":                                    "",
		r + "all({with: 'steps.recipe.steps,hidden.anything'})":                "",
		r + "all({with: {steps: {limit: 3, sort: '-text', with: 'recipe'}}})":  "",
		r + "all({with: {steps: true, hidden: {fields: ['x']}}})":              "",
		r + "all({filter: {steps: {$some: {text: {$contains: 'a'}}}}})":        "",
		r + "all({filter: {steps: {$every: {$or: [{text: 'a'}]}}}})":           "",
		r + "all({filter: {steps: {$exists: true}, hidden: {$some: {x: 1}}}})": "",
		r + "all({filter: {'meta.a.b': 1, 'hidden.x': 1, 'steps.text': 'a'}})": "",
		"SDK.Entities.Step.all({filter: {recipe: null}})":                      "",
		"SDK.Entities.Step.all({filter: {recipe: {$null: true, name: 'x'}}})":  "",
		"typeof SDK.Servers":                                                   "",
		"SDK.Servers?.github":                                                  "",
	} {
		found := validate.Check(src, related())
		if code == "" {
			require.Empty(t, found, src)
			continue
		}
		require.Len(t, found, 1, src)
		require.Equal(t, code, found[0].Code, src)
	}
}
