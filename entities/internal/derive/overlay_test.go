package derive_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/entities/internal/derive"
)

func TestOverlaysChangeWhatIsServed(t *testing.T) {
	text, err := os.ReadFile("testdata/shop.sql")
	require.NoError(t, err)
	o, err := derive.ParseOverlay(map[string]string{
		"Buyer.table": "customers", "Buyer.description": "Who buys.",
		"Buyer.fields.email.hidden": "true", "Buyer.fields.name.searchable": "true", "Buyer.fields.code.description": "Secret.",
		"Buyer.relationships.sponsor.via": "referred_by",
		"Order.relationships.payer.via":   "billingCustomerId", "Order.relationships.shippingCustomer.hidden": "true",
		"Log.hidden": "true", "ProductTag.table": "product_tags", "Tag.operations": `["count","collection"]`,
	})
	require.NoError(t, err)
	s := open(t, file(t, string(text)), o)
	s.checkReach()
	buyer := s.entity("Buyer")
	require.Nil(t, s.Graph.Entity("Customer"))
	require.Nil(t, s.Graph.Entity("Log"))
	require.Equal(t, "Who buys.", buyer.Resource.Description)
	require.Nil(t, buyer.Resource.Field("email"))
	require.True(t, buyer.Resource.Searchable)
	require.Equal(t, "Buyer", buyer.Resource.Edge("sponsor").Target)
	require.Equal(t, "Buyer", s.entity("Order").Resource.Edge("payer").Target)
	require.Nil(t, s.entity("Order").Resource.Edge("shippingCustomer"))
	require.Empty(t, s.entity("Order").Resource.Field("shippingCustomerId").Edge)
	require.NotNil(t, s.entity("ProductTag"), "a table that is named is an entity")
	require.Equal(t, []string{"count", "collection"}, s.entity("Tag").Resource.Operations)
}

func TestOverlaysThatSayNothingKnown(t *testing.T) {
	_, err := derive.ParseOverlay(map[string]string{
		"Order.tabel": "x", "Order.hidden": "perhaps", "Order.fields.a.shown": "true", "Order.relationships.b.along": "x", "Order.policy.read": "true", "Order.sets": "[a]", "Order": "x", "Order.exposure": "some",
	})
	for _, want := range []string{
		`entities.Order.tabel is unknown; did you mean "table"?`, "entities.Order.hidden must be true or false", "entities.Order.fields.a.shown is unknown", "entities.Order.relationships.b.along is unknown",
		"entities.Order.policy.read is not supported yet", "entities.Order.sets is not supported", "entities.Order must have keys below it", "entities.Order.exposure must be auto, code, tools or full",
	} {
		require.ErrorContains(t, err, want)
	}
}

func FuzzParseOverlay(f *testing.F) {
	f.Add("Order.fields.a.hidden", "true")
	f.Add("Order.operations", `["count"]`)
	f.Add("..", "")
	f.Fuzz(func(t *testing.T, key, value string) {
		_, err := derive.ParseOverlay(map[string]string{key: value})
		one := derive.CheckKey(key, value)
		require.Equal(t, err == nil, one == nil, "%v and %v", err, one)
	})
}
