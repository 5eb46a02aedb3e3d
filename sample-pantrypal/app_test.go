package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exposure"
	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/sample-pantrypal/app"
	"github.com/koan-go/koan/sample-pantrypal/seed"
	"github.com/koan-go/koan/tests/typescript"
)

// tools is the folder with what the tests start: the vision plugin (in plugins/)
// and the maker of photos.
var tools string

// asApp makes the test binary the app itself.
const asApp = "PANTRYPAL_TEST_AS_APP"

func TestMain(m *testing.M) {
	if os.Getenv(asApp) != "" {
		main()
	}
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "pantrypal-test-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		tools = dir
		for out, pkg := range map[string]string{"plugins/vision": "../plugins/vision", "makephoto": "./cmd/makephoto"} {
			if said, err := exec.Command("go", "build", "-o", filepath.Join(dir, out), pkg).CombinedOutput(); err != nil {
				fmt.Fprintf(os.Stderr, "building %s: %v\n%s", pkg, err, said)
				return 1
			}
		}
		return m.Run()
	}())
}

// kitchen is a PantryPal with its seeds, its plugin, and a folder of photos.
type kitchen struct {
	*koantest.Kit
	t      *testing.T
	photos string
}

func open(t *testing.T, settings ...koantest.Setting) kitchen {
	t.Helper()
	photos := t.TempDir()
	settings = append([]koantest.Setting{{Key: "plugins.dir", Value: filepath.Join(tools, "plugins")}, {Key: "plugins.vision.root", Value: photos}}, settings...)
	return kitchen{koantest.New(t, app.New(), settings...), t, photos}
}

// photo returns a photo of packages with these codes. Drawing one takes a moment,
// so each is drawn once.
func (k kitchen) photo(name string, codes ...string) string {
	k.t.Helper()
	drawn := filepath.Join(tools, strings.Join(codes, "-")+".png")
	if _, err := os.Stat(drawn); err != nil {
		said, err := exec.Command(filepath.Join(tools, "makephoto"), "-out", drawn, "-width", "800", "-height", "600", "-seed", "7", "-codes", strings.Join(codes, ",")).CombinedOutput()
		require.NoError(k.t, err, "%s", said)
	}
	return k.copy(drawn, name)
}

// sample returns a photo that is in the repository.
func (k kitchen) sample(name string) string {
	k.t.Helper()
	return k.copy(filepath.Join("testdata", name), name)
}

func (k kitchen) copy(from, name string) string {
	k.t.Helper()
	raw, err := os.ReadFile(from)
	require.NoError(k.t, err)
	require.NoError(k.t, os.WriteFile(filepath.Join(k.photos, name), raw, 0o600))
	return name
}

// gtins returns the barcodes of products.
func gtins(numbers ...int) []string {
	out := make([]string, len(numbers))
	for i, n := range numbers {
		out[i] = seed.GTIN(n)
	}
	return out
}

// script reads one of the app's scripts.
func script(t *testing.T, name string) string {
	t.Helper()
	code, err := os.ReadFile(filepath.Join("scripts", name))
	require.NoError(t, err)
	return string(code)
}

// value runs a script and returns its result.
func value[T any](k kitchen, code string) T {
	k.t.Helper()
	var out T
	k.Run(code, koantest.Input{}).ResultInto(&out)
	return out
}

func TestEmptyDatabaseIsSeededOnce(t *testing.T) {
	database := koantest.Setting{Key: "database", Value: "sqlite://" + t.TempDir()}
	counts := `({products: SDK.Entities.Product.count(), recipes: SDK.Entities.Recipe.count(), items: SDK.Entities.PantryItem.count(),
		elsewhere: SDK.Entities.Product.count({}, "lake-house")})`
	t.Run("first start", func(t *testing.T) {
		k := open(t, database)
		got := value[map[string]int](k, counts)
		require.Equal(t, 60, got["products"])
		require.GreaterOrEqual(t, got["recipes"], 25)
		require.Zero(t, got["elsewhere"], "only the set default is seeded")
		k.Run(`SDK.Entities.PantryItem.deleteMany(SDK.Entities.PantryItem.all().map(i => i.id))`, koantest.Input{})
	})
	t.Run("second start", func(t *testing.T) {
		got := value[map[string]int](open(t, database), counts)
		require.Equal(t, 60, got["products"])
		require.Zero(t, got["items"], "a folder with data is never touched")
	})
}

func TestDiaryIsWrittenInTransaction(t *testing.T) {
	k := open(t)
	code := `
		const item = SDK.Entities.PantryItem.upsert({name: "Quark", quantity: 500, unit: "g"});
		SDK.Entities.PantryItem.patch(item.id, {quantity: 200});
		SDK.Entities.PantryItem.patch(item.id, {status: "wasted"});
		SDK.Entities.PantryEvent.all({filter: {itemId: item.id}, sort: "id"}).map(e => [e.kind, e.reason, e.quantity, e.unit].join(" "))`
	require.Equal(t, []string{"came bought 500 g", "went used 300 g", "went wasted 200 g"}, value[[]string](k, code))

	failed := k.Try(`SDK.Entities.PantryItem.upsert({name: "Ghost"}); throw new Error("no")`, koantest.Input{})
	require.False(t, failed.Success)
	require.Zero(t, value[int](k, `SDK.Entities.PantryEvent.count({itemName: "Ghost"})`))
}

func TestProductsAndDiaryAreReadOnly(t *testing.T) {
	k := open(t)
	require.Equal(t, []bool{false, false}, value[[]bool](k, `["Product", "PantryEvent"].map(e => "upsert" in SDK.Entities[e] || "delete" in SDK.Entities[e])`))
	_, err := k.Call("koan::Product.upsert", map[string]any{"model": map[string]any{"name": "X"}})
	require.Error(t, err)
}

func TestScriptsHoldUnderTSC(t *testing.T) {
	dir := t.TempDir()
	sdk := exec.CommandContext(t.Context(), os.Args[0], "sdk", "--database", "sqlite://"+t.TempDir(), "--plugins.dir", filepath.Join(tools, "plugins"))
	sdk.Env = append(os.Environ(), asApp+"=1")
	types, err := sdk.Output()
	require.NoError(t, err)
	files := map[string][]byte{"koan.d.ts": types, "bad.js": []byte("SDK.Entities.Product.upsert({ name: 'x' });\n")}
	for _, name := range []string{"grocery-haul.js", "simple-dinner.js"} {
		files[name] = []byte(script(t, name))
	}
	for name, content := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), content, 0o600))
	}
	tsc, err := filepath.Abs("../tests/npm/node_modules/typescript/bin/tsc")
	require.NoError(t, err)
	require.FileExists(t, tsc, "run `make setup` first")
	check := func(names ...string) (string, error) {
		args := append([]string{tsc, "--strict", "--noUncheckedIndexedAccess", "--noEmit", "--allowJs", "--checkJs", "--target", "es2022", "--lib", "es2022", "koan.d.ts"}, names...)
		cmd := exec.CommandContext(t.Context(), "node", args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	said, err := check("grocery-haul.js", "simple-dinner.js")
	require.NoError(t, err, said)
	said, err = check("bad.js")
	require.Error(t, err, "a product is read-only")
	require.Contains(t, said, "bad.js(1,")
}

// koan://sdk/<Entity>.d.ts checks by itself, for every entity.
func TestEntityFilesHoldUnderTSC(t *testing.T) {
	k := open(t)
	view := k.Instance().View(auth.Local(), exposure.Understands)
	var groups []map[string]string
	for _, d := range k.Instance().Snapshot().Documents() {
		if d.URI != "koan://sdk/{name}.d.ts" {
			continue
		}
		for _, name := range d.List(view) {
			text, err := d.Read(t.Context(), view, name)
			require.NoError(t, err)
			groups = append(groups, map[string]string{name + ".d.ts": string(text)})
		}
	}
	require.Greater(t, len(groups), 8)
	for i, found := range typescript.CheckEach(t, groups...) {
		require.Empty(t, found, groups[i])
	}
}

func TestScriptsAreValid(t *testing.T) {
	k := open(t)
	for _, name := range []string{"grocery-haul.js", "simple-dinner.js"} {
		out, err := k.Call("code::koan.validate", map[string]any{"code": script(t, name)})
		require.NoError(t, err)
		require.JSONEq(t, `{"valid":true}`, string(out), name)
	}
}

// Each tool's example runs, also behind those of the others: somebody tries one after
// the other.
func TestExamplesRunInOrder(t *testing.T) {
	k := open(t)
	ran := 0
	for _, op := range k.Instance().Snapshot().Operations() {
		if op.Example == nil || op.ID.Kind != catalog.KindEntity {
			continue
		}
		out, err := k.Call(op.ID.String(), op.Example)
		require.NoError(t, err, "%s %s %s", op.ID, op.Example, out)
		ran++
	}
	require.Greater(t, ran, 60)
}

// A search finds an entity by what people call a field of it.
func TestSearchFindsFieldBySynonym(t *testing.T) {
	k := open(t)
	for _, query := range []string{"expiring items", "expiry date", "when does it expire", "best before"} {
		out, err := k.Call("code::koan.search", map[string]any{"query": query})
		require.NoError(t, err)
		var found struct{ Results []struct{ ID string } }
		require.NoError(t, json.Unmarshal(out, &found))
		require.NotEmpty(t, found.Results, query)
		require.Equal(t, "koan::PantryItem", found.Results[0].ID, query)
	}
}

// The input of a plugin's function is checked before anything runs.
func TestValidateChecksInputsOfPlugins(t *testing.T) {
	k := open(t)
	validated := func(code string) (v struct {
		Valid       bool
		Diagnostics []struct{ Code, Message, Path string }
	},
	) {
		out, err := k.Call("code::koan.validate", map[string]any{"code": code})
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(out, &v))
		return v
	}
	for code, path := range map[string]string{
		`SDK.Vision.detect({path: ""})`:                                               "/path",
		`SDK.Vision.detect({path: 5})`:                                                "/path",
		`SDK.Vision.detect({paht: "x"})`:                                              "/paht",
		"import { detect } from '@codemode/servers/vision';\nawait detect({path: 5})": "/path",
	} {
		v := validated(code)
		require.False(t, v.Valid, code)
		require.Equal(t, "invalid_argument", v.Diagnostics[0].Code, code)
		require.Equal(t, path, v.Diagnostics[0].Path, code)
		require.False(t, k.Try(code, koantest.Input{}).Success, code)
	}
	require.True(t, validated(`SDK.Vision.detect({path: SDK.args.path})`).Valid)
	require.True(t, validated(`SDK.Vision.detect(SDK.args)`).Valid)
}
