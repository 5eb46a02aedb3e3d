package codemode

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"

	"github.com/koan-go/koan/codemode/internal/bind"
	"github.com/koan-go/koan/codemode/internal/language"
	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/catalog"
)

// Bounds of the results of a search.
const (
	detailName    = "name"
	detailSummary = "summary"
	detailFull    = "full"
)

const (
	defaultHits = 10
	maxHits     = 50
	// maxEcho is how much of a query a result repeats, in characters.
	maxEcho = 200
)

// found is one result of koan.code.search.
type found struct {
	ID          string  `json:"id"`
	Name        string  `json:"name"`
	Summary     string  `json:"summary,omitempty"`
	Score       float64 `json:"score"`
	Declaration string  `json:"declaration,omitempty"`
}

// searchInput is the input of koan.code.search.
type searchInput struct {
	query, detail, language string
	limit                   int
}

func decodeSearch(in catalog.Input) (catalog.Decoded, error) {
	v, err := searchMembers.read(in.JSON)
	return catalog.Decoded{Value: searchInput{v.text("query"), cmp.Or(v.text("detail"), detailSummary), v.text(languageName), int(cmp.Or(v.number("limit"), defaultHits))}}, err
}

// search serves koan.code.search.
func (k koanFace) search(ctx context.Context, call catalog.Call) (json.RawMessage, error) {
	in := call.Decoded().(searchInput)
	if in.language == "" {
		in.language = k.scripts.first()
	}
	if err := k.scripts.admitLanguage(in.language); err != nil {
		return nil, err
	}
	finds := sourceOf(in.language).Finds()
	call, missing, release := k.scripts.tools.await(ctx, call, everyServer, nil)
	defer func() { release() }()
	v := call.View()
	hits := v.Search(in.query, in.limit)
	if len(hits) == 0 {
		release()
		call, _, release = k.scripts.tools.await(ctx, call, noServer, those(everyServer))
		v = call.View()
		hits = v.Search(in.query, in.limit)
	}
	out := struct {
		Query    string   `json:"query"`
		Results  []found  `json:"results"`
		Unlisted []string `json:"unlisted,omitempty"` // servers whose tools are not known
	}{beginning(in.query, maxEcho), []found{}, missing.names()}
	declared := map[string]bool{} // entities whose fields are in an earlier result
	for _, h := range hits {
		f := found{ID: h.ID(), Score: h.Score}
		f.Name, f.Summary = describe(v, h)
		switch in.detail {
		case detailName:
			f.Summary = ""
		case detailFull:
			f.Declaration = declare(finds, v, h, declared)
		}
		out.Results = append(out.Results, f)
	}
	return wire.Marshal(out)
}

// describe names a hit as a script writes it.
func describe(v *catalog.View, h catalog.Hit) (name, summary string) {
	if r := h.Resource; r != nil {
		return "SDK.Entities." + r.Name, r.Description
	}
	return sdkName(v, h.Operation.ID), h.Operation.Summary
}

// declare returns a hit's declaration in a language; those of one search can be pasted together.
func declare(finds language.Finds, v *catalog.View, h catalog.Hit, declared map[string]bool) (text string) {
	switch {
	case h.Resource != nil:
		declared[h.Resource.Name] = true
		text, _ = finds.Block(v, h.Resource.Name)
	case h.Operation.ID.Kind == catalog.KindEntity:
		owner := h.Operation.ID.Owner
		text, _ = finds.Method(v, h.Operation.ID, !declared[owner])
		declared[owner] = true
	default:
		text, _ = finds.Function(v, h.Operation.ID)
	}
	return text
}

// sdkName is how a script calls an operation.
func sdkName(v *catalog.View, id catalog.ID) string {
	if id.Kind == catalog.KindEntity {
		if op, ok := catalog.EntityOperationNamed(id.Op); ok {
			return "SDK.Entities." + id.Owner + "." + op.Methods[0].Name
		}
	}
	for _, d := range bind.Bind(v).Domains {
		for _, f := range d.Functions {
			if f.ID == id.String() {
				return "SDK." + d.Name + "." + f.Name
			}
		}
	}
	for _, d := range bind.Bind(v).Upstreams {
		for _, f := range d.Functions {
			if f.ID == id.String() {
				return catalog.SDKServer(d.Name) + "." + f.Name
			}
		}
		if f, ok := catalog.ServerFunctionOf(id); ok && d.Name == id.Owner {
			return catalog.SDKServer(d.Name) + "." + f.Op()
		}
		if d.Any == id.String() {
			return catalog.SDKServer(d.Name)
		}
	}
	return "SDK." + strings.Join(catalog.SDKPath(id), ".")
}
