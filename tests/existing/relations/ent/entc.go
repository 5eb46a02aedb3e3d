//go:build ignore

package main

import (
	"log"

	"entgo.io/ent/entc"
	"entgo.io/ent/entc/gen"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"
)

func main() {
	opts := []entc.Option{
		entc.Extensions(encoding{}),
		entc.FeatureNames("privacy", "entql", "schema/snapshot", "sql/versioned-migration", "intercept"),
		entc.Dependency(entc.DependencyName("Journal"), entc.DependencyTypeInfo(&field.TypeInfo{Ident: "io.Writer", PkgPath: "io"})),
		entc.TemplateFiles("template/stringer.tmpl"),
	}
	if err := entc.Generate("./schema", &gen.Config{Header: "// Code of the club, generated."}, opts...); err != nil {
		log.Fatal(err)
	}
}

// encoding gives entities a MarshalJSON of the club's own.
type encoding struct{ entc.DefaultExtension }

func (encoding) Templates() []*gen.Template {
	return []*gen.Template{gen.MustParse(gen.NewTemplate("model/additional/encoding").Parse(`
{{ if $.Edges }}
// MarshalJSON has the edges beside the fields.
func ({{ $.Receiver }} *{{ $.Name }}) MarshalJSON() ([]byte, error) {
	type alias {{ $.Name }}
	return json.Marshal(struct {
		*alias
		{{ $.Name }}Edges
	}{(*alias)({{ $.Receiver }}), {{ $.Receiver }}.Edges})
}
{{ end }}`))}
}

func (encoding) Hooks() []gen.Hook {
	return []gen.Hook{func(next gen.Generator) gen.Generator {
		return gen.GenerateFunc(func(g *gen.Graph) error {
			for _, n := range g.Nodes {
				n.Annotations.Set(edge.Annotation{}.Name(), edge.Annotation{StructTag: `json:"-"`})
				for _, f := range n.Fields {
					f.StructTag = `club:"` + f.Name + `"`
				}
			}
			return next.Generate(g)
		})
	}}
}
