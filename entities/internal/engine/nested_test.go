package engine_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/tests/fixture/ent"
)

// A relationship takes ids; who wrote new entities into it learns the call that creates them.
func TestRelationshipSaysHowItsEntitiesAreCreated(t *testing.T) {
	t.Parallel()
	if forEach(t, TestRelationshipSaysHowItsEntitiesAreCreated) {
		return
	}
	const lines = `steps creates no Step: store the Todo first, then call SDK.Entities.Step.upsertMany([{..., todo: id}]) with its id; in one script that is one transaction`
	a := start(t, ent.Entities())
	for input, want := range map[string][2]string{
		`{"model":{"title":"t","steps":[{"text":"one"},{"text":"two"}]}}`:    {"/model/steps/1", lines},
		`{"model":{"title":"t","steps":{"$add":[{"text":"one"}]}}}`:          {"/model/steps/$add/0", lines},
		`{"model":{"title":"t","steps":{"create":[{"text":"one"}]}}}`:        {"/model/steps/create", lines},
		`{"model":{"title":"t","steps":{"$create":{"text":"one"}}}}`:         {"/model/steps/$create", lines},
		`{"model":{"title":"t","assignedUser":{"name":"Ann"}}}`:              {"/model/assignedUser", "assignedUser creates no Person: call SDK.Entities.Person.upsert({...}) first, and put its id here"},
		`{"model":{"title":"t","labels":[{"name":"urgent"}]}}`:               {"/model/labels/0", "labels creates no Label: call SDK.Entities.Label.upsert({...}) first, and put its id here"},
		`{"model":{"title":"t","assignedUser":{"connect":{"id":"nobody"}}}}`: {"/model/assignedUser", "want an id, or an object with id"},
	} {
		f := a.fails(fault.InvalidPayload, "Todo.upsert", input)
		says(t, f, want[0])
		says(t, f, want[1])
	}
	says(t, a.fails(fault.InvalidPayload, "Step.upsert", `{"model":{"text":"x","todo":{"title":"t"}}}`), "todo creates no Todo: call SDK.Entities.Todo.upsert({...}) first")
	require.EqualValues(t, 0, a.call("Todo.count", `{}`)["count"])

	// What it says works, as one transaction.
	_, err := a.script(run.Spec{Atomic: true}, func(call func(op, input string) (map[string]any, error)) error {
		todo, err := call("Todo.upsert", `{"model":{"title":"t"}}`)
		if err != nil {
			return err
		}
		_, err = call("Step.upsert-many", `{"models":[{"text":"one","todo":"`+todo["id"].(string)+`"},{"text":"two","todo":"`+todo["id"].(string)+`"}]}`)
		return err
	})
	require.NoError(t, err)
	require.Len(t, a.call("Todo.collection", `{"with":"steps"}`)["items"].([]any)[0].(map[string]any)["steps"], 2)

	a = start(t, with(ent.Entities(), "Step", func(e *descriptor.Entity) { e.Resource.ReadOnly = true }))
	says(t, a.fails(fault.InvalidPayload, "Todo.upsert", `{"model":{"title":"t","steps":[{"text":"one"}]}}`), "steps creates no Step: name one that exists")
}
