package derive_test

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/entities/internal/derive"
	"github.com/koan-go/koan/entities/internal/inspect"
	"github.com/koan-go/koan/entities/internal/read"
	"github.com/koan-go/koan/framework/database/postgres"
	"github.com/koan-go/koan/framework/database/sqltext"
	"github.com/koan-go/koan/tests/pgtest"
)

// database makes a database of its own on the tests' server out of statements, and returns its URL.
func database(t testing.TB, statements string) string {
	t.Helper()
	name := strings.ToLower(strings.NewReplacer("/", "_", "#", "_").Replace(t.Name()))
	pgtest.Psql(t, pgtest.Server(t), "CREATE DATABASE "+name)
	u, err := url.Parse(pgtest.Server(t))
	require.NoError(t, err)
	u.Path = "/" + name
	db, err := sql.Open("pgx", u.String())
	require.NoError(t, err)
	_, err = db.Exec(statements)
	require.NoError(t, err)
	require.NoError(t, db.Close())
	return u.String()
}

// connect serves a database for reading only.
func connect(t testing.TB, url string) *served {
	t.Helper()
	db, err := postgres.OpenExisting(ctx, url, "test", true)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	tx, err := db.Begin()
	require.NoError(t, err)
	_, err = tx.Exec("SET LOCAL search_path = pg_catalog")
	require.NoError(t, err)
	found, err := inspect.PostgreSQL(ctx, tx)
	require.NoError(t, err)
	require.NoError(t, tx.Rollback())
	d, err := derive.Graph(found, derive.Options{ReadOnly: true})
	require.NoError(t, err)
	return &served{t, db.DB, read.New(sqltext.PostgreSQL{}), d}
}

func postgresShop(t testing.TB) *served {
	t.Helper()
	text, err := os.ReadFile("testdata/shop_postgres.sql")
	require.NoError(t, err)
	return connect(t, database(t, string(text)))
}

func TestPostgreSQLIsServedWhole(t *testing.T) {
	s := postgresShop(t)
	s.checkReach()
	_, err := s.db.Exec("DELETE FROM sales.complaints")
	require.ErrorContains(t, err, "read-only transaction", "the server refuses writes")
	var names []string
	for _, e := range s.Graph.Entities {
		names = append(names, e.Resource.Name)
	}
	require.Equal(t, strings.Fields("Colour Complaint Customer Move OrderItem Paid SalesOrder Secret State StockOrder Total"), names)
	require.Equal(t, inspect.MaterializedView, s.Sources["Total"].Kind)
	require.NotEqual(t, inspect.Foreign, s.Sources["Customer"].Kind)
	require.Equal(t, []derive.Link{{Table: "stock.order_colours", Edges: []string{"StockOrder.colours", "Colour.stockOrders"}}}, s.Links)
	r := s.entity("Customer").Resource
	require.Equal(t, "Who buys.", r.Description)
	require.Equal(t, "Anything.", r.Field("note").Description)
	require.Equal(t, 60, *r.Field("email").MaxLength)
	require.InDelta(t, 5, *r.Field("rating").Max, 0)
	require.False(t, r.Field("rating").Nullable)
	require.Equal(t, 5, r.Field("discount").Precision)
	require.True(t, r.Field("words").ReadOnly)
	require.Equal(t, []string{"open", "paid", "gone away"}, s.entity("SalesOrder").Resource.Field("state").Enum)
	require.Equal(t, []string{"web", "shop"}, s.entity("SalesOrder").Resource.Field("kind").Enum)
	require.InDelta(t, 1, *s.entity("OrderItem").Resource.Field("quantity").Min, 0)
}

func TestValuesOfPostgreSQL(t *testing.T) {
	s := postgresShop(t)
	for _, c := range []struct{ entity, id, field, want string }{
		{"Customer", "1", "discount", `"12.50"`},
		{"Customer", "1", "born", `"1990-02-28"`},
		{"Customer", "1", "seen", `"2024-01-31T08:00:00.25Z"`},
		{"Customer", "1", "local", `"2024-01-31T10:00:00Z"`},
		{"Customer", "1", "atTime", `"08:15:00"`},
		{"Customer", "1", "span", `"1 day 02:00:00"`},
		{"Customer", "1", "tags", `["a","b,c"]`},
		{"Customer", "1", "scores", `[1,2,null]`},
		{"Customer", "1", "settings", `{"a":[1,2]}`},
		{"Customer", "1", "doc", `{"b":1}`},
		{"Customer", "1", "photo", `"AP8="`},
		{"Customer", "1", "uid", `"6f2b1c1e-3a57-4f3e-8d8a-0c2f1b9d7e55"`},
		{"Customer", "1", "address", `"10.0.0.1"`},
		{"Customer", "1", "place", `"(1,2)"`},
		{"Customer", "1", "worth", `"12345678901234567890.123"`},
		{"Customer", "1", "price", `"9.90"`},
		{"Customer", "1", "ratio", `0.1`},
		{"Customer", "1", "small", `-7`},
		{"Customer", "1", "flag", `false`},
		{"Customer", "1", "code", `"ab  "`},
		{"Customer", "1", "words", `"'ann@example.org':1"`},
		{"Customer", "1", "cash", `"$12.50"`},
		{"Customer", "2", "exact", `"NaN"`},
		{"Customer", "3", "born", `"infinity"`},
		{"Customer", "3", "seen", `"infinity"`},
		{"Customer", "3", "worth", `"NaN"`},
		{"Customer", "3", "settings", `null`},
		{"OrderItem", "1,2024-01-01,1.50", "quantity", `2`},
		{"State", "gone away", "label", `"g"`},
		{"Total", "", "ids", `[1,2]`},
	} {
		var row map[string]any
		if c.id == "" {
			row = s.collection(c.entity, `{"sort":"customerId"}`).Items[0]
		} else {
			row = s.get(c.entity, c.id)
		}
		got, err := json.Marshal(row[c.field])
		require.NoError(t, err)
		require.Equal(t, c.want, string(got), "%s of %s", c.field, c.id)
	}
	for _, c := range []struct {
		entity, filter string
		want           int
	}{
		{"Customer", `{"tags":{"$has":"b,c"}}`, 1},
		{"Customer", `{"scores":{"$has":2}}`, 1},
		{"Customer", `{"tags":{"$size":0}}`, 2},
		{"Customer", `{"settings":{"$path":{"a[0]":1}}}`, 1},
		{"Customer", `{"local":{"$gte":"2024-01-31T10:00:00Z"}}`, 1},
		{"Customer", `{"born":{"$lt":"2000-01-01"}}`, 1},
		{"Customer", `{"address":"10.0.0.1"}`, 1},
		{"Customer", `{"price":{"$lt":0}}`, 1},
		{"Customer", `{"salesOrders":{"$some":{"state":"gone away"}}}`, 1},
		{"SalesOrder", `{"state":{"$in":["paid","open"]}}`, 3},
		{"OrderItem", `{"id":{"$in":["1,2024-01-01,1.50","2,2024-01-01,0.25"]}}`, 2},
		{"OrderItem", `{"id":{"$gt":"1,2024-01-01,1.50"}}`, 2},
		{"OrderItem", `{"complaints":{"$some":{"text":"late"}}}`, 1},
		{"Complaint", `{"orderItem":{"quantity":2}}`, 2},
		{"Move", `{"stockOrder":{"weirdName":"w"}}`, 3},
		{"State", `{"id":"open"}`, 1},
	} {
		require.Equal(t, c.want, s.collection(c.entity, fmt.Sprintf(`{"count":true,"filter":%s}`, c.filter)).TotalCount, c.filter)
	}
}

// A role that may not read everything is served what it may, and told of the rest.
func TestRoleThatMayNotReadEverything(t *testing.T) {
	text, err := os.ReadFile("testdata/shop_postgres.sql")
	require.NoError(t, err)
	place := database(t, string(text)+`
CREATE ROLE reader LOGIN; GRANT USAGE ON SCHEMA sales TO reader;
GRANT SELECT ON sales.orders, sales.totals TO reader; GRANT SELECT (customer_id, email) ON sales.customers TO reader;`)
	s := connect(t, strings.Replace(place, "postgres@", "reader@", 1))
	s.checkReach()
	require.Len(t, s.Graph.Entities, 3)
	require.Len(t, s.entity("Customer").Columns, 1)
	var omitted []string
	for _, o := range s.Omitted {
		omitted = append(omitted, o.Name)
	}
	require.Contains(t, omitted, "hidden.secrets")
	require.Contains(t, omitted, "sales.order_items")
}

// Databases of others are tried by hand: KOAN_TRY_SQL names a file of statements.
func TestGivenStatements(t *testing.T) {
	path := os.Getenv("KOAN_TRY_SQL")
	if path == "" {
		return
	}
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	s := connect(t, database(t, string(text)))
	fmt.Println(s.Links, s.Omitted)
	for _, e := range s.Graph.Entities {
		fmt.Println(e.Resource.Name)
		for i := range e.Resource.Fields {
			fmt.Println("    ", e.Columns[i].Name, e.Resource.Fields[i].Type, e.Columns[i].Native)
		}
	}
	s.checkReach()
}
