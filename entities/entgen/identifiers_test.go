package entgen

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"entgo.io/ent"
	"entgo.io/ent/entc"
	"entgo.io/ent/entc/gen"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/tests/soak"
)

// module writes a Go module that uses this checkout, changes into it, and returns a
// function that runs go there.
func module(t *testing.T, files map[string]string) (run func(args ...string) (string, error)) {
	t.Helper()
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	dir := t.TempDir()
	for _, name := range []string{"go.mod", "go.sum"} {
		raw, err := os.ReadFile(filepath.Join(root, name))
		require.NoError(t, err)
		files[name] = strings.Replace(string(raw), "module github.com/koan-go/koan\n",
			"module example.org/app\n\nrequire github.com/koan-go/koan v0.0.0\n\nreplace github.com/koan-go/koan => "+root+"\n", 1)
	}
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	t.Chdir(dir)
	return func(args ...string) (string, error) {
		out, err := exec.Command("go", args...).CombinedOutput()
		return string(out), err
	}
}

// schemas are exposed schemas of these names, each with a field and an id of a type
// of the app's own.
func schemas(names ...string) string {
	var b strings.Builder
	b.WriteString(`package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"github.com/koan-go/koan/entities/expose"

	"example.org/app/shim"
)
`)
	for _, name := range names {
		b.WriteString(strings.ReplaceAll(`
type NAME struct{ ent.Schema }

func (NAME) Annotations() []schema.Annotation { return []schema.Annotation{expose.Entity{}} }

func (NAME) Fields() []ent.Field {
	return []ent.Field{
		field.String("id").GoType(shim.ID("")),
		field.String("name").Default("x"), field.String("group_secret").GoType(shim.Secret("")), field.String("secret").GoType(shim.Secret("")),
	}
}
`, "NAME", name))
	}
	return b.String()
}

// shimPackage is the app's own, and called as one that the generated file imports.
const shimPackage = `package shim

import "database/sql/driver"

type ID string

type Secret string

func (s Secret) Value() (driver.Value, error) { return "secret:" + string(s), nil }

func (s *Secret) Scan(v any) error { *s = Secret(v.(string)[7:]); return nil }
`

// TestAnySchemaNameCompiles: whatever schemas are called, the generated file and
// what ent generates have different names.
func TestAnySchemaNameCompiles(t *testing.T) {
	soak.Proof(t)
	run := module(t, map[string]string{
		"shim/shim.go":             shimPackage,
		"methods/schema/schema.go": schemas("Koan", "Hooked", "Begin", "Context", "Shim", "Catalog", "Errors", "Json", "KoanKind", "User", "UserGroup"),
		"methods/generate.go":      "package methods\n",
		"methods/use.go":           "package methods\n\nvar _ = Entities(OnClient(func(*Client) {}))\n",
		"slices/schema/schema.go":  schemas("Entity", "On"),
		"slices/use.go":            "package slices\n\nvar _ KoanEntitiesOption = KoanOnCreateSet(nil)\n\nvar _ = KoanEntities(KoanOnClient(func(*Client) {}))\n",
	})
	for _, pkg := range []string{"methods", "slices"} {
		err := entc.Generate("./"+pkg+"/schema", &gen.Config{BuildFlags: []string{"-mod=mod"}}, entc.Extensions(New()))
		require.NoError(t, err, pkg)
	}
	out, err := run("build", "-mod=mod", "./...")
	require.NoError(t, err, out)
}

// Fields and edges for which ent itself generates what does not compile are named.
func TestNamesThatEntCannotGenerateAreRefused(t *testing.T) {
	module(t, map[string]string{"words/generate.go": "package words\n", "words/schema/schema.go": `package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"
	"github.com/koan-go/koan/entities/expose"
)

type Word struct{ ent.Schema }

func (Word) Annotations() []schema.Annotation { return []schema.Annotation{expose.Entity{}} }

func (Word) Fields() (out []ent.Field) {
	for _, name := range []string{"and", "not", "string", "update", "edges", "has_parent", "title", "title_contains", "type", "value"} {
		out = append(out, field.String(name))
	}
	return out
}

func (Word) Edges() []ent.Edge { return []ent.Edge{edge.To("children", Word.Type).From("parent").Unique()} }
`})
	err := entc.Generate("./words/schema", &gen.Config{BuildFlags: []string{"-mod=mod"}}, entc.Extensions(New()))
	require.Error(t, err)
	for field, declared := range map[string]string{"and": "And", "not": "Not", "string": "String", "update": "Update", "edges": "Edges", "has_parent": "HasParent", "title_contains": "TitleContains"} {
		require.Regexp(t, `\n  Word\.`+field+`: ent cannot generate code for this name, as word(/where|/word)?\.go would declare `+declared+` twice: rename the field; its column can keep its name with StorageKey\("`+field+`"\)`, err.Error())
	}
	require.NotRegexp(t, `Word\.(title|type|value):`, err.Error())
}

func TestAPIHasOtherNamesWhereASchemaHasThem(t *testing.T) {
	require.Equal(t, "Entities", APIOf(graph(t, Good{}, Plain{})).Entities)
	for _, s := range []ent.Interface{Entity{}, Entities{}, On{}, OnCreateSet{}, EntitiesOption{}} {
		require.Equal(t, "KoanEntities", APIOf(graph(t, Good{}, Plain{}, s)).Entities, "%T", s)
	}
}

type (
	Entity         struct{ ent.Schema }
	Entities       struct{ ent.Schema }
	On             struct{ ent.Schema }
	OnCreateSet    struct{ ent.Schema }
	EntitiesOption struct{ ent.Schema }
)

// TestNamesDeclaredByTheAppAreReported: what the app itself has in the ent package
// is not shadowed.
func TestNamesDeclaredByTheAppAreReported(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "extra.go"), []byte("package ent\n\nvar koanOptions int\n\nfunc Entities() {}\n"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "entc.go"), []byte("package main\n\nfunc OnClient() {}\n"), 0o644))
	declared, err := declarations(dir, File)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"koanOptions": "extra.go", "Entities": "extra.go"}, declared)
	m, err := newModel(graph(t, Good{}, Plain{}))
	require.NoError(t, err)
	api := apiOf(func(name string) bool { return declared[name] != "" })
	require.Equal(t, "KoanEntities", api.Entities)
	src, err := m.render(api)
	require.NoError(t, err)
	require.EqualError(t, checkNames(File, src, declared), "koan: 1 problem in the ent schema:\n  extra.go: it declares koanOptions, which the generated koan.go also declares; rename it")
}
