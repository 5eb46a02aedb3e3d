package model

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/entities/internal/library"
	"github.com/koan-go/koan/entities/internal/read"
	"github.com/koan-go/koan/entities/shim"
	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exposure"
)

// Who may not read authors cannot read them through their books, nor ask
// questions about them in a filter.
func TestEdgesEndWhereRightsEnd(t *testing.T) {
	graph := library.Graph()
	app := &shim.App{Graph: graph}
	for _, e := range graph.Entities {
		app.Kinds = append(app.Kinds, &shim.Kind{Type: e.Resource.Name, Entity: e})
	}
	operation := func(entity string, scopes ...string) *catalog.Operation {
		return &catalog.Operation{
			ID: catalog.EntityID(entity, "collection"),
			Contract: catalog.Contract{
				Input: json.RawMessage(`{}`), Output: json.RawMessage(`{}`), Scopes: scopes,
				Effects: catalog.Effects{ReadOnly: true},
			},
			Listing: catalog.Listing{Reach: catalog.Everywhere},
			Work:    catalog.Work{Handler: func(context.Context, catalog.Call) (json.RawMessage, error) { return nil, nil }},
		}
	}
	offer := catalog.Offer{Operations: []*catalog.Operation{operation("Book"), operation("Tag"), operation("Author", "authors:read")}}
	for _, e := range graph.Entities {
		r := e.Resource
		r.Operations = []string{"collection"}
		offer.Resources = append(offer.Resources, &r)
	}
	snapshot, err := catalog.NewSnapshot(offer)
	require.NoError(t, err)
	for name, c := range map[string]struct {
		scopes []string
		sees   bool
	}{"without the scope": {nil, false}, "with it": {[]string{"authors:read"}, true}} {
		t.Run(name, func(t *testing.T) {
			who := auth.Principal{Subject: "x", Scopes: c.scopes}
			g := New(app).As(snapshot.View(who, exposure.Full, false).At(catalog.SurfaceApp)).App.Graph
			for _, input := range []string{
				`{"with":"author"}`, `{"with":{"author":true}}`, `{"filter":{"author":{"name":"x"}}}`,
				`{"filter":{"tags":{"$some":{"books":{"$some":{"author":null}}}}}}`, `{"with":"tags.books.author"}`,
			} {
				_, err := read.DecodeCollection([]byte(input), g.Entity("Book"), g)
				require.Equal(t, c.sees, err == nil, input)
			}
			for _, input := range []string{`{"groupBy":"author"}`, `{"count":{"distinct":"author"}}`, `{"min":"author"}`, `{"filter":{"author":{"name":"x"}}}`} {
				_, err := read.DecodeAggregate([]byte(input), g.Entity("Book"), g)
				require.Equal(t, c.sees, err == nil, input)
			}
			got, err := read.DecodeCollection([]byte(`{"with":"all"}`), g.Entity("Book"), g)
			require.NoError(t, err)
			require.NotNil(t, got)
		})
	}
}
