package catalog_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exposure"
)

// large is a view of 2,000 operations over 200 entities.
func large(t testing.TB) *catalog.View {
	ops := []string{"collection", "get-by-id", "new", "upsert", "upsert-many", "patch", "delete", "delete-many", "count", "aggregate"}
	nouns := []string{"Order", "Invoice", "Customer", "Shipment", "Product", "Ticket", "Payment", "Contract", "Meeting", "Asset"}
	var o catalog.Offer
	for i := range 200 {
		r := &catalog.Resource{Name: fmt.Sprintf("%s%dRecord", nouns[i%10], i), Description: "Keeps what the office knows of " + nouns[i%10] + ", since when, and who asked.", Operations: ops}
		for j := range 12 {
			r.Fields = append(r.Fields, catalog.Field{Name: fmt.Sprintf("field%dOf%s", j, nouns[j%10]), Description: "What the customer said when the order came in.", Enum: []string{"open", "closed"}})
		}
		o.Resources = append(o.Resources, r)
		for _, op := range ops {
			o.Operations = append(o.Operations, &catalog.Operation{
				ID: catalog.EntityID(r.Name, op), Resource: r.Name,
				Contract: catalog.Contract{
					Input:  json.RawMessage(`{"type":"object","properties":{"filter":{"type":"object"},"sort":{},"pageSize":{},"with":{},"set":{}}}`),
					Output: json.RawMessage(`{}`),
				},
				Listing: catalog.Listing{Summary: "Does " + op + " of the records, one or many, as the caller asks.", Reach: catalog.Everywhere},
				Work: catalog.Work{
					Handler: func(context.Context, catalog.Call) (json.RawMessage, error) { return nil, nil },
				},
			})
		}
	}
	s, err := catalog.NewSnapshot(o)
	require.NoError(t, err)
	return s.View(auth.Local(), exposure.Full, false)
}

var queries = []string{"order", "customer records open", "collection of invoices with what the customer said", "Product4Record upsert", "f", ""}

func BenchmarkSearch2000(b *testing.B) {
	v := large(b)
	v.Search("order", 10)
	for i := range b.N {
		v.Search(queries[i%len(queries)], 10)
	}
	b.ReportMetric(b.Elapsed().Seconds()*1000/float64(b.N), "ms")
}

// BenchmarkSearchIndex2000 is what the first search of a view costs beside.
func BenchmarkSearchIndex2000(b *testing.B) {
	for range b.N {
		b.StopTimer()
		v := large(b)
		b.StartTimer()
		v.Search("order", 10)
	}
	b.ReportMetric(b.Elapsed().Seconds()*1000/float64(b.N), "ms")
}
