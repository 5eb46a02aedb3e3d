package add

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"entgo.io/ent/entc"
	"entgo.io/ent/entc/gen"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/entities/entgen"
	"github.com/koan-go/koan/tests/soak"
)

const (
	plainSchema = `package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema/field"
)

type Task struct{ ent.Schema }

func (Task) Fields() []ent.Field { return []ent.Field{field.String("title")} }
`
	// importingSchema has a hook and a policy that are written with the app's own generated code.
	importingSchema = `package schema

import (
	"context"

	"entgo.io/ent"
	"entgo.io/ent/schema/field"

	gen "example.org/app/ent"
	"example.org/app/ent/hook"
	"example.org/app/ent/privacy"
)

type Task struct{ ent.Schema }

func (Task) Fields() []ent.Field { return []ent.Field{field.String("title")} }

func (Task) Hooks() []ent.Hook {
	return []ent.Hook{func(next ent.Mutator) ent.Mutator {
		return hook.TaskFunc(func(ctx context.Context, m *gen.TaskMutation) (ent.Value, error) { return next.Mutate(ctx, m) })
	}}
}

func (Task) Policy() ent.Policy {
	return privacy.Policy{Query: privacy.QueryPolicy{privacy.AlwaysAllowRule()}, Mutation: privacy.MutationPolicy{privacy.AlwaysAllowRule()}}
}
`
)

// Schemas may import what ent generates from them: Koan is added, and the code is generated with it, also when
// the schemas see Koan's part of it.
func TestRunOnSchemasThatImportGeneratedCode(t *testing.T) {
	soak.Proof(t)
	dir := written(t, map[string]string{
		"ent/generate.go":    "package ent\n\n//go:generate go run -mod=mod entgo.io/ent/cmd/ent generate --feature privacy ./schema\n",
		"ent/schema/task.go": plainSchema,
	})
	generate := func(options ...entc.Option) {
		t.Helper()
		require.NoError(t, entc.Generate("./ent/schema", &gen.Config{BuildFlags: []string{"-mod=mod"}}, append(options, entc.FeatureNames("privacy"))...))
	}
	schema := filepath.Join(dir, "ent", "schema", "task.go")
	o, out := Options{Dir: "./ent", Expose: []string{"all"}, Source: checkout, Program: "cmd/agents"}, &bytes.Buffer{}

	require.NoError(t, os.WriteFile(schema, []byte(importingSchema), 0o644))
	before := contents(t, dir)
	err := Run(o, out)
	require.ErrorContains(t, err, "schemas in ent/schema import example.org/app/ent, example.org/app/ent/hook, example.org/app/ent/privacy, which ent generates and which is not there")
	require.ErrorContains(t, err, "run `go generate ./ent")
	require.Equal(t, before, contents(t, dir))

	require.NoError(t, os.WriteFile(schema, []byte(plainSchema), 0o644))
	generate()
	require.NoError(t, os.WriteFile(schema, []byte(importingSchema), 0o644))
	generate()
	require.NoError(t, Run(o, out))
	require.Contains(t, out.String(), "Exposed: Task")
	require.Contains(t, contents(t, dir)[filepath.Join(dir, "cmd", "agents", "main.go")], `_ "example.org/app/ent/runtime" // defaults, hooks and policies of the schemas`)
	generate(entc.Extensions(entgen.New()))
	require.FileExists(t, "ent/koan.go")
	generate(entc.Extensions(entgen.New())) // the schemas import ent, which has Koan's code now
}
