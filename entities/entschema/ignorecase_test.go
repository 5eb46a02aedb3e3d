package entschema_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/entities"
	"github.com/koan-go/koan/entities/entschema"
	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/tests/pgtest"
)

// somewhere is a database without tables.
func somewhere(t *testing.T) string {
	if pgtest.Here(t) {
		return pgtest.Place(t)
	}
	return "sqlite://" + t.TempDir()
}

// serveFrom serves a folder of schemas from a database until stop is called.
func serveFrom(t *testing.T, dir, database string) (i *framework.Instance, stop func()) {
	t.Helper()
	i, err := startFrom(t, dir, database)
	require.NoError(t, err)
	return i, func() { require.NoError(t, i.Stop(context.Background())) }
}

func startFrom(t *testing.T, dir, database string) (*framework.Instance, error) {
	return framework.New(t.Context(), framework.App{
		Name: "schemas", Providers: []framework.Provider{entities.ProvideExisting(entschema.Open)},
	}, framework.Options{Config: framework.Source{Flags: map[string]string{"schema": dir, "database": database, "approval.mode": "never"}}})
}

// does makes a call that succeeds, refused one that fails.
func does(t *testing.T, i *framework.Instance, id string, in map[string]any) map[string]any {
	t.Helper()
	out, err := call(t, i, id, in)
	require.NoError(t, err, "%s %v", id, in)
	return out
}

func refused(t *testing.T, i *framework.Instance, id string, in map[string]any) *fault.Fault {
	t.Helper()
	_, err := call(t, i, id, in)
	require.Error(t, err, "%s %v", id, in)
	return fault.From(err)
}

func model(of ...any) map[string]any {
	m := map[string]any{}
	for i := 0; i < len(of); i += 2 {
		m[of[i].(string)] = of[i+1]
	}
	return map[string]any{"model": m}
}

// A unique key whose case does not count keeps texts apart in any alphabet, and finds the entity that has it.
func TestKeysThatIgnoreCase(t *testing.T) {
	if pgtest.ForEach(t, TestKeysThatIgnoreCase) {
		return
	}
	place := somewhere(t)
	i, stop := serveFrom(t, "testdata/caseless", place)
	ann := does(t, i, "koan::Member.create", model("email", "ann@straße.example", "name", "Ann"))
	for _, taken := range []string{"ann@straße.example", "ANN@straße.example", "Ann@STRASSE.example"} {
		f := refused(t, i, "koan::Member.create", model("email", taken))
		require.Equal(t, fault.Conflict, f.Code, taken)
		require.Equal(t, "another Member already has this email", f.Message, taken)
		require.Equal(t, "/model/email", f.Path, taken)
	}
	found := does(t, i, "koan::Member.upsert", model("email", "ANN@STRASSE.EXAMPLE", "name", "Anne"))
	require.Equal(t, map[string]any{"id": ann["id"], "email": "ann@straße.example", "name": "Anne"}, found, "its address stays as it is written")
	replaced := model("email", "Ann@Straße.example", "name", "A.")
	replaced["replace"] = true
	require.Equal(t, "Ann@Straße.example", does(t, i, "koan::Member.upsert", replaced)["email"])

	bobs := does(t, i, "koan::Member.upsert-many", map[string]any{"models": []any{
		map[string]any{"email": "bob@x"}, map[string]any{"email": "BOB@x", "name": "Bob"}, map[string]any{"email": "Ёж@x"}, map[string]any{"email": "ёЖ@X", "name": "Hedgehog"},
	}})["items"].([]any)
	require.Equal(t, "Bob", bobs[1].(map[string]any)["name"])
	require.Equal(t, 3.0, does(t, i, "koan::Member.count", map[string]any{})["count"])
	bob := bobs[0].(map[string]any)["id"]
	require.Equal(t, fault.Conflict, refused(t, i, "koan::Member.patch", map[string]any{"id": bob, "changes": map[string]any{"email": "ANN@straße.EXAMPLE"}}).Code)
	require.Equal(t, fault.Conflict, refused(t, i, "koan::Member.update-by-query", map[string]any{"filter": map[string]any{"id": bob}, "changes": map[string]any{"email": "ANN@straße.EXAMPLE"}}).Code)
	require.Equal(t, "BoB@x", does(t, i, "koan::Member.patch", map[string]any{"id": bob, "changes": map[string]any{"email": "BoB@x"}})["email"], "its own case may change")
	require.Len(t, does(t, i, "koan::Member.collection", map[string]any{"filter": map[string]any{"email": map[string]any{"$ieq": "bob@X"}}})["items"], 1)
	require.Empty(t, does(t, i, "koan::Member.collection", map[string]any{"filter": map[string]any{"email": "bob@X"}})["items"], "$eq compares as ever")

	does(t, i, "koan::Seat.create", model("room", 1, "code", "a1"))
	does(t, i, "koan::Seat.create", model("room", 2, "code", "A1"))
	does(t, i, "koan::Seat.create", model("room", 2))
	does(t, i, "koan::Seat.create", model("room", 2))
	f := refused(t, i, "koan::Seat.create", model("room", 1, "code", "A1"))
	require.Equal(t, "another Seat already has this room and code", f.Message)
	stop()

	i, stop = serveFrom(t, "testdata/caseless", place)
	require.Equal(t, fault.Conflict, refused(t, i, "koan::Member.create", model("email", "BOB@X")).Code, "after a start, too")
	stop()
	i, stop = serveFrom(t, "testdata/cased", place)
	does(t, i, "koan::Member.create", model("email", "BOB@X"))
	stop()
}

// Rows that differ in case alone are named, and stay, where the case is not to count any more.
func TestRowsThatDifferInCaseAlone(t *testing.T) {
	if pgtest.ForEach(t, TestRowsThatDifferInCaseAlone) {
		return
	}
	place := somewhere(t)
	i, stop := serveFrom(t, "testdata/cased", place)
	does(t, i, "koan::Member.create", model("email", "ann@x"))
	does(t, i, "koan::Member.create", model("email", "ANN@x"))
	stop()
	_, err := startFrom(t, "testdata/caseless", place)
	require.ErrorContains(t, err, "the case of members.email does not count any more, but 2 rows of Member differ from another in it alone")
	i, stop = serveFrom(t, "testdata/cased", place)
	require.Equal(t, 2.0, does(t, i, "koan::Member.count", map[string]any{})["count"])
	stop()
}
