package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// entities is how many schemas the large app has.
const entities = 100

// hundred makes an app of many entities in a folder of its own, and measures what
// its developer waits for: the generation of its code, the build from nothing (an
// empty cache of this app, and with cold of everything), and the start.
func hundred(cold bool) ([]figure, error) {
	dir, err := os.MkdirTemp("", "koan-bench-app-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := largeApp(dir); err != nil {
		return nil, err
	}
	var out []figure
	timed := func(what string, env []string, args ...string) error {
		begun := time.Now()
		cmd := exec.Command("go", args...)
		cmd.Dir, cmd.Env = dir, append(append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off"), env...)
		if text, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", what, err, text)
		}
		out = append(out, figure{what, fmt.Sprintf("%.1f s", time.Since(begun).Seconds()), ""})
		return nil
	}
	what := fmt.Sprintf("%d entities: ", entities)
	if err := timed(what+"go generate", nil, "generate", "./ent"); err != nil {
		return nil, err
	}
	if err := timed(what+"first build, dependencies built before", nil, "build", "-o", "app", "."); err != nil {
		return nil, err
	}
	if cold {
		if err := timed(what+"build with an empty cache", []string{"GOCACHE=" + filepath.Join(dir, "cache")}, "build", "-o", "app", "."); err != nil {
			return nil, err
		}
	}
	app := filepath.Join(dir, "app")
	fresh, err := median(rounds, func() (float64, error) { return startToReady(app) })
	if err != nil {
		return nil, err
	}
	data := filepath.Join(dir, "data")
	again, err := median(rounds, func() (float64, error) { return startOver(app, data) })
	if err != nil {
		return nil, err
	}
	return append(out,
		figure{what + "first start to ready, tables made", fmt.Sprintf("%.0f ms", fresh), ""},
		figure{what + "start to ready", fmt.Sprintf("%.0f ms", again), "300 ms"}), nil
}

// largeApp writes the app's module: a main, and schemas of 12 fields in groups of
// ten that refer to each other.
func largeApp(dir string) error {
	root, err := filepath.Abs(".")
	if err != nil {
		return err
	}
	module, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return err
	}
	sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		return err
	}
	// The same requirements as koan's own, so that nothing is to be looked up.
	mod := strings.Replace(string(module), "module github.com/koan-go/koan", "module example.org/large", 1)
	mod += "\nrequire github.com/koan-go/koan v0.0.0\n\nreplace github.com/koan-go/koan => " + root + "\n"
	var schemas strings.Builder
	schemas.WriteString(schemaHead)
	for i := range entities {
		first := i / 10 * 10
		fmt.Fprintf(&schemas, schemaText, i, first+(i+1)%10, first+(i+9)%10)
	}
	for name, text := range map[string]string{
		"go.mod": mod, "go.sum": string(sums), "main.go": largeMain, "ent/generate.go": "package ent\n\n//go:generate go run -mod=mod entc.go\n",
		"ent/entc.go": largeEntc, "ent/schema/schema.go": schemas.String(),
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

const largeMain = `package main

import (
	"github.com/koan-go/koan/framework"

	"example.org/large/ent"
)

func main() {
	framework.Main(framework.App{Name: "large", Entities: ent.Entities()})
}
`

const largeEntc = `//go:build ignore

package main

import (
	"log"

	"entgo.io/ent/entc"
	"entgo.io/ent/entc/gen"
	"github.com/koan-go/koan/entities/entgen"
)

func main() {
	if err := entc.Generate("./schema", &gen.Config{}, entc.Extensions(entgen.New())); err != nil {
		log.Fatal(err)
	}
}
`

const schemaHead = `package schema

import (
	"time"

	"entgo.io/ent"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"
	"github.com/google/uuid"
	"github.com/koan-go/koan/entities/expose"
)
`

// schemaText takes the number of the entity, and those of the next one and of the
// one before it in its group.
const schemaText = `
type Thing%02[1]d struct{ ent.Schema }

func (Thing%02[1]d) Annotations() []schema.Annotation {
	return []schema.Annotation{expose.Entity{Description: "A thing of kind %[1]d, with everything that things have.", Version: "version"}}
}

func (Thing%02[1]d) Fields() []ent.Field {
	return []ent.Field{
		field.UUID("id", uuid.UUID{}).Default(uuid.New),
		field.String("title").NotEmpty().MaxLen(200).Annotations(expose.Field{Description: "What it is called.", Searchable: expose.Yes()}),
		field.Text("notes").Optional().Nillable(),
		field.Enum("state").Values("open", "closed", "waiting").Default("open"),
		field.Int("rank").Default(0),
		field.Float("weight").Optional().Nillable(),
		field.Bool("done").Default(false),
		field.Time("due_at").Optional().Nillable(),
		field.Strings("tags").Optional(),
		field.JSON("details", map[string]any{}).Optional(),
		field.Time("created_at").Default(time.Now).Immutable(),
		field.Time("updated_at").Default(time.Now).UpdateDefault(time.Now),
		field.Int("version").Default(1),
	}
}

func (Thing%02[1]d) Edges() []ent.Edge {
	return []ent.Edge{
		edge.To("parts", Thing%02[2]d.Type),
		edge.From("whole", Thing%02[3]d.Type).Ref("parts").Unique(),
	}
}
`
