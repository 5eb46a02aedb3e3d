package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exposure"
	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/sample-pantrypal/app"
	"github.com/koan-go/koan/tests/programs"
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
		if err := programs.Build(dir, map[string]string{"plugins/vision": "plugins/vision", "makephoto": "sample-pantrypal/cmd/makephoto"}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
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

// monday is the evening on which the tests stand: days in Berlin and in UTC are the same.
func monday() time.Time { return time.Date(2026, 11, 23, 17, 0, 0, 0, time.UTC) }

// seeded has both households as they are on that Monday; filling them takes a second, so it
// is done once, and each test has a copy.
var seeded = sync.OnceValues(func() (string, error) {
	dir := filepath.Join(tools, "seeded")
	flags := map[string]string{"database": "sqlite://" + dir, "plugins.dir": filepath.Join(tools, "plugins"), "replay.keep": "none", "approval.mode": "never"}
	i, err := framework.New(context.Background(), app.At(monday), framework.Options{Config: framework.Source{Flags: flags}, Testing: true, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return "", err
	}
	return dir, i.Stop(context.Background())
})

func open(t *testing.T, settings ...koantest.Setting) kitchen {
	t.Helper()
	from, err := seeded()
	require.NoError(t, err)
	dir := t.TempDir()
	for _, household := range []string{"default.db", "lake-house.db"} {
		raw, err := os.ReadFile(filepath.Join(from, household))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, household), raw, 0o600))
	}
	return openAt(t, monday, append([]koantest.Setting{{Key: "database", Value: "sqlite://" + dir}}, settings...)...)
}

func openAt(t *testing.T, clock func() time.Time, settings ...koantest.Setting) kitchen {
	t.Helper()
	photos := t.TempDir()
	settings = append([]koantest.Setting{{Key: "plugins.dir", Value: filepath.Join(tools, "plugins")}, {Key: "plugins.vision.root", Value: photos}}, settings...)
	return kitchen{koantest.New(t, app.At(clock), settings...), t, photos}
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

// value runs a script and returns its result.
func value[T any](k kitchen, code string) T {
	k.t.Helper()
	var out T
	k.Run(code, koantest.Input{}).ResultInto(&out)
	return out
}

// refused runs a script that has to fail, and returns its message.
func (k kitchen) refused(code string) string {
	k.t.Helper()
	r := k.Try(code, koantest.Input{})
	require.False(k.t, r.Success, code)
	return string(r.Error.Code) + ": " + r.Error.Message
}

func TestEmptyDatabaseIsSeededOnce(t *testing.T) {
	t.Parallel()
	database := koantest.Setting{Key: "database", Value: "sqlite://" + t.TempDir()}
	counts := `({foods: SDK.Entities.Food.count(), products: SDK.Entities.Product.count(), recipes: SDK.Entities.Recipe.count(), items: SDK.Entities.PantryItem.count()})`
	t.Run("first start", func(t *testing.T) {
		k := open(t, database)
		got := value[map[string]int](k, counts)
		require.GreaterOrEqual(t, got["foods"], 250)
		require.GreaterOrEqual(t, got["products"], 200)
		require.GreaterOrEqual(t, got["recipes"], 80)
		k.Run(`SDK.Entities.PantryItem.deleteMany(SDK.Entities.PantryItem.all().map(i => i.id))`, koantest.Input{})
	})
	t.Run("second start", func(t *testing.T) {
		got := value[map[string]int](open(t, database), counts)
		require.GreaterOrEqual(t, got["foods"], 250)
		require.Zero(t, got["items"], "a folder with data is never touched")
	})
}

func TestDiaryIsReadOnly(t *testing.T) {
	t.Parallel()
	k := open(t)
	_, err := k.Call("koan::PantryEvent.upsert", map[string]any{"model": map[string]any{"itemName": "X"}})
	require.Error(t, err)
	require.Equal(t, []bool{true, false, false}, value[[]bool](k, `["patch", "upsert", "delete"].map(m => m in SDK.Entities.PantryEvent)`), "of an event only the reason is set right")
}

// The declarations say what scripts may do with each entity.
func TestDeclarationsRefuseWritesToDiary(t *testing.T) {
	t.Parallel()
	sdk := exec.CommandContext(t.Context(), os.Args[0], "sdk", "--database", "sqlite://"+t.TempDir(), "--plugins.dir", filepath.Join(tools, "plugins"))
	sdk.Env = append(os.Environ(), asApp+"=1")
	types, err := sdk.Output()
	require.NoError(t, err)
	found := typescript.Check(t, map[string]string{
		"koan.d.ts": string(types), "bad.js": "SDK.Entities.PantryEvent.upsert({ itemName: 'x' });\n",
		"good.js": "SDK.Out.answer(SDK.Actions.tonight({ plan: true }).suggestions.map((s) => s.name));\nSDK.Entities.ShoppingList.upsert({ name: 'Saturday' });\n",
	})
	require.Len(t, found, 1, "%v", found)
	require.Len(t, found["bad.js"], 1, "the diary is read-only")
	require.Contains(t, found["bad.js"][0], "(1,")
}

// koan://sdk/<Entity>.d.ts checks by itself, for every entity.
func TestEntityFilesHoldUnderTSC(t *testing.T) {
	t.Parallel()
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
	require.Greater(t, len(groups), 15)
	for i, found := range typescript.CheckEach(t, groups...) {
		require.Empty(t, found, groups[i])
	}
}

// Each tool's example runs, also behind those of the others: somebody tries one after
// the other.
func TestExamplesRunInOrder(t *testing.T) {
	t.Parallel()
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
	require.Greater(t, ran, 100)
}

// A search finds an entity by what people call a field of it, and a workflow by what it is for.
func TestSearchFindsEntitiesAndWorkflows(t *testing.T) {
	t.Parallel()
	k := open(t)
	for query, want := range map[string]string{
		"expiring items": "koan::PantryItem", "expiry date": "koan::PantryItem", "best before": "koan::PantryItem",
		"what can I cook tonight":              "action::tonight",
		"put away groceries from a photo":      "action::haul",
		"unknown barcode":                      "action::learn-product",
		"plan meals for the week":              "action::week-plan",
		"make a shopping list":                 "action::shop",
		"check off bought things":              "action::check-off",
		"I cooked a meal":                      "action::cooked",
		"somebody cannot come to dinner":       "action::replan",
		"import a recipe from a web page":      "action::import-recipe",
		"what did we waste and its cost":       "action::waste",
		"price development of a food":          "action::prices",
		"calories per portion nutrition":       "action::nutrition",
		"move things to the lake house":        "action::move",
		"cook ahead meal prep batch":           "action::meal-prep",
		"what should I think of, reminders":    "action::reminders",
		"which packages are open too long":     "action::open-too-long",
		"merge two foods that are the same":    "action::merge-foods",
		"find the food that a name stands for": "action::find-food",
	} {
		out, err := k.Call("code::koan.search", map[string]any{"query": query})
		require.NoError(t, err)
		var found struct{ Results []struct{ ID string } }
		require.NoError(t, json.Unmarshal(out, &found))
		var ids []string
		for _, r := range found.Results {
			ids = append(ids, r.ID)
		}
		require.Contains(t, ids[:min(3, len(ids))], want, query)
	}
}
