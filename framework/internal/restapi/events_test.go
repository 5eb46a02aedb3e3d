package restapi

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exposure"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/internal/feed"
)

// Whatever a request asks to follow, it is entities and sets that there are for the caller, or
// a fault that says what is wrong.
func FuzzEventRequest(f *testing.F) {
	for _, q := range []string{"", "entity=Todo&set=default", "set=tenant-a,default", "entity=todo,Person,", "set=%00", "entity=a&entity=b", "lastEventId=default:1:0123abcd", "%zz", "x=1"} {
		f.Add(q, "")
	}
	f.Add("set=default", "default:0")
	f.Add(`entity=Todo&filter={"id":"x"}`, "")
	object := json.RawMessage(`{"type":"object"}`)
	s, err := catalog.NewSnapshot(catalog.Offer{
		Resources: []*catalog.Resource{{Name: "Todo", Key: catalog.Field{Name: "id", Type: catalog.TypeID}, Sets: []string{"default", "tenant-*"}, Operations: []string{"collection"}}},
		Operations: []*catalog.Operation{{
			ID: catalog.EntityID("Todo", "collection"), Resource: "Todo",
			Contract: catalog.Contract{
				Input: object, Output: object, Example: json.RawMessage(`{}`),
				Effects: catalog.Effects{ReadOnly: true},
			},
			Listing: catalog.Listing{Title: "Todos", Summary: "Todos.", Reach: catalog.Everywhere},
			Work: catalog.Work{
				Handler: func(context.Context, catalog.Call) (json.RawMessage, error) { return object, nil },
			},
		}},
	})
	require.NoError(f, err)
	who := auth.Principal{Subject: "x", Scopes: []string{auth.All}, Sets: []string{"default", "tenant-a*"}}
	v := s.View(who, exposure.Full, false)
	require.Len(f, tableOf(v).entities, 1)
	f.Fuzz(func(t *testing.T, query, id string) {
		r := &http.Request{URL: &url.URL{RawQuery: query}, Header: http.Header{}}
		r.Header.Set(lastIDHeader, id)
		filter, lastID, err := eventRequest(r, v, who)
		if err != nil {
			f := fault.From(err)
			require.Contains(t, []fault.Code{fault.InvalidPayload, fault.UnknownSet}, f.Code)
			require.NotEmpty(t, f.Hint)
			return
		}
		for _, name := range filter.Entities {
			require.Equal(t, "Todo", name)
		}
		for _, set := range filter.Sets {
			require.True(t, who.MayName(set) && feed.ValidSet(set), "%q", set)
		}
		if id != "" {
			require.Equal(t, id, lastID, "the header is the newer one")
		}
	})
}
