package entgen

import (
	"bytes"
	_ "embed"
	"fmt"
	"go/format"
	"strings"
	"text/template"

	"entgo.io/ent/entc/gen"
)

//go:embed koan.go.tmpl
var source string

var tmpl = template.Must(template.New(File).Funcs(template.FuncMap{
	"literal": literal,
	"lower":   func(s string) string { return strings.ToLower(s[:1]) + s[1:] },
	"quote":   quote,
	"base":    gen.Funcs["base"],
}).Parse(source))

// render writes the file and formats it.
func (m *model) render() ([]byte, error) {
	var b bytes.Buffer
	imports := map[string]string{}
	for _, k := range m.kinds {
		for _, e := range k.Edges {
			if p := e.Type.ID.Type.PkgPath; p != "" {
				imports[p] = e.Type.ID.Type.PkgName
			}
		}
		if p := k.ID.Type.PkgPath; p != "" {
			imports[p] = k.ID.Type.PkgName
		}
	}
	err := tmpl.Execute(&b, map[string]any{
		"Runtime": m.runtime && !m.circle, "Forgotten": m.forgotten(), "Package": m.graph.Config.Package, "Kinds": m.kinds, "Hash": m.hash, "Imports": imports,
		"UsesJSON": bytes.Contains([]byte(m.literals()), []byte("json.RawMessage")),
	})
	if err != nil {
		return nil, fmt.Errorf("koan: %w", err)
	}
	src, err := format.Source(b.Bytes())
	if err != nil {
		return nil, fmt.Errorf("koan: the generated file does not parse: %w\n%s", err, b.Bytes())
	}
	return src, nil
}

func (m *model) literals() string {
	var b strings.Builder
	for _, k := range m.kinds {
		if k.Entity != nil {
			b.WriteString(literal(k.Entity))
		}
	}
	return b.String()
}

// forgotten names a default that is nil when the app did not import ent/runtime,
// as package and variable; it is empty where nothing can be forgotten.
func (m *model) forgotten() (out struct{ Package, Path, Name string }) {
	if !m.circle {
		return out
	}
	for _, k := range m.kinds {
		for _, f := range append([]*gen.Field{k.ID}, k.Fields...) {
			if f.Default && f.DefaultFunc() {
				out.Package, out.Name = k.PackageDir(), f.DefaultName()
				out.Path = m.graph.Package + "/" + k.PackageDir()
				return out
			}
		}
	}
	return out
}
