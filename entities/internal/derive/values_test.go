package derive_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/entities/internal/derive"
	"github.com/koan-go/koan/entities/internal/inspect"
	"github.com/koan-go/koan/entities/internal/read"
	"github.com/koan-go/koan/framework/catalog"
)

func TestValuesComeOutAsTheyAreKept(t *testing.T) {
	s := shop(t)
	for _, c := range []struct{ entity, id, field, want string }{
		{"Customer", "1", "since", `"2020-02-29"`},
		{"Customer", "1", "lastSeen", `"2024-01-31T08:00:00Z"`},
		{"Customer", "1", "urlPath", `"/ann"`},
		{"Customer", "3", "urlPath", `""`},
		{"Customer", "2", "since", `null`},
		{"Customer", "2", "referredBy", `"1"`},
		{"Order", "10", "placed", `"2024-01-01 00:00:00"`}, // of texts in several forms, and of numbers
		{"Order", "11", "placed", `"2024-01-02T10:00:00"`},
		{"Order", "12", "placed", `"1704067200"`},
		{"Order", "10", "express", `true`},
		{"Order", "11", "express", `false`},
		{"Order", "12", "express", `"yes"`},
		{"Order", "13", "express", `"7"`},
		{"Order", "10", "meta", `{"gift":true,"n":"12345678901234567890"}`},
		{"Order", "11", "meta", `"no json"`},
		{"OrderDetail", "10,S-1", "unitPrice", `"9.99"`},
		{"OrderDetail", "10,S%2C2", "unitPrice", `"10.50"`},
		{"OrderDetail", "10,S%2C2", "sku", `"S,2"`},
		{"OrderDetail", "11,100%25", "quantity", `3`},
		{"OrderDetail", "12,S-1", "quantity", `"many"`},
		{"OrderDetail", "13,odd", "unitPrice", `"free"`},
		{"OrderDetail", "10,S-1", "total", `19.98`},
		{"Product", "S-1", "picture", `"AP8Q"`},
		{"Product", "odd", "title", `"/wA="`}, // bytes in a column of texts
		{"Product", "odd", "weight", `"heavy"`},
		{"Product", "S-1", "whatever", `"1"`}, // of any type
		{"WideKey", "1,2024-01-01,x%2Cy", "note", `"one"`},
		{"WideKey", "1,2024-01-01,x%2Cy", "idValue", `"a"`},
	} {
		got, err := json.Marshal(s.get(c.entity, c.id)[c.field])
		require.NoError(t, err)
		require.Equal(t, c.want, string(got), "%s %s of %s", c.entity, c.field, c.id)
	}
}

func TestWhatADatabaseSaysIsInTheDescription(t *testing.T) {
	s := shop(t)
	field := func(entity, name string) *catalog.Field {
		f := s.entity(entity).Resource.Field(name)
		require.NotNil(t, f, "%s.%s", entity, name)
		return f
	}
	require.Equal(t, []string{"active", "blocked", "gone"}, field("Customer", "status").Enum)
	require.JSONEq(t, `"active"`, string(field("Customer", "status").Default))
	require.InDelta(t, 1, *field("Customer", "rating").Min, 0)
	require.InDelta(t, 5, *field("Customer", "rating").Max, 0)
	require.Equal(t, 8, *field("Customer", "code").MaxLength)
	require.True(t, field("Customer", "name").Required)
	require.False(t, field("Customer", "status").Required)
	require.Equal(t, []string{"email"}, s.entity("Customer").UpsertBy)
	require.True(t, field("OrderDetail", "total").ReadOnly)
	require.Equal(t, 10, field("OrderDetail", "unitPrice").Precision)
	require.True(t, field("Shipment", "sentAt").Generated)
	require.Equal(t, "false", string(field("Order", "express").Default))
	require.Equal(t, inspect.View, s.Sources["BusyCustomer"].Kind)

	var edges []string
	for _, e := range s.Graph.Entities {
		for _, c := range e.Resource.Edges {
			many := ""
			if c.Many {
				many = "s"
			}
			edges = append(edges, fmt.Sprintf("%s.%s: %s%s", e.Resource.Name, c.Name, c.Target, many))
		}
	}
	slices.Sort(edges)
	require.Equal(t, strings.Fields(`
		Customer.customer:Customer Customer.customers:Customers Customer.ordersByBillingCustomer:Orders Customer.ordersByShippingCustomer:Orders Customer.profile:Profile
		Log.tagRef:Tag
		Order.billingCustomer:Customer Order.orderDetails:OrderDetails Order.shippingCustomer:Customer
		OrderDetail.order:Order OrderDetail.product:Product OrderDetail.shipments:Shipments
		Product.orderDetails:OrderDetails Product.tags:Tags
		Profile.customer:Customer
		Shipment.orderDetail:OrderDetail
		Tag.logs:Logs Tag.parent:Tag Tag.products:Products Tag.tags:Tags`), strings.Split(strings.ReplaceAll(strings.Join(edges, ","), " ", ""), ","))
	require.Equal(t, []derive.Link{{Table: "product_tags", Edges: []string{"Product.tags", "Tag.products"}}}, s.Links)
	var omitted []string
	for _, o := range s.Omitted {
		omitted = append(omitted, o.Name)
		require.NotEmpty(t, o.Reason)
	}
	require.Equal(t, []string{"notes", "broken", "orphans.gone_id"}, omitted)
}

func TestCompositeIDsFilterSortAndRefuse(t *testing.T) {
	s := shop(t)
	ids := func(input string) (out []string) {
		for _, row := range s.collection("OrderDetail", input).Items {
			out = append(out, row["id"].(string))
		}
		return out
	}
	require.Equal(t, []string{"10,S%2C2", "10,S-1", "11,100%25", "12,S-1", "13,odd"}, ids(`{}`))
	require.Equal(t, []string{"13,odd", "12,S-1", "11,100%25", "10,S-1", "10,S%2C2"}, ids(`{"sort":"-id"}`))
	require.Equal(t, []string{"10,S-1", "12,S-1"}, ids(`{"filter":{"id":{"$in":["10,S-1","12,S-1"]}}}`))
	require.Equal(t, []string{"10,S%2C2", "11,100%25", "13,odd"}, ids(`{"filter":{"id":{"$nin":["10,S-1","12,S-1"]}}}`))
	require.Equal(t, []string{"12,S-1", "13,odd"}, ids(`{"filter":{"id":{"$gt":"11,100%25"}}}`))
	require.Equal(t, []string{"10,S-1"}, ids(`{"filter":{"shipments":{"$some":{"id":3}}}}`))
	require.Equal(t, []string{"10,S%2C2", "10,S-1"}, ids(`{"filter":{"order":{"billingCustomer":{"name":"Ann"}},"product":{"tags":{"$some":{"label":"kitchen"}}}}}`))
	plan := ""
	require.NoError(t, s.db.QueryRow(`EXPLAIN QUERY PLAN SELECT 1 FROM "Order Details" AS t0 WHERE (t0."order_id"=1 AND t0."sku"='x')`).Scan(new(int), new(int), new(int), &plan))
	require.Contains(t, plan, "SEARCH")
	for _, id := range []string{`"10"`, `"10,S,1"`, `10`, `"10,%zz"`} {
		_, err := decodeGet(s, "OrderDetail", id)
		require.Error(t, err, id)
	}
}

// Aggregates and sorts show values as the rows themselves do.
func TestAggregatesShowValuesAsTheyAreKept(t *testing.T) {
	s := shop(t)
	for input, want := range map[string]string{
		`Order {"groupBy":"express","sort":"express"}`:                                                               `[{"express":false,"count":1},{"express":true,"count":1},{"express":"7","count":1},{"express":"yes","count":1}]`,
		`Order {"groupBy":"placed","sort":"placed"}`:                                                                 `[{"placed":null,"count":1},{"placed":"1704067200","count":1},{"placed":"2024-01-01 00:00:00","count":1},{"placed":"2024-01-02T10:00:00","count":1}]`,
		`Customer {"groupBy":[{"field":"lastSeen","by":"month"}],"sort":"lastSeenMonth"}`:                            `[{"lastSeenMonth":null,"count":1},{"lastSeenMonth":"2024-01-01T00:00:00Z","count":1},{"lastSeenMonth":"2024-02-01T00:00:00Z","count":1}]`,
		`Customer {"max":"lastSeen","min":"since"}`:                                                                  `[{"maxLastSeen":"2024-02-01T12:30:59Z","minSince":"2020-02-29"}]`,
		`Customer {"groupBy":[{"field":"since","by":"year"}],"sort":"sinceYear","filter":{"since":{"$null":false}}}`: `[{"sinceYear":"2020-01-01","count":1},{"sinceYear":"2021-01-01","count":1}]`,
		`OrderDetail {"groupBy":"order","sum":"unitPrice","sort":"order","filter":{"order":{"id":{"$lt":12}}}}`:      `[{"order":"10","sumUnitPrice":"20.49"},{"order":"11","sumUnitPrice":"0.1"}]`,
		`OrderDetail {"groupBy":"id","sort":"id","limit":1}`:                                                         `[{"id":"10,S%2C2","count":1}]`,
	} {
		entity, in, _ := strings.Cut(input, " ")
		a, err := read.DecodeAggregate([]byte(in), s.entity(entity), s.Graph)
		require.NoError(t, err, input)
		out, err := s.e.Aggregate(ctx, s.db, a)
		require.NoError(t, err, input)
		var got struct{ Rows json.RawMessage }
		require.NoError(t, json.Unmarshal(out, &got))
		require.JSONEq(t, want, string(got.Rows), input)
	}
	for _, sort := range []string{"placed", "-placed", "express", "-express"} {
		var ids []any
		for _, row := range s.all("Order", 1, fmt.Sprintf(`,"fields":"id","sort":%q`, sort)) {
			ids = append(ids, row["id"])
		}
		require.Len(t, ids, 4, sort)
	}
	require.Len(t, s.all("Customer", 1, `,"fields":"id","sort":"lastSeen"`), 3)
	require.Equal(t, 1, s.collection("Customer", `{"count":true,"filter":{"lastSeen":{"$gt":"2024-01-31T08:00:00Z"}}}`).TotalCount)
	require.Equal(t, 1, s.collection("Customer", `{"count":true,"filter":{"lastSeen":"2024-01-31T08:00:00Z"}}`).TotalCount)
}

// Random tables hold random values: what SQL says of a row is what callers get.
func TestRandomTables(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 36))
	declared := []string{"INTEGER", "TEXT", "REAL", "NUMERIC", "BLOB", "BOOLEAN", "DATE", "DATETIME", "TIMESTAMP", "VARCHAR(10)", "DECIMAL(8,2)", "JSON", "", "BIGINT", "FLOAT", "TIME"}
	values := []string{"NULL", "0", "1", "-7", "9007199254740993", "1.5", "-0.25", "1e300", "''", "'a'", "'ü,%'", "'2024-02-29'", "'2024-02-29 10:11:12'", "'2024-02-29T10:11:12.000Z'", "'true'", "'12'", "x'00ff'", "x'6162'", "'[1]'"}
	pick := func(of []string) string { return of[rnd.IntN(len(of))] }
	for table := range 60 {
		var columns, types []string
		for i := range 1 + rnd.IntN(6) {
			columns, types = append(columns, fmt.Sprintf("c%d", i)), append(types, pick(declared))
		}
		keys := rnd.IntN(min(3, len(columns)) + 1)
		var b strings.Builder
		fmt.Fprintf(&b, "CREATE TABLE things (")
		for i := range columns {
			fmt.Fprintf(&b, "%s %s, ", columns[i], types[i])
		}
		b.WriteString("n INT")
		if keys > 0 {
			fmt.Fprintf(&b, ", PRIMARY KEY (n, %s)", strings.Join(columns[:keys], ", "))
		}
		b.WriteString(");\n")
		for n := range rnd.IntN(9) {
			b.WriteString("INSERT INTO things VALUES (")
			for i := range columns {
				v := pick(values)
				if i < keys && (v == "NULL" || strings.HasPrefix(v, "x'")) {
					v = "'k'"
				}
				b.WriteString(v + ", ")
			}
			fmt.Fprintf(&b, "%d);\n", n)
		}
		s := open(t, file(t, b.String()), nil)
		s.checkReach()
		for _, row := range s.all("Thing", 100, "") {
			for i, c := range columns {
				compareWithSQL(s, row, c, types[i], fmt.Sprint(table, "\n", b.String()))
			}
		}
	}
}
