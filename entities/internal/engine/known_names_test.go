package engine_test

import (
	"context"
	"fmt"
	"regexp"
	"testing"

	stdent "entgo.io/ent"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exposure"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/framework/run/store"
	"github.com/koan-go/koan/tests/fixture/ent"
	specimen "github.com/koan-go/koan/tests/specimen/ent"
)

// hide puts an entity behind a scope.
func hide(e *descriptor.Entity) { e.ReadScopes = []string{"hidden:read"} }

// Whatever goes wrong, an entity that its caller does not know of is not named, nor is
// an edge to it.
func TestFaultsNameOnlyWhatTheirCallerKnows(t *testing.T) {
	t.Parallel()
	if forEach(t, TestFaultsNameOnlyWhatTheirCallerKnows) {
		return
	}
	app := with(with(ent.Entities(ent.OnClient(func(c *ent.Client) {
		c.Label.Use(func(next stdent.Mutator) stdent.Mutator { // an app that keeps somebody for each label
			return stdent.MutateFunc(func(ctx context.Context, m stdent.Mutation) (stdent.Value, error) {
				name, _ := m.Field("name")
				if err := ent.FromContext(ctx).Person.Create().SetName("x").SetEmail(fmt.Sprint(name)).Exec(ctx); err != nil {
					return nil, err
				}
				return next.Mutate(ctx, m)
			})
		})
	})), "Person", hide), "AuditLog", hide)
	a := start(t, app).seenBy(exposure.Full, catalog.ScopeWrite)
	known := a.seenBy(exposure.Full, catalog.ScopeWrite, "hidden:read")
	known.call("Person.upsert", `{"model":{"id":"p","name":"Ann","email":"taken"}}`)
	a.call("Todo.upsert", `{"model":{"id":"t","title":"x","assignedUserId":"p"}}`)
	names := regexp.MustCompile(`(?i)person|people|audit|assignedUser\b|email`)
	for _, c := range []struct {
		op, input string
		code      fault.Code
	}{
		{"Todo.patch", `{"id":"t","changes":{"assignedUserId":"nobody"}}`, fault.InvalidPayload},
		{"Todo.upsert", `{"model":{"title":"y","assignedUserId":"nobody"}}`, fault.InvalidPayload},
		{"Todo.upsert-many", `{"models":[{"title":"y","assignedUserId":"nobody"}]}`, fault.InvalidPayload},
		{"Todo.patch", `{"id":"t","changes":{"asignedUser":"p"}}`, fault.InvalidPayload},
		{"Todo.collection", `{"with":"asignedUser"}`, fault.InvalidPayload},
		{"Todo.count", `{"filter":{"asignedUser":{}}}`, fault.InvalidPayload},
		{"Todo.aggregate", `{"groupBy":"asignedUser"}`, fault.InvalidPayload},
		{"Todo.get-by-id", `{"id":"t","fields":"asignedUser.id"}`, fault.InvalidPayload},
		{"Label.upsert", `{"model":{"name":"taken"}}`, fault.Conflict},
		{"Label.upsert-many", `{"models":[{"name":"taken"}]}`, fault.Conflict},
	} {
		for _, call := range []func(op, input string) error{
			func(op, input string) error { _, err := a.tool(op, input); return err },
			func(op, input string) error { _, err := a.scripted(atomic, op, input); return err },
		} {
			err := call(c.op, c.input)
			require.Equal(t, c.code, fault.CodeOf(err), "%s %v", c.input, err)
			f := fault.From(err)
			said := fmt.Sprint(f.Message, f.Hint, f.Path, f.Details)
			require.Empty(t, names.FindAllString(regexp.MustCompile(`assignedUserId|"?asignedUser"?`).ReplaceAllString(said, ""), -1), "%s: %s", c.input, said)
		}
	}
	f := fault.From(func() error { _, err := known.tool("Label.upsert", `{"model":{"name":"taken"}}`); return err }())
	require.Contains(t, f.Message, "another Person already has this email", "others are told")

	scripts := a.withCodeMode()
	types := scripts.declarations("")
	for _, op := range append(a.view.Tools(), a.view.Script()...) {
		types += op.Summary + string(op.Input) + string(op.Output) + string(op.Example)
	}
	types += scripts.names()
	require.Empty(t, names.FindAllString(types, -1))
	require.NotEmpty(t, names.FindAllString(known.withCodeMode().declarations(""), -1))
	for _, query := range []string{"person", "audit", "somebody who does things", ""} {
		for _, hit := range a.view.Search(query, 100) {
			require.Empty(t, names.FindAllString(hit.ID(), -1))
		}
	}
}

// What keeps an entity from being deleted is named to those who know of it.
func TestWhatRefersToAnEntityIsNamedToThoseWhoKnow(t *testing.T) {
	t.Parallel()
	if forEach(t, TestWhatRefersToAnEntityIsNamedToThoseWhoKnow) {
		return
	}
	a := start(t, with(specimen.Entities(), "Visit", hide)).seenBy(exposure.Full, catalog.ScopeWrite)
	known := a.seenBy(exposure.Full, catalog.ScopeWrite, "hidden:read")
	cabinet := known.call("Cabinet.upsert", `{"model":{"name":"c"}}`)["id"].(string)
	known.call("Visitor.upsert", `{"model":{"name":"v"}}`)
	known.call("Visit.upsert", `{"model":{"reason":"r","visitorId":"1","cabinetId":"`+cabinet+`"}}`)
	require.Equal(t, "the Visitor is still referenced by entities that you may not read", a.fails(fault.Conflict, "Visitor.delete", `{"id":1}`).Message)
	require.Equal(t, "the Visitor is still referenced by a Visit", known.fails(fault.Conflict, "Visitor.delete", `{"id":1}`).Message)
}

// Who does not see the other end of an edge that a new entity needs cannot make one, and
// does not hear what it is.
func TestNewEntitiesNeedNoNamesOfHiddenEdges(t *testing.T) {
	t.Parallel()
	if forEach(t, TestNewEntitiesNeedNoNamesOfHiddenEdges) {
		return
	}
	a := start(t, with(ent.Entities(), "Todo", hide)).seenBy(exposure.Full, catalog.ScopeWrite)
	for _, c := range [][2]string{{"Step.upsert", `{"model":{"text":"a"}}`}, {"Step.upsert-many", `{"models":[{"text":"a"}]}`}} {
		f := a.fails(fault.InvalidPayload, c[0], c[1])
		require.Equal(t, "a new Step requires a relationship that you may not see", f.Message)
		require.NotContains(t, fmt.Sprint(f.Hint, f.Details, f.Path), "odo")
	}
}

// A row of an entity that its caller does not know of is counted, and its entity is not
// named, whichever way the run is looked at.
func TestChangesOfUnknownEntitiesAreCounted(t *testing.T) {
	t.Parallel()
	if forEach(t, TestChangesOfUnknownEntitiesAreCounted) {
		return
	}
	app := with(ent.Entities(ent.OnClient(func(c *ent.Client) {
		c.Todo.Use(func(next stdent.Mutator) stdent.Mutator {
			return stdent.MutateFunc(func(ctx context.Context, m stdent.Mutation) (stdent.Value, error) {
				if err := ent.FromContext(ctx).AuditLog.Create().SetMessage("done").Exec(ctx); err != nil {
					return nil, err
				}
				return next.Mutate(ctx, m)
			})
		})
	})), "AuditLog", hide)
	a := start(t, app).seenBy(exposure.Full, catalog.ScopeWrite)
	for _, spec := range []run.Spec{{DryRun: true}, {Atomic: true}, {Atomic: true, Only: []string{"Todo"}}} {
		out := a.calls(spec, [2]string{"Todo.upsert", `{"model":{"title":"x"}}`})
		require.Equal(t, []store.ChangeCount{{Entity: "Todo", Set: "default", Created: 1}, {Set: "default", Created: 1}}, store.Counts(store.Disclosed(out.Changes)))
		known := a.seenBy(exposure.Full, catalog.ScopeWrite, "hidden:read")
		out = known.calls(spec, [2]string{"Todo.upsert", `{"model":{"title":"x"}}`})
		require.Equal(t, "AuditLog", store.Counts(store.Disclosed(out.Changes))[1].Entity)
	}
}
