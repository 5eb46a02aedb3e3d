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

//go:embed rules.go.tmpl
var rulesSource string

var tmpl = template.Must(template.New(File).Funcs(template.FuncMap{
	"literal": literal,
	"lower":   func(s string) string { return strings.ToLower(s[:1]) + s[1:] },
	"quote":   quote,
	"base":    gen.Funcs["base"],
}).Parse(source))

var _ = template.Must(tmpl.New("rules").Parse(rulesSource))

// render writes the file and formats it.
func (m *model) render(api API) ([]byte, error) {
	var b bytes.Buffer
	err := tmpl.Execute(&b, map[string]any{
		"Runtime": m.runtime && !m.circle, "Forgotten": m.runtimeVariable(), "Package": m.graph.Config.Package, "Kinds": m.kinds, "Hash": m.hash, "Imports": m.imports, "API": api,
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

// runtimeVariable names a variable that is nil when the app did not import ent/runtime,
// with its package; it is empty where nothing can be forgotten.
func (m *model) runtimeVariable() (out struct{ Path, Name string }) {
	if !m.circle {
		return out
	}
	for _, k := range m.kinds {
		name := ""
		for _, f := range append([]*gen.Field{k.ID}, k.Fields...) {
			if f.Default && f.DefaultFunc() {
				name = f.DefaultName()
			}
		}
		switch {
		case k.NumPolicy() > 0:
			name = "Policy"
		case k.NumInterceptors() > 0:
			name = "Interceptors[0]"
		case k.NumHooks() > 0:
			name = "Hooks[0]"
		}
		if name != "" {
			out.Name = name
			out.Path = m.graph.Package + "/" + k.PackageDir()
			return out
		}
	}
	return out
}
