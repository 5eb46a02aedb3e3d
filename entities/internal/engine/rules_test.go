package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	stdent "entgo.io/ent"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/entities"
	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exposure"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/framework/run/store"
	"github.com/koan-go/koan/tests/office/ent"
	"github.com/koan-go/koan/tests/office/ent/intercept"
	"github.com/koan-go/koan/tests/office/ent/person"
	_ "github.com/koan-go/koan/tests/office/ent/runtime"
	"github.com/koan-go/koan/tests/office/viewer"
)

// office is the fixture with rules, served to several people at once: ann and bob
// of two tenants, an admin, and somebody of no tenant.
type office struct {
	*app
	people map[string]*app
}

// whoLeft hides people who have left, as an app would at run time.
var whoLeft = ent.OnClient(func(c *ent.Client) {
	c.Person.Intercept(intercept.TraversePerson(func(ctx context.Context, q *ent.PersonQuery) error {
		if v, _ := viewer.From(ctx); !v.Admin {
			q.Where(person.Left(false))
		}
		return nil
	}))
})

func openOffice(t *testing.T, more ...ent.EntitiesOption) *office {
	t.Helper()
	return openOfficeOn(t, host{place(t)}, nil, more...)
}

// openOfficeOn opens it on a host; joined, if it is there, has others join the engine.
func openOfficeOn(t *testing.T, on catalog.Host, joined func(*entities.Provider, *run.Engine), more ...ent.EntitiesOption) *office {
	t.Helper()
	p := entities.Provide(ent.Entities(append(more, whoLeft)...), entities.Options{
		Viewer: func(ctx context.Context, p auth.Principal) context.Context {
			switch p.Subject {
			case "nobody":
				return ctx
			case "admin":
				return viewer.With(ctx, viewer.Viewer{Admin: true})
			case "auditor":
				return viewer.With(ctx, viewer.Viewer{Auditor: true})
			}
			return viewer.With(ctx, viewer.Viewer{Tenant: p.Subject})
		},
	})
	require.NoError(t, p.Start(context.Background(), on))
	t.Cleanup(func() { require.NoError(t, p.Stop(context.Background())) })
	s, err := catalog.NewSnapshot(p.Offer())
	require.NoError(t, err)
	engine, o := run.NewEngine(run.Options{}), &office{people: map[string]*app{}}
	if joined != nil {
		joined(p, engine)
	}
	for name, scopes := range map[string][]string{"admin": {auth.All}, "ann": {catalog.ScopeWrite}, "bob": {catalog.ScopeWrite}, "nobody": {catalog.ScopeWrite}, "auditor": {catalog.ScopeWrite}} {
		who := auth.Principal{Subject: name, Scopes: scopes, Sets: []string{auth.All}}
		o.people[name] = &app{TB: t, engine: engine, provider: p, as: who, view: s.View(who, exposure.Full, false)}
	}
	o.app = o.people["ann"]
	admin := o.people["admin"]
	admin.call("Person.upsert-many", `{"models":[
		{"name":"Ann","email":"ann@x","pay":70,"grade":"senior"},{"name":"Bob","email":"bob@x","pay":50},{"name":"Gone","email":"gone@x","left":true,"pay":90}]}`)
	admin.call("Folder.upsert-many", `{"models":[{"id":"f","name":"Plans","manager":"3"},{"id":"g","name":"Bills","manager":"1"}]}`)
	admin.call("Document.upsert-many", `{"models":[
		{"id":"a1","tenant":"ann","title":"apple pie","pages":1,"folder":"f","author":"1"},
		{"id":"a2","tenant":"ann","title":"apple tart","pages":2,"folder":"g","author":"3"},
		{"id":"a3","tenant":"ann","title":"apple gone","pages":4,"folder":"g"},
		{"id":"b1","tenant":"bob","title":"banana","pages":100,"folder":"f","author":"1","code":"TOP","related":["a1"]},
		{"id":"b2","tenant":"bob","title":"apple secret","pages":200,"folder":"f","author":"2"}]}`)
	admin.call("Document.patch", `{"id":"a1","changes":{"related":["a2","b1","b2"]}}`)
	o.call("Document.delete", `{"id":"a3"}`) // marked, so that nobody sees it
	return o
}

// reads returns what a read answers, as JSON.
func (a *app) reads(op, input string) string {
	a.Helper()
	out, _, err := a.try(op, input)
	require.NoError(a, err, "%s %s", op, input)
	return string(out)
}

func TestRulesHoldOnEveryRead(t *testing.T) {
	t.Parallel()
	if forEach(t, TestRulesHoldOnEveryRead) {
		return
	}
	o := openOffice(t)
	for _, c := range []struct{ op, input, want string }{
		{"Document.collection", `{"fields":"id"}`, `{"items":[{"id":"a1"},{"id":"a2"}],"page":1,"pageSize":50,"totalCount":2,"nextCursor":null,"truncated":false}`},
		{"Document.collection", `{"fields":"id","q":"apple","count":false}`, `{"items":[{"id":"a1"},{"id":"a2"}],"page":1,"pageSize":50,"nextCursor":null,"truncated":false}`},
		{"Document.collection", `{"fields":"id","sort":"-pages","count":false}`, `{"items":[{"id":"a2"},{"id":"a1"}],"page":1,"pageSize":50,"nextCursor":null,"truncated":false}`},
		{"Document.collection", `{"fields":"id","filter":{"$or":[{"pages":{"$gt":50}},{"id":"b1"},{"$not":{"id":"a1"}}]},"count":false}`, `{"items":[{"id":"a2"}],"page":1,"pageSize":50,"nextCursor":null,"truncated":false}`},
		{"Document.count", `{}`, `{"count":2}`},
		{"Document.count", `{"filter":{"tenant":"bob"}}`, `{"count":0}`},
		{"Document.aggregate", `{"max":"pages","sum":"pages","count":true}`, `{"rows":[{"count":2,"sumPages":3,"maxPages":2}],"truncated":false}`},
		{"Document.aggregate", `{"groupBy":"tenant"}`, `{"rows":[{"tenant":"ann","count":2}],"truncated":false}`},
		{"Document.get-by-id", `{"id":"a1","fields":"id","with":"related"}`, `{"id":"a1","related":[{"id":"a2","deletedAt":null,"tenant":"ann","title":"apple tart","pages":2,"code":null,"reviewerId":null,"version":1}]}`},
		{"Document.get-by-id", `{"id":"a1","fields":"id","with":{"related":{"limit":3,"sort":"-pages","fields":"id"}}}`, `{"id":"a1","related":[{"id":"a2"}]}`},
		{
			"Folder.collection", `{"fields":"id","with":{"documents":{"fields":"id"},"manager":{"fields":"name"}},"count":false}`,
			`{"items":[{"id":"f","documents":[{"id":"a1"}],"manager":null},{"id":"g","documents":[{"id":"a2"}],"manager":{"id":"1","name":"Ann"}}],"page":1,"pageSize":50,"nextCursor":null,"truncated":false}`,
		},
		// Edge predicates tell nothing about hidden rows.
		{"Folder.count", `{"filter":{"documents":{"$some":{"code":"TOP"}}}}`, `{"count":0}`},
		{"Folder.count", `{"filter":{"documents":{"$none":{"pages":{"$gt":50}}}}}`, `{"count":2}`},
		{"Folder.count", `{"filter":{"documents":{"$every":{"tenant":"ann"}}}}`, `{"count":2}`},
		{"Folder.count", `{"filter":{"documents":{"$some":{"title":"apple gone"}}}}`, `{"count":0}`},
		{"Folder.count", `{"filter":{"manager":{"name":"Gone"}}}`, `{"count":0}`},
		{"Folder.count", `{"filter":{"manager":null}}`, `{"count":1}`},
		{"Folder.count", `{"filter":{"manager":{"$exists":true}}}`, `{"count":1}`},
		{"Person.count", `{"filter":{"documents":{"$some":{"related":{"$some":{"tenant":"bob"}}}}}}`, `{"count":0}`},
		{"Document.count", `{"filter":{"author":{"documents":{"$some":{"id":"b1"}}}}}`, `{"count":0}`},
		// A reference that leads to a hidden row is none.
		{"Document.aggregate", `{"groupBy":"author","filter":{"id":"a2"}}`, `{"rows":[{"author":null,"count":1}],"truncated":false}`},
		{"Document.aggregate", `{"count":{"distinct":"author"},"max":"author"}`, `{"rows":[{"distinctAuthor":1,"maxAuthor":"1"}],"truncated":false}`},
	} {
		require.JSONEq(t, c.want, o.reads(c.op, c.input), "%s %s", c.op, c.input)
	}
	for _, id := range []string{"b1", "a3", "nowhere"} {
		f := o.fails(fault.NotFound, "Document.get-by-id", `{"id":"`+id+`"}`)
		require.Equal(t, `there is no Document with id "`+id+`"`, f.Message)
	}
	o.fails(fault.NotFound, "Person.get-by-id", `{"id":3}`)

	require.EqualValues(t, 4, o.people["admin"].call("Document.count", `{}`)["count"])
	require.EqualValues(t, 2, o.people["bob"].call("Document.count", `{}`)["count"])
	require.EqualValues(t, 3, o.people["admin"].call("Person.count", `{}`)["count"])
}

// A cursor goes on within what its bearer may read.
func TestCursorsGiveNoRights(t *testing.T) {
	t.Parallel()
	if forEach(t, TestCursorsGiveNoRights) {
		return
	}
	o := openOffice(t)
	page := o.people["admin"].call("Document.collection", `{"pageSize":2,"fields":"id"}`)
	require.Len(t, page["items"], 2)
	out := o.reads("Document.collection", fmt.Sprintf(`{"pageSize":2,"fields":"id","cursor":%q}`, page["nextCursor"]))
	require.NotContains(t, out, `"b1"`)
	page = o.call("Document.collection", `{"pageSize":1,"fields":"id"}`)
	page = o.call("Document.collection", fmt.Sprintf(`{"pageSize":1,"fields":"id","cursor":%q,"count":true}`, page["nextCursor"]))
	require.EqualValues(t, 2, page["totalCount"])
	require.Nil(t, page["nextCursor"])
}

func TestPoliciesThatRefuseSayWhy(t *testing.T) {
	t.Parallel()
	if forEach(t, TestPoliciesThatRefuseSayWhy) {
		return
	}
	o := openOffice(t)
	nobody := o.people["nobody"]
	for _, c := range [][2]string{
		{"Document.collection", `{}`},
		{"Document.get-by-id", `{"id":"a1"}`},
		{"Document.count", `{}`},
		{"Document.aggregate", `{}`},
		{"Folder.collection", `{"with":"documents"}`},
		{"Folder.count", `{"filter":{"documents":{"$exists":true}}}`},
		{"Folder.get-by-id", `{"id":"f","fields":"documents.id"}`},
		{"Document.update-by-query", `{"filter":{},"all":true,"changes":{"pages":3}}`},
		{"Document.delete-by-query", `{"filter":{},"all":true}`},
		{"Document.patch", `{"id":"a1","changes":{"pages":3}}`},
		{"Document.delete", `{"id":"a1"}`},
	} {
		f := nobody.fails(fault.Forbidden, c[0], c[1])
		require.Equal(t, "Document cannot be read: nobody is looking", f.Message, c[0])
	}
	require.Equal(t, "nobody is looking", nobody.fails(fault.Forbidden, "Document.upsert", `{"model":{"id":"n","tenant":"ann","title":"x"}}`).Message)
	require.EqualValues(t, 2, nobody.call("Folder.count", `{}`)["count"], "what has no rules is there for everybody")
	f := o.fails(fault.Forbidden, "Document.upsert", `{"model":{"id":"n","tenant":"bob","title":"x"}}`)
	require.Equal(t, "a document of ann cannot be put into bob", f.Message)
	require.Equal(t, "/model", f.Path)
	require.Equal(t, "a policy of the app denies it", o.fails(fault.Forbidden, "Document.patch", `{"id":"a1","changes":{"pages":1001}}`).Message)
	o.fails(fault.Forbidden, "Document.patch", `{"id":"a1","changes":{"tenant":"bob"}}`)
}

// What nobody may read can be written, and tells nothing of itself but its id.
func TestWhatIsWrittenBlindly(t *testing.T) {
	t.Parallel()
	if forEach(t, TestWhatIsWrittenBlindly) {
		return
	}
	o := openOffice(t)
	require.Equal(t, map[string]any{"id": "e1"}, o.call("Entry.upsert", `{"model":{"id":"e1","text":"hello"}}`))
	o.fails(fault.Forbidden, "Entry.get-by-id", `{"id":"e1"}`)
	o.fails(fault.Forbidden, "Entry.collection", `{}`)
	o.fails(fault.Forbidden, "Entry.patch", `{"id":"e1","changes":{"text":"bye"}}`)
	f := o.fails(fault.Conflict, "Entry.upsert", `{"model":{"id":"e1","text":"bye"}}`)
	require.Equal(t, "another Entry already has this id", f.Message)
	require.Equal(t, "hello", o.people["admin"].call("Entry.get-by-id", `{"id":"e1"}`)["text"])
}

func TestHiddenRowsAreNotWritten(t *testing.T) {
	t.Parallel()
	if forEach(t, TestHiddenRowsAreNotWritten) {
		return
	}
	o := openOffice(t)
	admin := o.people["admin"]
	before := admin.reads("Document.collection", `{"with":"all"}`) + admin.reads("Person.collection", `{"with":"all"}`) + admin.reads("Folder.collection", `{"with":"all"}`)
	for _, id := range []string{"b1", "a3"} {
		o.fails(fault.NotFound, "Document.patch", `{"id":"`+id+`","changes":{"title":"mine"}}`)
		f := o.fails(fault.Conflict, "Document.upsert", `{"model":{"id":"`+id+`","tenant":"ann","title":"mine"}}`)
		require.Equal(t, "another Document already has this id", f.Message)
		o.fails(fault.Conflict, "Document.upsert", `{"model":{"id":"`+id+`","tenant":"ann","title":"mine"},"replace":true}`)
		o.fails(fault.Conflict, "Document.upsert-many", `{"models":[{"id":"new","tenant":"ann","title":"x"},{"id":"`+id+`","tenant":"ann","title":"mine"}]}`)
		require.EqualValues(t, 0, o.call("Document.delete", `{"id":"`+id+`"}`)["deleted"])
	}
	// Ids that the database makes say nothing of the hidden row at all.
	hidden := o.fails(fault.NotFound, "Person.upsert", `{"model":{"id":3,"name":"Me","email":"me@x"}}`)
	absent := o.fails(fault.NotFound, "Person.upsert", `{"model":{"id":99,"name":"Me","email":"me@x"}}`)
	require.Equal(t, absent.Hint, hidden.Hint)
	o.fails(fault.NotFound, "Person.patch", `{"id":3,"changes":{"name":"x"}}`)
	for _, op := range []string{`upsert`, `upsert-many`} {
		input := map[string]string{`upsert`: `{"model":{"name":"Me","email":"gone@x"}}`, `upsert-many`: `{"models":[{"name":"Me","email":"gone@x"}]}`}[op]
		f := o.fails(fault.Conflict, "Person."+op, input)
		require.Contains(t, f.Message, "another Person already has this email")
		require.NotContains(t, fmt.Sprint(f.Message, f.Details, f.Hint), "3")
	}
	require.EqualValues(t, 1, len(o.call("Person.upsert-many", `{"models":[{"name":"Ann","email":"ann@x"}]}`)["items"].([]any)))
	require.EqualValues(t, 0, o.call("Document.delete-many", `{"ids":["b1","b2","a3"]}`)["deleted"])
	require.EqualValues(t, 0, o.call("Document.delete-by-query", `{"filter":{"pages":{"$gte":4}}}`)["deleted"])
	require.EqualValues(t, 0, o.call("Document.update-by-query", `{"filter":{"tenant":"bob"},"changes":{"title":"mine"}}`)["updated"])
	f := o.fails(fault.InvalidPayload, "Document.delete-by-query", `{"filter":{},"maxAffected":1}`)
	require.Contains(t, f.Message, "2 Document entities match", "hidden ones are not counted")
	require.Equal(t, before, admin.reads("Document.collection", `{"with":"all"}`)+admin.reads("Person.collection", `{"with":"all"}`)+admin.reads("Folder.collection", `{"with":"all"}`))
}

func TestHiddenRowsAreNotLinked(t *testing.T) {
	t.Parallel()
	if forEach(t, TestHiddenRowsAreNotLinked) {
		return
	}
	o := openOffice(t)
	admin := o.people["admin"]
	for _, c := range [][3]string{
		{"Document.upsert", `{"model":{"id":"n","tenant":"ann","title":"x","related":["%s"]}}`, "/model/related/0"},
		{"Document.patch", `{"id":"a2","changes":{"related":{"$add":["a1","%s"]}}}`, "/changes/related/$add/1"},
		{"Folder.patch", `{"id":"g","changes":{"documents":{"$add":["%s"]}}}`, "/changes/documents/$add/0"},
		{"Folder.upsert", `{"model":{"id":"h","name":"x","documents":["%s"]}}`, "/model/documents/0"},
		{"Document.update-by-query", `{"filter":{"id":"a1"},"changes":{"related":["%s"]}}`, "/changes/related/0"},
	} {
		hidden := o.fails(fault.InvalidPayload, c[0], fmt.Sprintf(c[1], "b1"))
		absent := o.fails(fault.InvalidPayload, c[0], fmt.Sprintf(c[1], "zz"))
		require.Contains(t, fmt.Sprint(hidden.Details), `there is no Document with id "b1" in the set "default"`)
		require.Contains(t, fmt.Sprint(absent.Details), `there is no Document with id "zz" in the set "default"`)
		require.Contains(t, fmt.Sprint(hidden.Details), c[2], c[0])
	}
	f := o.fails(fault.InvalidPayload, "Document.patch", `{"id":"a1","changes":{"author":{"id":3}}}`)
	require.Contains(t, fmt.Sprint(f.Details), `there is no Person with id "3"`)
	f = o.fails(fault.InvalidPayload, "Document.patch", `{"id":"a1","changes":{"reviewerId":"3"}}`)
	require.Contains(t, fmt.Sprint(f.Details), `there is no Person with id "3"`, "a key whose edge nobody sees leads to the same rows")
	require.Equal(t, "2", o.call("Document.patch", `{"id":"a1","changes":{"reviewerId":2}}`)["reviewerId"])

	// What replaces the visible rows of an edge leaves the hidden ones.
	o.call("Document.patch", `{"id":"a1","changes":{"related":[]}}`)
	o.call("Folder.patch", `{"id":"f","changes":{"documents":{"$set":[]}}}`)
	o.call("Folder.patch", `{"id":"f","changes":{"documents":{"$remove":["b1"]}}}`)
	require.JSONEq(t, `{"id":"a1","related":[{"id":"b1"},{"id":"b2"}]}`, admin.reads("Document.get-by-id", `{"id":"a1","fields":"related.id"}`))
	require.JSONEq(t, `{"id":"f","documents":[{"id":"b1"},{"id":"b2"}]}`, admin.reads("Folder.get-by-id", `{"id":"f","fields":"documents.id"}`))
}

// Foreign keys do not delete, nor change, for a caller what he may not read.
func TestCascadesEndAtHiddenRows(t *testing.T) {
	t.Parallel()
	if forEach(t, TestCascadesEndAtHiddenRows) {
		return
	}
	o := openOffice(t)
	admin := o.people["admin"]
	for _, c := range [][2]string{{"Folder.delete", `{"id":"f"}`}, {"Folder.delete-many", `{"ids":["f"]}`}, {"Folder.delete-by-query", `{"filter":{"id":"f"}}`}} {
		f := o.fails(fault.Forbidden, c[0], c[1])
		require.Contains(t, f.Message, "Document entities that you may not see would be deleted")
	}
	f := o.fails(fault.Forbidden, "Person.delete", `{"id":2}`)
	require.Contains(t, f.Message, "Document entities", "their author would be cleared")
	require.EqualValues(t, 4, admin.call("Document.count", `{}`)["count"])
	require.EqualValues(t, 1, admin.call("Folder.delete", `{"id":"f"}`)["deleted"])
	require.EqualValues(t, 1, admin.call("Document.count", `{}`)["count"])
}

func TestDeletesThatOnlyMark(t *testing.T) {
	t.Parallel()
	if forEach(t, TestDeletesThatOnlyMark) {
		return
	}
	o := openOffice(t)
	require.EqualValues(t, 1, o.call("Document.delete", `{"id":"a1"}`)["deleted"])
	require.EqualValues(t, 0, o.call("Document.delete", `{"id":"a1"}`)["deleted"])
	require.EqualValues(t, 1, o.call("Document.delete-by-query", `{"filter":{},"all":true}`)["deleted"])
	require.EqualValues(t, 0, o.call("Document.count", `{}`)["count"])
	require.EqualValues(t, 2, o.people["bob"].call("Document.count", `{}`)["count"])
}

func TestFieldsThatOnlySomeMayRead(t *testing.T) {
	t.Parallel()
	if forEach(t, TestFieldsThatOnlySomeMayRead) {
		return
	}
	o := openOffice(t)
	admin := o.people["admin"]
	require.EqualValues(t, 70, admin.call("Person.get-by-id", `{"id":1}`)["pay"])
	require.NotContains(t, o.reads("Person.get-by-id", `{"id":1}`), "pay")
	require.NotContains(t, o.reads("Document.get-by-id", `{"id":"a1","with":"author"}`), "pay")
	for _, c := range [][2]string{
		{"Person.collection", `{"fields":"pay"}`},
		{"Person.collection", `{"sort":"pay"}`},
		{"Person.collection", `{"filter":{"pay":{"$gt":60}}}`},
		{"Person.count", `{"filter":{"$or":[{"pay":70}]}}`},
		{"Person.aggregate", `{"max":"pay"}`},
		{"Person.aggregate", `{"groupBy":"grade"}`},
		{"Person.aggregate", `{"filter":{"pay":70}}`},
		{"Document.count", `{"filter":{"author":{"pay":70}}}`},
		{"Document.collection", `{"fields":"author.pay"}`},
		{"Document.collection", `{"with":{"author":{"fields":"pay"}}}`},
		{"Folder.collection", `{"with":{"documents":{"filter":{"author":{"pay":70}}}}}`},
		{"Person.delete-by-query", `{"filter":{"pay":70}}`},
		{"Person.update-by-query", `{"filter":{"grade":"senior"},"changes":{"name":"x"}}`},
	} {
		f := o.fails(fault.InvalidPayload, c[0], c[1])
		require.Contains(t, f.Message+fmt.Sprint(f.Details), "unknown field", "%s %s", c[0], c[1])
		if !strings.HasSuffix(c[0], "by-query") {
			admin.reads(c[0], c[1])
		}
	}
	require.Len(t, o.call("Person.collection", `{"q":"senior"}`)["items"], 0, "nor does a search look into it")
	require.Len(t, admin.call("Person.collection", `{"q":"senior"}`)["items"], 1)

	// It can be written, and stays what it is when a replacing model leaves it out.
	require.NotContains(t, o.reads("Person.patch", `{"id":1,"changes":{"pay":71}}`), "pay")
	o.call("Person.upsert", `{"model":{"id":1,"name":"Anna","email":"ann@x"},"replace":true}`)
	require.EqualValues(t, 71, admin.call("Person.get-by-id", `{"id":1}`)["pay"])
	// A guess at one that cannot be changed is as wrong as any other.
	for _, grade := range []string{"senior", "junior"} {
		f := o.fails(fault.InvalidPayload, "Person.patch", `{"id":1,"changes":{"grade":"`+grade+`"}}`)
		require.Contains(t, fmt.Sprint(f.Details), "cannot be changed after creation")
	}
	// To types and validation it is write-only.
	require.True(t, o.view.Resource("Person").Field("pay").WriteOnly)
	require.False(t, admin.view.Resource("Person").Field("pay").WriteOnly)
}

// What a run shows of its changes is what its caller may see.
func TestChangesShowWhatTheCallerMaySee(t *testing.T) {
	t.Parallel()
	if forEach(t, TestChangesShowWhatTheCallerMaySee) {
		return
	}
	o := openOffice(t, ent.OnClient(func(c *ent.Client) {
		c.Document.Use(func(next stdent.Mutator) stdent.Mutator {
			return stdent.MutateFunc(func(ctx context.Context, m stdent.Mutation) (stdent.Value, error) {
				v, err := next.Mutate(ctx, m)
				if title, _ := m.(*ent.DocumentMutation).Title(); err != nil || title != "go" {
					return v, err
				}
				all := viewer.With(ctx, viewer.Viewer{Admin: true})
				tx := ent.FromContext(ctx)
				if err := tx.Entry.Create().SetID("e9").SetText("somebody went").Exec(all); err != nil {
					return nil, err
				}
				if err := tx.Document.UpdateOneID("b1").SetPages(7).Exec(all); err != nil {
					return nil, err
				}
				return v, tx.Document.UpdateOneID("a2").SetTenant("bob").Exec(all)
			})
		})
	}))
	changes, err := recordedAs(o, "Document.patch", `{"id":"a1","changes":{"title":"go"}}`)
	require.NoError(t, err)
	require.Equal(t, []string{"update Document a1", "create Entry ", "update Document ", "update Document a2"}, said(changes))
	require.Contains(t, string(changes[0].After), `"title":"go"`)
	require.Empty(t, string(changes[1].After)+string(changes[2].Before)+string(changes[2].After)+string(changes[3].After))
	require.Contains(t, string(changes[3].Before), `"tenant":"ann"`)

	changes, err = recordedAs(o, "Person.patch", `{"id":1,"changes":{"pay":72}}`)
	require.NoError(t, err)
	require.Equal(t, []string{"update Person 1"}, said(changes))
	require.NotContains(t, string(changes[0].Before)+string(changes[0].After), "pay")
	require.NotContains(t, string(changes[0].Before)+string(changes[0].After), "grade")
}

// recordedAs makes one call of a person of the office as a script that records.
func recordedAs(o *office, op, input string) ([]store.Change, error) {
	out, err := o.run(script(run.Spec{Atomic: true, Record: true}, func(call func(string, string) (map[string]any, error), _ *run.Attempt) error {
		_, err := call(op, input)
		return err
	}))
	return out.Changes, err
}

// Rules see the run's own transaction.
func TestRulesSeeWhatTheRunWrote(t *testing.T) {
	t.Parallel()
	if forEach(t, TestRulesSeeWhatTheRunWrote) {
		return
	}
	o := openOffice(t)
	_, err := o.run(script(atomic, func(call func(string, string) (map[string]any, error), _ *run.Attempt) error {
		before, err := call("Document.count", `{}`)
		require.NoError(t, err)
		require.EqualValues(t, 2, before["count"])
		_, err = call("Document.upsert", `{"model":{"id":"n","tenant":"ann","title":"new","folder":"f"}}`)
		require.NoError(t, err)
		after, err := call("Folder.get-by-id", `{"id":"f","fields":"documents.id"}`)
		require.NoError(t, err)
		raw, err := json.Marshal(after)
		require.NoError(t, err)
		require.JSONEq(t, `{"id":"f","documents":[{"id":"a1"},{"id":"n"}]}`, string(raw))
		return nil
	}))
	require.NoError(t, err)
}

// A unique value tells that somebody has it, and not who: the database keeps it
// unique among all rows, so this much cannot be hidden.
func TestConflictsNameNoHiddenRow(t *testing.T) {
	t.Parallel()
	if forEach(t, TestConflictsNameNoHiddenRow) {
		return
	}
	o := openOffice(t)
	f := o.fails(fault.Conflict, "Document.patch", `{"id":"a1","changes":{"code":"TOP"}}`)
	require.Equal(t, "another Document already has this code", f.Message)
	require.NotContains(t, fmt.Sprint(f.Details), "b1")
}
