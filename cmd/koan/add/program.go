package add

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"text/template"
)

// addExtension adds Koan's extension to the call of entc.Generate in a program, and
// returns the program. It returns nil if the source cannot be edited that way.
func addExtension(name string, src []byte) ([]byte, error) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	if importedAs(f, entgenImport) != "" {
		return src, nil
	}
	tf := fset.File(f.Pos())
	entc := importedAs(f, entcImport)
	call := generateCall(f)
	if call == nil || len(call.Args) < 2 {
		return nil, nil
	}
	entgen, edits := imported(tf, src, f, entgenImport, entcImport, func(name string) bool { return !declares(f, name) })
	extension := entgen + ".New()"
	option := entc + ".Extensions(" + extension + ")"
	last := call.Args[len(call.Args)-1]
	switch {
	case call.Ellipsis.IsValid():
		edits = append(edits, edit{at: tf.Offset(last.Pos()), text: "append("}, edit{at: tf.Offset(last.End()), text: ", " + option + ")"})
	case len(call.Args) > 2 && extensions(last, entc) != nil:
		c := extensions(last, entc)
		edits = append(edits, appended(tf, src, c.Args, c.Lparen, c.Rparen, extension))
	default:
		edits = append(edits, appended(tf, src, call.Args, call.Lparen, call.Rparen, option))
	}
	return apply(src, edits)
}

// extensions returns a call of entc.Extensions to which an argument can be added, nil for
// anything else.
func extensions(e ast.Expr, entc string) *ast.CallExpr {
	c, ok := e.(*ast.CallExpr)
	if !ok || !selects(c.Fun, entc, "Extensions") || c.Ellipsis.IsValid() {
		return nil
	}
	return c
}

var programTemplate = template.Must(template.New("entc.go").Funcs(template.FuncMap{"quote": strconv.Quote, "goString": block, "join": quoted}).Parse(`//go:build ignore

package main

import (
	"log"

	"` + entcImport + `"
	"` + genImport + `"
{{- if .IDType }}
	"` + fieldImport + `"
{{- end }}
	"` + entgenImport + `"
)

func main() {
	err := entc.Generate({{ quote .Path }}, &gen.Config{
{{- with .Header }}
		Header: {{ goString . }},
{{- end }}
{{- with .Target }}
		Target: {{ quote . }},
		Package: {{ quote $.Package }},
{{- end }}
{{- with .IDType }}
		IDType: &field.TypeInfo{Type: field.{{ . }}},
{{- end }}
	},
{{- with .Features }}
		entc.FeatureNames({{ join . }}),
{{- end }}
{{- range .Templates }}
		entc.{{ .Option }}({{ quote .Path }}),
{{- end }}
		entc.Extensions(entgen.New()),
	)
	if err != nil {
		log.Fatal("running ent codegen: ", err)
	}
}
`))

// block writes a text as a Go string, over several lines if the text has them.
func block(s string) string {
	if strings.Contains(s, "\n") && !strings.ContainsAny(s, "`\r\uFEFF") {
		return "`" + s + "`"
	}
	return strconv.Quote(s)
}

func quoted(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = strconv.Quote(w)
	}
	return strings.Join(out, ", ")
}

// newProgram returns a program that does what ent's command does, with Koan's extension.
func newProgram(g *generator, m *module) ([]byte, error) {
	type templates struct{ Option, Path string }
	data := struct {
		Path, Header, Target, Package, IDType string
		Features                              []string
		Templates                             []templates
	}{Path: g.command.path, Header: g.command.header, Target: g.command.target, IDType: idTypes[g.command.idType], Features: g.command.features}
	if data.Target != "" {
		data.Package = m.importPath(g.target)
	}
	for _, t := range g.command.templates {
		one := templates{"TemplateDir", t}
		if kind, path, found := strings.Cut(t, "="); found {
			one = templates{map[string]string{"dir": "TemplateDir", "file": "TemplateFiles", "glob": "TemplateGlob"}[kind], path}
		}
		data.Templates = append(data.Templates, one)
	}
	var b bytes.Buffer
	if err := programTemplate.Execute(&b, data); err != nil {
		return nil, err
	}
	out, err := format.Source(b.Bytes())
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, b.Bytes())
	}
	return out, nil
}
