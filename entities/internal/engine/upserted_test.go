package engine_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/tests/fixture"
	"github.com/koan-go/koan/tests/fixture/ent"
	"github.com/koan-go/koan/tests/fixture/ent/person"
)

// An upsert that conflicts by an index which the schema does not have updates a row that nobody could look up
// before. It is reported as an update, and an undo says that it leaves the row as it is.
func TestUpsertByForeignIndex(t *testing.T) {
	t.Parallel()
	if forEach(t, TestUpsertByForeignIndex) {
		return
	}
	app := fixture.App()
	app.GoActions = []framework.GoAction{framework.Action("work", "Upserts a person by the name.", func(ctx context.Context, _ framework.Call, _ struct{}) (struct{}, error) {
		c, err := ent.ClientOf(ctx)
		if err != nil {
			return struct{}{}, err
		}
		if err := c.Todo.Create().SetTitle("beside it").Exec(ctx); err != nil {
			return struct{}{}, err
		}
		return struct{}{}, c.Person.Create().SetName("first").SetEmail("new@example.org").OnConflictColumns(person.FieldName).UpdateEmail().Exec(ctx)
	})}
	at := place(t)
	k := koantest.New(t, app, koantest.Setting{Key: "database", Value: at}, koantest.Setting{Key: "journal.enabled", Value: "true"})
	k.Run(`SDK.Entities.Person.upsert({id: "p", name: "first", email: "p@example.org"})`, koantest.Input{})
	_, err := beside(t, at, "default").Exec("CREATE UNIQUE INDEX theirs ON " + person.Table + " (name)")
	require.NoError(t, err)

	r := k.Run(`SDK.Actions.work({})`, koantest.Input{DryRun: true})
	require.Contains(t, changed(r), "update Person p")
	r = k.Run(`SDK.Actions.work({})`, koantest.Input{Include: []string{"changes"}})
	require.Contains(t, changed(r), "update Person p")
	require.NotContains(t, changed(r), "create Person p")
	var email string
	k.Run(`SDK.Entities.Person.getById("p").email`, koantest.Input{}).ResultInto(&email)
	require.Equal(t, "new@example.org", email)
	raw, err := k.Call("code::koan.undo", map[string]any{"runId": r.RunID})
	require.NoError(t, err, "%s", raw)
	require.Contains(t, string(raw), "to rows that nobody knew before it: they stay as they are")
	k.Run(`SDK.Entities.Person.getById("p").email`, koantest.Input{}).ResultInto(&email)
	require.Equal(t, "new@example.org", email)
	var todos int
	k.Run(`SDK.Entities.Todo.count({title: "beside it"})`, koantest.Input{}).ResultInto(&todos)
	require.Zero(t, todos, "the rest was undone")
}
