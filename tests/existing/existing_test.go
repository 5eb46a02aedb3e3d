// Package existing takes a project of 40 ent schemas as its owner wrote it, and
// follows docs/howto/existing-project.md: afterwards five entities are served from
// the owner's database, under the owner's rules, and nothing else is.
//
// project/ is the owner's, without generated code, and shop.sql the owner's database;
// steps/ is what the page says to do, word for word.
package existing

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	_ "github.com/mattn/go-sqlite3"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/tests/soak"
)

// project is a copy of the owner's project.
type project struct {
	testing.TB
	dir  string
	data string // of the user: the ledger is there
}

// run runs a command in the project, which must succeed, and returns what it prints.
func (p *project) run(name string, args ...string) string {
	p.Helper()
	var out, errs bytes.Buffer
	c := exec.Command(name, args...)
	c.Dir, c.Stdout, c.Stderr = p.dir, &out, &errs
	// Its generated code runs once: it is not optimized. Trimmed of its folder, it is compiled once for all tests.
	c.Env = append(os.Environ(), "GOFLAGS=-mod=mod -trimpath -ldflags=-w '-gcflags=./...=-N -l'", "GOWORK=off", "SHOP_DB="+p.database(), "XDG_DATA_HOME="+p.data)
	require.NoError(p, c.Run(), "%s %s: %s%s", name, strings.Join(args, " "), out.String(), errs.String())
	return out.String()
}

func (p *project) database() string { return filepath.Join(p.dir, "shop.db") }

func read(tb testing.TB, path string) string {
	tb.Helper()
	raw, err := os.ReadFile(path)
	require.NoError(tb, err)
	return string(raw)
}

func copied(t *testing.T) *project {
	t.Helper()
	p := &project{TB: t, dir: t.TempDir(), data: t.TempDir()}
	require.NoError(t, os.CopyFS(p.dir, os.DirFS("project")))
	return p
}

// get does what `go get github.com/koan-go/koan` does, with this checkout.
func (p *project) get() {
	p.Helper()
	root, err := filepath.Abs("../..")
	require.NoError(p, err)
	p.run("go", "mod", "edit", "-require=github.com/koan-go/koan@v0.0.0", "-replace=github.com/koan-go/koan="+root)
	sums := read(p, filepath.Join(p.dir, "go.sum")) + read(p, filepath.Join(root, "go.sum"))
	require.NoError(p, os.WriteFile(filepath.Join(p.dir, "go.sum"), []byte(sums), 0o644))
}

// follow does the three steps of the page.
func (p *project) follow() {
	p.Helper()
	for _, patch := range []string{"1-annotate.patch", "2-generate.patch"} {
		path, err := filepath.Abs(filepath.Join("steps", patch))
		require.NoError(p, err)
		p.run("git", "apply", path)
	}
	main := filepath.Join(p.dir, "cmd", "agents", "main.go")
	require.NoError(p, os.MkdirAll(filepath.Dir(main), 0o755))
	require.NoError(p, os.WriteFile(main, []byte(read(p, "steps/3-main.txt")), 0o644))
}

// open opens the database in a file.
func (p *project) open(file string) *sql.DB {
	p.Helper()
	db, err := sql.Open("sqlite3", "file:"+file)
	require.NoError(p, err)
	return db
}

// query returns the first column of what a query finds in a file.
func (p *project) query(file, query string) (out []string) {
	p.Helper()
	db := p.open(file)
	defer func() { require.NoError(p, db.Close()) }()
	rows, err := db.Query(query)
	require.NoError(p, err)
	defer rows.Close()
	for rows.Next() {
		var s string
		require.NoError(p, rows.Scan(&s))
		out = append(out, s)
	}
	require.NoError(p, rows.Err())
	return out
}

const tables = `SELECT coalesce(sql, name) FROM sqlite_master WHERE name NOT LIKE 'koan_%' AND tbl_name NOT LIKE 'koan_%' ORDER BY name`

// script sells something.
const script = `
const tea = SDK.Entities.Product.collection({filter: {sku: "tea"}, with: "category"}).items[0];
const order = SDK.Entities.Order.upsert({customer: SDK.Entities.Customer.collection().items[0].id});
SDK.Entities.OrderLine.upsert({orderId: order.id, productId: tea.id, quantity: 2, price: tea.price});
SDK.Entities.Order.patch(order.id, {state: "sent"});
let refused = "";
try { SDK.Entities.Order.patch(order.id, {state: "open"}); } catch (e) { refused = e.message; }
const dear = SDK.Entities.Product.count({price: {$gt: "10"}});
SDK.Entities.Product.delete(SDK.Entities.Product.collection({filter: {sku: "milk"}}).items[0].id);
const all = SDK.Entities.Order.getById(order.id, {with: "products,lines"});
({tea, order, refused, dear, left: SDK.Entities.Product.count(), all})
`

func TestThreeSteps(t *testing.T) {
	soak.Proof(t)
	t.Parallel()
	p := copied(t)
	db := p.open(p.database())
	_, err := db.Exec(read(t, "shop.sql"))
	require.NoError(t, err)
	require.NoError(t, db.Close())
	before := p.query(p.database(), tables)
	require.Greater(t, len(before), 40)

	p.get()
	p.follow()
	p.run("go", "generate", "./ent")
	p.run("go", "test", "-vet=off", "./store")
	fresh := filepath.Join(p.dir, "fresh.db")
	p.run("go", "run", "./cmd/shop", fresh)
	require.Equal(t, before, p.query(fresh, tables), "the owner's program makes the tables of shop.sql; if ent or a schema of project/ is another, make that file anew")
	agents := filepath.Join(p.dir, "agents")
	p.run("go", "build", "-o", agents, "./cmd/agents")

	require.NoError(t, os.WriteFile(filepath.Join(p.dir, "sell.js"), []byte(script), 0o644))
	var out struct {
		Result struct {
			OK   bool
			Data struct {
				Tea, Order, All map[string]any
				Refused         string
				Dear, Left      int
			}
		}
	}
	printed := p.run(agents, "run", "sell.js")
	require.NoError(t, json.Unmarshal([]byte(printed), &out), printed)
	require.True(t, out.Result.OK, printed)
	data := out.Result.Data
	require.Equal(t, "3.50", data.Tea["price"])
	require.Equal(t, "on_sale", data.Tea["status"])
	require.Equal(t, "drinks", data.Tea["category"].(map[string]any)["id"])
	require.Regexp(t, `^ord_[A-Z2-7]{16}$`, data.Order["id"])
	require.Equal(t, "1", data.Order["customerId"])
	require.Equal(t, "an order that was sent is not opened again", data.Refused, "the hook of the schema")
	require.Equal(t, 1, data.Dear, "amounts compare as numbers")
	require.Equal(t, 1, data.Left, "the interceptor of package store")
	require.Equal(t, "Tea", data.All["products"].([]any)[0].(map[string]any)["name"])
	require.EqualValues(t, 2, data.All["lines"].([]any)[0].(map[string]any)["quantity"])

	require.Equal(t, before, p.query(p.database(), tables), "the owner's tables are as they were")
	require.Equal(t, []string{"milk"}, p.query(p.database(), `SELECT sku FROM products WHERE deleted_at IS NOT NULL`), "marked, not deleted")
	require.Equal(t, []string{"order OpCreate", "order OpUpdateOne"}, p.query(p.database(), `SELECT what FROM audit_entries ORDER BY id`), "the hooks of package store, in the run's transaction")
	require.Len(t, p.query(p.database(), `SELECT run FROM koan_receipts`), 1)
	hidden(t, p, agents)
}

// hidden checks that the other 35 are nowhere.
func hidden(t *testing.T, p *project, agents string) {
	t.Helper()
	types, tools := p.run(agents, "sdk"), p.run(agents, "tools", "--mode", "tools", "--tools.style", "perEntity")
	files, err := filepath.Glob(filepath.Join(p.dir, "ent", "schema", "*.go"))
	require.NoError(t, err)
	exposed := []string{"Product", "Category", "Order", "OrderLine", "Customer"}
	all := 0
	for _, file := range files {
		for _, line := range strings.Split(read(t, file), "\n") {
			name, ok := strings.CutPrefix(strings.TrimSuffix(line, " struct{ ent.Schema }"), "type ")
			if !ok || !strings.HasSuffix(line, "ent.Schema }") {
				continue
			}
			all++
			require.Equal(t, slices.Contains(exposed, name), strings.Contains(types, "interface "+name+" {"), "types: %s", name)
		}
	}
	require.Equal(t, 40, all)
	for _, edge := range []string{"reviews", "stock", "supplier", "payments", "shipments", "addresses", "cart"} {
		require.NotContains(t, types, " "+edge+"?:")
	}
	var listed struct{ Tools []struct{ Name string } }
	require.NoError(t, json.Unmarshal([]byte(tools), &listed))
	for _, tool := range listed.Tools {
		require.Contains(t, []string{"product", "category", "order", "order-line", "customer"}, strings.Split(tool.Name, "_")[0])
	}
	require.NotContains(t, types, "passwordHash: ")
	for code, says := range map[string]string{
		`SDK.Entities.Product.collection({filter: {reviews: {$some: {stars: 5}}}})`: "unknown field",
		`SDK.Entities.Product.getById("x", {with: "supplier"})`:                     "unknown relationship",
		`SDK.Entities.Review.collection()`:                                          "Review",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(p.dir, "hidden.js"), []byte(code), 0o644))
		c := exec.Command(agents, "run", "hidden.js")
		c.Dir, c.Env = p.dir, append(os.Environ(), "SHOP_DB="+p.database(), "XDG_DATA_HOME="+p.data)
		out, err := c.Output()
		require.Error(t, err, code)
		require.Contains(t, string(out), says, code)
	}
}

// TestGuideListsSteps keeps the page true: what this test does stands there.
func TestGuideListsSteps(t *testing.T) {
	t.Parallel()
	page := read(t, "../../docs/howto/existing-project.md")
	for _, step := range []string{"1-annotate.patch", "2-generate.patch", "3-main.txt"} {
		require.Contains(t, page, read(t, filepath.Join("steps", step)), "docs/howto/existing-project.md does not have %s word for word", step)
	}
}
