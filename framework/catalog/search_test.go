package catalog_test

import (
	"context"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exposure"
)

func searchView(t testing.TB) *catalog.View {
	handler := func(context.Context, catalog.Call) (json.RawMessage, error) { return nil, nil }
	op := func(id catalog.ID, resource, summary string) *catalog.Operation {
		return &catalog.Operation{ID: id, Resource: resource, Contract: catalog.Contract{Input: json.RawMessage("{}"), Output: json.RawMessage("{}")}, Listing: catalog.Listing{Summary: summary, Reach: catalog.Everywhere}, Work: catalog.Work{Handler: handler}}
	}
	secret := op(catalog.EntityID("Payroll", "collection"), "Payroll", "Lists salaries.")
	secret.Scopes = []string{"hr"}
	detect := op(catalog.PluginID("vision", "detect"), "", "Reads barcodes from a photo.")
	detect.Output = json.RawMessage(`{"properties":{"codes":{"items":{"properties":{"confidence":{"description":"Share of the readings."},"format":{"enum":["ean13"]}}}}}}`)
	s, err := catalog.NewSnapshot(catalog.Offer{
		Resources: []*catalog.Resource{
			{Name: "PantryItem", Description: "Food in the house.", Operations: []string{"collection", "upsert"}, Fields: []catalog.Field{{Name: "expiresAt", Type: catalog.TypeTime, Aliases: []string{"best before"}}, {Name: "location", Enum: []string{"fridge", "freezer"}}, {Name: "pin", Aliases: []string{"passcode"}, Sensitive: true}}, Edges: []catalog.Edge{{Name: "usedIn", Target: "Recipe", Aliases: []string{"brand"}}}},
			{Name: "Recipe", Aliases: []string{"cookbook"}, Description: "How a dish is cooked at home.", Operations: []string{"collection"}, Fields: []catalog.Field{{Name: "cuisine"}}},
			{Name: "Payroll", Operations: []string{"collection"}},
		},
		Operations: []*catalog.Operation{
			op(catalog.EntityID("PantryItem", "collection"), "PantryItem", "Lists pantry items."),
			op(catalog.EntityID("PantryItem", "upsert"), "PantryItem", "Creates or updates a pantry item."),
			op(catalog.EntityID("Recipe", "collection"), "Recipe", "Lists recipes."),
			detect,
			secret,
		},
	})
	require.NoError(t, err)
	return s.View(auth.Principal{Scopes: []string{catalog.ScopeWrite, catalog.ScopeCall}, Sets: []string{auth.All}}, exposure.Full, false)
}

func TestSearch(t *testing.T) {
	v := searchView(t)
	for _, tt := range []struct{ name, query, first string }{
		{"an entity by its name", "PantryItem", "koan::PantryItem"},
		{"by words, in plural", "pantry items", "koan::PantryItem"},
		{"a field", "expires", "koan::PantryItem"},
		{"a value", "freezer", "koan::PantryItem"},
		{"a description", "cooked dish", "koan::Recipe"},
		{"a function", "read a barcode", "plugin::vision.detect"},
		{"what a function gives", "confidence", "plugin::vision.detect"},
		{"a value that it gives", "ean13", "plugin::vision.detect"},
		{"an operation", "create pantry item", "koan::PantryItem.upsert"},
		{"an entity's name", "PantryItem", "koan::PantryItem"},
		{"an operation's name", "pantry item upsert", "koan::PantryItem.upsert"},
		{"as a script calls it", "SDK.Entities.PantryItem.upsert()", "koan::PantryItem.upsert"},
		{"a function as a script calls it", "SDK.Vision.detect", "plugin::vision.detect"},
		{"a field by its whole name", "expiresAt", "koan::PantryItem"},
		{"a beginning", "cuis", "koan::Recipe"},
		{"another form of a field's word", "expiring items", "koan::PantryItem"},
		{"a noun for a field's verb", "expiry date", "koan::PantryItem"},
		{"what a field's values are", "date", "koan::PantryItem"},
		{"another noun for it", "what is past its expiration", "koan::PantryItem"},
		{"an alias of a field", "best-before", "koan::PantryItem"},
		{"an alias of a relationship", "brands", "koan::PantryItem"},
		{"an alias of an entity", "Cookbooks", "koan::Recipe"},
		{"another word for an operation", "add a pantry item", "koan::PantryItem.upsert"},
		{"another form of a word in a description", "cooking", "koan::Recipe"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			hits := v.Search(tt.query, 10)
			require.NotEmpty(t, hits)
			require.Equal(t, tt.first, hits[0].ID())
			require.Positive(t, hits[0].Score)
			require.Equal(t, hits, v.Search(tt.query, 10), "the order is always the same")
		})
	}
	for _, nothing := range []string{"payroll", "salaries", "pin", "passcode", "zzz"} {
		require.Empty(t, v.Search(nothing, 10), nothing)
	}
	require.Len(t, v.Search("", 100), 6)
	require.Len(t, v.Search("pantry", 1), 1)
	require.Empty(t, v.Search("pantry", 0))
}

// Other words count less than the word that was asked for, and other owners less than the
// one that was named.
func TestSearchPrefersWhatWasSaid(t *testing.T) {
	var o catalog.Offer
	for id, summary := range map[string]string{
		"maps::directions": "Get directions between two points.", "maps::distance": "Calculate travel distance.", "files::create_directory": "Creates one, in a direction.",
		"notes::create_page": "Create a page.", "notes::delete_page": "Delete a page.", "wiki::create_page": "Create a page.", "wiki::list_pages": "Lists pages, in a direction.",
		"files::tree": "Shows a tree, in a direction.", "files::list": "Lists files, in a direction.", "everything::evaluate": "Evaluate JavaScript.",
	} {
		owner, name, _ := strings.Cut(id, "::")
		o.Operations = append(o.Operations, &catalog.Operation{
			ID:       catalog.PluginID(owner, name),
			Contract: catalog.Contract{Input: json.RawMessage("{}"), Output: json.RawMessage("{}")},
			Listing:  catalog.Listing{Summary: summary, Reach: catalog.Everywhere},
			Work: catalog.Work{
				Handler: func(context.Context, catalog.Call) (json.RawMessage, error) { return nil, nil },
			},
		})
	}
	s, err := catalog.NewSnapshot(o)
	require.NoError(t, err)
	v := s.View(auth.Local(), exposure.Full, false)
	for query, first := range map[string]string{
		"directions":                  "plugin::maps.directions",
		"put a page into the wiki":    "plugin::wiki.create_page",
		"which pages are in the wiki": "plugin::wiki.list_pages",
		"ditch the page":              "plugin::notes.delete_page",
		"I threw the page away":       "plugin::notes.delete_page",
		"list everything in the wiki": "plugin::wiki.list_pages", // a word as common as that does not name its owner
		"javascript":                  "plugin::everything.evaluate",
		"how far is it":               "plugin::maps.distance",
	} {
		hits := v.Search(query, 3)
		require.NotEmpty(t, hits, query)
		require.Equal(t, first, hits[0].ID(), query)
	}
}

func FuzzSearch(f *testing.F) {
	for _, s := range []string{"", "pantry", "PantryItem.upsert", "ÄÖ items \xff", "::", "a b c d e f"} {
		f.Add(s, 5)
	}
	v := searchView(f)
	f.Fuzz(func(t *testing.T, query string, limit int) {
		hits := v.Search(query, limit)
		require.LessOrEqual(t, len(hits), max(limit, 0))
		for i, h := range hits {
			require.False(t, math.IsNaN(h.Score))
			if i > 0 {
				require.GreaterOrEqual(t, hits[i-1].Score, h.Score)
			}
		}
	})
}
