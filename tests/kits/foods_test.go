package kits_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/tests/needs"
)

// foods puts the food lookup of the sample into a folder of plugins, as `make foods` does.
func foods(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	folder := filepath.Join(dir, "foods")
	require.NoError(t, os.CopyFS(folder, os.DirFS("../../sample-pantrypal/plugins/foods")))
	require.NoError(t, os.CopyFS(filepath.Join(folder, "koan_plugin"), os.DirFS("../../plugins/python/koan_plugin")))
	return dir
}

// pantry is an app with the food lookup.
func pantry(t *testing.T, dir string, settings map[string]string) *koantest.Kit {
	t.Helper()
	all := []koantest.Setting{{Key: "plugins.dir", Value: dir}, {Key: "plugins.stateDir", Value: t.TempDir()}}
	for key, value := range settings {
		all = append(all, koantest.Setting{Key: "plugins.foods." + key, Value: value})
	}
	return koantest.New(t, framework.App{Name: "pantry", Ledger: true}, all...)
}

// oats are what a server says of a barcode.
const oats = `{"status":1,"product":{"code":"4006381333931","product_name":"Oat flakes","brands":"Mill","quantity":"2 x 500 g","allergens_tags":["en:gluten"],"nutriments":{"energy-kcal_100g":372}}}`

// The food lookup asks the server that is configured, where the operator lets it, and keeps the answer.
func TestFoodsAreLookedUp(t *testing.T) {
	t.Parallel()
	needs.Python(t)
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if !strings.HasPrefix(r.Header.Get("User-Agent"), "koan-foods/1.0.0 (ann@example.org)") {
			http.Error(w, "who are you?", http.StatusForbidden)
			return
		}
		if strings.HasPrefix(r.URL.Path, "/api/v2/product/4006381333931") {
			_, _ = w.Write([]byte(oats))
			return
		}
		_, _ = w.Write([]byte(`{"status":0}`))
	}))
	defer server.Close()
	dir := foods(t)
	k := pantry(t, dir, map[string]string{"settings.server": server.URL, "settings.contact": "ann@example.org", "hosts": "[" + server.Listener.Addr().String() + "]"})
	const lookup = `const f = SDK.Foods.lookup({ barcode: "4006381333931" }); SDK.Out.answer([f.name, f.amount, f.unit, f.allergens, f.nutrition.kcal])`
	for range 2 {
		require.JSONEq(t, `["Oat flakes",1000,"g",["gluten"],372]`, string(k.Run(lookup, koantest.Input{}).Answer))
	}
	require.EqualValues(t, 1, asked.Load())
	require.Equal(t, fault.NotFound, codeOf(k.Try(`SDK.Foods.lookup({ barcode: "96385074" })`, koantest.Input{})))
	f := k.Try(`SDK.Foods.lookup({ barcode: "4006381333932" })`, koantest.Input{}).Error
	require.Equal(t, []any{fault.InvalidPayload, "/barcode"}, []any{f.Code, f.Path})

	before := asked.Load()
	for _, hosts := range []string{"[]", "[other.example:443]"} {
		k = pantry(t, dir, map[string]string{"settings.server": server.URL, "hosts": hosts})
		f = k.Try(`SDK.Foods.lookup({ barcode: "4006381333931" })`, koantest.Input{}).Error
		require.Equal(t, fault.ServiceUnavailable, f.Code)
		require.Contains(t, f.Hint, "plugins.foods.hosts", hosts)
	}
	require.Equal(t, before, asked.Load())
}

// Without what it needs the lookup is off, and doctor says why; the app runs.
func TestFoodsAreOffWithoutPython(t *testing.T) {
	t.Parallel()
	dir := foods(t)
	launcher := filepath.Join(dir, "foods", "foods")
	text, err := os.ReadFile(launcher)
	require.NoError(t, err)
	without := strings.Replace(string(text), "in /usr/bin/python3 python3;", "in /usr/bin/no-python3;", 1)
	require.NotEqual(t, string(text), without)
	require.NoError(t, os.WriteFile(launcher, []byte(without), 0o755))
	k := pantry(t, dir, nil)
	for _, c := range k.Instance().Checks(t.Context()) {
		if c.Name == "plugin foods" {
			require.Contains(t, c.Detail, "The food lookup is off: it needs Python 3.11 with grpcio and protobuf")
			return
		}
	}
	t.Fatal("doctor does not know the plugin")
}

func TestFoodsItself(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(needs.Python(t), "-m", "unittest")
	cmd.Dir = filepath.Join(foods(t), "foods")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
}
