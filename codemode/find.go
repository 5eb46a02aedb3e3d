package codemode

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/koan-go/koan/codemode/bind"
	"github.com/koan-go/koan/codemode/typegen"
	"github.com/koan-go/koan/codemode/wire"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
)

// How much a search tells of what it finds.
const (
	detailName    = "name"
	detailSummary = "summary"
	detailFull    = "full"
)

const (
	defaultHits = 10
	maxHits     = 50
)

// found is one result of koan.code.search.
type found struct {
	ID          string  `json:"id"`
	Name        string  `json:"name"`
	Summary     string  `json:"summary,omitempty"`
	Score       float64 `json:"score"`
	Declaration string  `json:"declaration,omitempty"`
}

// search serves koan.code.search.
func (p *provider) search(_ context.Context, call catalog.Call) (json.RawMessage, error) {
	in := struct {
		Query  string  `json:"query"`
		Detail string  `json:"detail"`
		Limit  float64 `json:"limit"`
	}{Detail: detailSummary, Limit: defaultHits}
	if err := json.Unmarshal(call.Input(), &in); err != nil {
		return nil, fault.Invalid(fault.Detail{Message: "the input cannot be read: " + err.Error()})
	}
	v := call.View()
	out := struct {
		Query   string  `json:"query"`
		Results []found `json:"results"`
	}{in.Query, []found{}}
	for _, h := range v.Search(in.Query, int(in.Limit)) {
		f := found{ID: h.ID(), Score: h.Score}
		f.Name, f.Summary, f.Declaration = describe(v, h, in.Detail == detailFull)
		if in.Detail == detailName {
			f.Summary = ""
		}
		out.Results = append(out.Results, f)
	}
	return wire.Marshal(out)
}

// describe names a hit as a script writes it.
func describe(v *catalog.View, h catalog.Hit, full bool) (name, summary, declaration string) {
	if r := h.Resource; r != nil {
		if full {
			declaration, _ = typegen.Block(v, r.Name)
		}
		return "SDK.Entities." + r.Name, r.Description, declaration
	}
	id := h.Operation.ID
	if full {
		if id.Kind == catalog.KindEntity {
			declaration, _ = typegen.Method(v, id)
		} else {
			declaration, _ = typegen.Function(v, id)
		}
	}
	return sdkName(v, id), h.Operation.Summary, declaration
}

// sdkName is how a script calls an operation.
func sdkName(v *catalog.View, id catalog.ID) string {
	if id.Kind == catalog.KindEntity {
		if names := wire.Methods(id.Op); len(names) > 0 {
			return "SDK.Entities." + id.Owner + "." + names[0]
		}
	}
	for _, d := range bind.Bind(v).Domains {
		for _, f := range d.Functions {
			if f.ID == id.String() {
				return "SDK." + d.Name + "." + f.Name
			}
		}
	}
	return "SDK." + strings.Join(catalog.SDKPath(id), ".")
}
