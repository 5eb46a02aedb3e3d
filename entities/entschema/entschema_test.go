package entschema_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/entities"
	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/entschema"
	"github.com/koan-go/koan/entities/shim"
	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/tests/club/ent"
	fixture "github.com/koan-go/koan/tests/fixture/ent"
)

func TestMain(m *testing.M) {
	entschema.Load()
	os.Exit(m.Run())
}

func open(t *testing.T, dir string) *entities.Schemas {
	t.Helper()
	s, err := entschema.Open(t.Context(), dir)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// serve serves a folder of schemas.
func serve(t *testing.T, dir string) *framework.Instance {
	t.Helper()
	i, err := framework.New(t.Context(), framework.App{
		Name: "schemas", Providers: []framework.Provider{entities.ProvideExisting(entschema.Open)},
	}, framework.Options{Config: framework.Source{Flags: map[string]string{"schema": dir, "database": "sqlite://" + t.TempDir()}}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, i.Stop(context.Background())) })
	return i
}

var tester = framework.Principal{Subject: "test", Sets: []string{"*"}, Scopes: []string{"entities:write"}}

func call(t *testing.T, i *framework.Instance, id string, in any) (out map[string]any, err error) {
	t.Helper()
	_, err = i.Invoke(t.Context(), tester, id, in, &out)
	return out, err
}

// Schemas say the same about entities whether or not code is generated from them.
func TestDescriptionsAreThoseOfGeneratedCode(t *testing.T) {
	for dir, generated := range map[string]*shim.App{
		"../../tests/fixture/ent/schema": fixture.Entities(),
		"../../tests/club/ent/schema":    ent.Entities(),
	} {
		s := open(t, dir)
		require.Equal(t, generated.SchemaHash, s.App.SchemaHash, dir)
		left := func(name string) bool {
			return slices.ContainsFunc(s.NotServed, func(r shim.Remark) bool { return r.Name == name })
		}
		compared := 0
		for _, want := range generated.Graph.Entities {
			if left(want.Resource.Name) {
				continue
			}
			got := s.App.Graph.Entity(want.Resource.Name)
			require.NotNil(t, got, want.Resource.Name)
			compared++
			require.Equal(t, want.Table, got.Table)
			require.Equal(t, want.UpsertBy, got.UpsertBy)
			require.Equal(t, want.VersionColumn, got.VersionColumn)
			require.Equal(t, want.Resource.Key, got.Resource.Key)
			for _, f := range want.Resource.Fields {
				if !left(want.Resource.Name + "." + f.Name) {
					require.Equal(t, f, *got.Resource.Field(f.Name), "%s.%s", want.Resource.Name, f.Name)
				}
			}
			for _, c := range want.Columns {
				if i := slices.IndexFunc(got.Columns, func(o descriptor.Column) bool { return o.Name == c.Name }); i >= 0 {
					c.Form = nil // which only its own code has
					require.Equal(t, c, got.Columns[i], "%s.%s", want.Resource.Name, c.Name)
				}
			}
			for _, e := range want.Resource.Edges {
				if !left(e.Target) {
					require.Equal(t, e, *got.Resource.Edge(e.Name), "%s.%s", want.Resource.Name, e.Name)
				}
			}
		}
		require.NotZero(t, compared, dir)
	}
}

func TestFunctionsOfSchemasRun(t *testing.T) {
	i := serve(t, "testdata/plain")
	ann, err := call(t, i, "koan::User.upsert", map[string]any{"model": map[string]any{"name": "Ann", "key": "AAEC"}})
	require.NoError(t, err)
	require.Len(t, ann["id"], 36)
	require.NotEmpty(t, ann["createTime"])
	for field, want := range map[string]any{"slug": "made", "role": "user", "until": "2030-01-02T03:04:05.0000006Z", "tags": []any{"new"}, "revision": 1.0, "key": "AAEC"} {
		require.Equal(t, want, ann[field], field)
	}
	changed, err := call(t, i, "koan::User.patch", map[string]any{"id": ann["id"], "changes": map[string]any{"age": 4}})
	require.NoError(t, err)
	require.Equal(t, 7.0, changed["revision"])
	require.NotEqual(t, ann["updateTime"], changed["updateTime"])

	rex, err := call(t, i, "koan::Pet.upsert", map[string]any{"model": map[string]any{"name": "Rex", "owner": ann["id"]}})
	require.NoError(t, err, "its hook does not run")
	require.Regexp(t, "^pet-.{4}$", rex["id"])
	_, err = call(t, i, "koan::User.patch", map[string]any{"id": ann["id"], "changes": map[string]any{"friends": []any{ann["id"]}}})
	require.NoError(t, err)
	whole, err := call(t, i, "koan::User.get-by-id", map[string]any{"id": ann["id"], "with": "pets,friends"})
	require.NoError(t, err)
	require.Equal(t, "Rex", whole["pets"].([]any)[0].(map[string]any)["name"])
	require.Len(t, whole["friends"], 1)

	for name, c := range map[string]struct {
		entity string
		model  map[string]any
		code   fault.Code
		path   string
		says   string
	}{
		"empty":        {"User", map[string]any{"name": ""}, fault.InvalidPayload, "/model/name", "empty"},
		"too long":     {"User", map[string]any{"name": strings.Repeat("é", 21)}, fault.InvalidPayload, "/model/name", "20"},
		"not positive": {"User", map[string]any{"name": "b", "age": 0}, fault.InvalidPayload, "/model/age", "at least 1"},
		"own function": {"User", map[string]any{"name": "b", "slug": "bad"}, fault.InvalidPayload, "/model/slug", "bad slugs are not allowed"},
		"bytes":        {"User", map[string]any{"name": "b", "key": "AAECAwQ="}, fault.InvalidPayload, "/model/key", ""},
		"id":           {"Pet", map[string]any{"id": "dog-1", "name": "b"}, fault.InvalidPayload, "/model/id", "begin with pet-"},
		"panics":       {"User", map[string]any{"name": "b", "slug": "panic"}, fault.Internal, "", ""},
		"ends":         {"User", map[string]any{"name": "b", "slug": "exit"}, fault.ServiceUnavailable, "", "User.slug"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := call(t, i, "koan::"+c.entity+".upsert", map[string]any{"model": c.model})
			require.Equal(t, c.code, fault.CodeOf(err), "%v", err)
			require.Equal(t, c.path, fault.From(err).Path)
			require.Contains(t, fmt.Sprint(err), c.says)
		})
	}
	_, err = call(t, i, "koan::User.upsert", map[string]any{"model": map[string]any{"name": "Bob"}})
	require.NoError(t, err, "after a process that has ended")
	count, err := call(t, i, "koan::User.count", map[string]any{})
	require.NoError(t, err)
	require.Equal(t, 2.0, count["count"], "what was refused left nothing")
}

func TestSaysWhatIsNotServedAndDoesNotRun(t *testing.T) {
	i := serve(t, "testdata/plain")
	said := strings.Join(i.Report(), "\n")
	for _, want := range []string{"entities=2 notServed=3", "not served: Note: its privacy policy is code", "not served: Reply: it requires note, and Note is not served", "not served: Board: it requires notes, and Note is not served", "does not run here: Pet (1 hook)"} {
		require.Contains(t, said, want)
	}
	_, err := call(t, i, "koan::Note.count", map[string]any{})
	require.Equal(t, fault.ToolNotFound, fault.CodeOf(err))
	_, err = call(t, i, "koan::User.count", map[string]any{"set": "other"})
	require.Equal(t, fault.UnknownSet, fault.CodeOf(err))
}

func TestFoldersThatCannotBeServed(t *testing.T) {
	outside := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(outside, "a.go"), []byte("package a\n"), 0o600))
	for name, c := range map[string]struct {
		dir  string
		says string
	}{
		"no folder":   {"testdata/missing", "there is no folder"},
		"no Go files": {"testdata", "no Go files"},
		"no module":   {outside, "in no Go module"},
		"no compile":  {"testdata/broken", "missing"},
		"no schema":   {"../../entities/shim", "no schema found"},
		"all ruled":   {"testdata/none", "Diary: its privacy policy is code"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := entschema.Open(t.Context(), c.dir)
			require.Equal(t, fault.ServiceUnavailable, fault.CodeOf(err), "%v", err)
			require.Equal(t, "/schema", fault.From(err).Path)
			require.ErrorContains(t, err, c.says)
			require.NotEmpty(t, fault.From(err).Hint)
		})
	}
	t.Run("no go", func(t *testing.T) {
		t.Setenv("PATH", t.TempDir())
		_, err := entschema.Open(t.Context(), "testdata/plain")
		require.Equal(t, fault.CapabilityUnsupported, fault.CodeOf(err))
	})
}

// Settings for the tables of others are refused, and so is a file where a folder has to be.
func TestSettingsOfOthersAreRefused(t *testing.T) {
	for key, value := range map[string]string{"database": "sqlite:shop.db", "entities.User.table": "users"} {
		_, err := framework.New(t.Context(), framework.App{
			Name: "schemas", Providers: []framework.Provider{entities.ProvideExisting(entschema.Open)},
		}, framework.Options{Config: framework.Source{Flags: map[string]string{"schema": "testdata/plain", key: value}}})
		require.Equal(t, fault.InvalidRequest, fault.CodeOf(err), key)
	}
}

// A field says by its annotation that searches leave accents out, on a set that has no index of words then.
func TestSearchesIgnoreAccentsWhereAnAnnotationSaysSo(t *testing.T) {
	i := serve(t, "testdata/accents")
	_, err := call(t, i, "koan::Town.upsert-many", map[string]any{"models": []any{map[string]any{"name": "Łódź"}, map[string]any{"name": "Lodge"}}})
	require.NoError(t, err)
	for _, in := range []map[string]any{{"q": "lodz"}, {"filter": map[string]any{"name": map[string]any{"$icontains": "ODZ"}}}} {
		page, err := call(t, i, "koan::Town.collection", in)
		require.NoError(t, err)
		items := page["items"].([]any)
		require.Len(t, items, 1, in)
		require.Equal(t, "Łódź", items[0].(map[string]any)["name"])
	}
}
