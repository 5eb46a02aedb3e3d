package restapi

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"html/template"
	"net/http"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
)

//go:embed docs.css
var docsStyle string

//go:embed docs.html
var docsText string

var docsPage = template.Must(template.New("docs").Parse(docsText))

// docsPolicy lets the page have its one style sheet and nothing else.
var docsPolicy = func() string {
	sum := sha256.Sum256([]byte(docsStyle))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
}()

type docsKey struct{}

// serveDocs serves GET /docs: the OpenAPI document as a page. It is made here and has no
// script, so that it needs no bundle of somebody else's and no exception from the policy.
func (h documentRoutes) serveDocs(w http.ResponseWriter, r *http.Request) {
	if !h.allows(w, r, http.MethodGet) {
		return
	}
	page := catalog.Memo(h.view(auth.From(r.Context())), docsKey{}, func() []byte { return h.docs(h.view(auth.From(r.Context()))) })
	w.Header().Set("Content-Security-Policy", docsPolicy)
	h.write(w, http.StatusOK, "text/html; charset=utf-8", page)
}

// docsOperation is an operation as the page shows it.
type docsOperation struct {
	Path, Method, ID, Summary, Description string
	Parameters                             []docsParameter
	Body, Example, Returns                 string
}

type docsParameter struct{ Name, In, Description string }

// docsTag is a section of the page.
type docsTag struct {
	Name       string
	Operations []docsOperation
}

func (h documentRoutes) docs(v *catalog.View) []byte {
	doc := h.document(v)
	var tags []docsTag
	for _, item := range doc.paths {
		op := docsOperationOf(item)
		name := item.operation["tags"].([]string)[0]
		at := -1
		for i := range tags {
			if tags[i].Name == name {
				at = i
			}
		}
		if at < 0 {
			tags, at = append(tags, docsTag{Name: name}), len(tags)
		}
		tags[at].Operations = append(tags[at].Operations, op)
	}
	var components struct {
		Components struct{ Schemas map[string]json.RawMessage }
	}
	_ = json.Unmarshal(doc.text, &components) // we made it
	schemas := map[string]string{}
	for name, s := range components.Components.Schemas {
		schemas[name] = indented(s)
	}
	var out bytes.Buffer
	err := docsPage.Execute(&out, map[string]any{
		"Name": h.opts.Name, "Version": h.opts.Version, "Description": h.opts.Description, "Style": template.CSS(docsStyle), "Tags": tags, "Schemas": schemas,
	})
	if err != nil { // the template fits the data
		panic("restapi: the page of the API cannot be made: " + err.Error())
	}
	return out.Bytes()
}

func docsOperationOf(item pathItem) docsOperation {
	o := item.operation
	out := docsOperation{Path: item.Path, Method: item.Method}
	out.ID, _ = o["operationId"].(string)
	out.Summary, _ = o["summary"].(string)
	out.Description, _ = o["description"].(string)
	parameters, _ := o["parameters"].([]node)
	for _, p := range parameters {
		about, _ := p["description"].(string)
		out.Parameters = append(out.Parameters, docsParameter{p["name"].(string), p["in"].(string), about})
	}
	if body, ok := o["requestBody"].(node); ok {
		content, _ := body["content"].(node)[jsonType].(node) // nil: a file
		if out.Body = "The file."; content != nil {
			out.Body = indented(content["schema"])
		}
		if example, ok := content["example"]; ok {
			out.Example = indented(example)
		}
	}
	for _, status := range []string{"201", "200"} {
		response, _ := o["responses"].(node)[status].(node)
		content, _ := response["content"].(node)
		if one, ok := content[jsonType].(node); ok {
			out.Returns = indented(one["schema"])
		}
	}
	return out
}

func indented(v any) string {
	raw, err := json.MarshalIndent(v, "", "  ")
	if err != nil { // parts of a document that is JSON
		return ""
	}
	return string(raw)
}
