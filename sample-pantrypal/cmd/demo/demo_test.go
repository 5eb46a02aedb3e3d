package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestFindPhoto(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, content []byte) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, content, 0o600))
		return path
	}
	var picture bytes.Buffer
	require.NoError(t, png.Encode(&picture, image.NewGray(image.Rect(0, 0, 9, 9))))
	good := write("good.png", picture.Bytes())
	got, err := findPhoto(good)
	require.NoError(t, err)
	require.Equal(t, good, got)

	cases := map[string]struct{ path, want string }{
		"missing":         {filepath.Join(dir, "none.png"), "there is no photo at"},
		"a folder":        {dir, "is not a file"},
		"empty":           {write("empty.png", nil), "not a JPEG, PNG or WebP picture"},
		"another format":  {write("text.png", []byte("hello")), "not a JPEG, PNG or WebP picture"},
		"cut in its head": {write("cut.png", picture.Bytes()[:12]), "not a JPEG, PNG or WebP picture"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := findPhoto(c.path)
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestDemoFailures(t *testing.T) {
	dir := t.TempDir()
	var picture bytes.Buffer
	require.NoError(t, png.Encode(&picture, image.NewGray(image.Rect(0, 0, 9, 9))))
	photo := filepath.Join(dir, "p.png")
	require.NoError(t, os.WriteFile(photo, picture.Bytes(), 0o600))
	script := filepath.Join(dir, "s.js")
	require.NoError(t, os.WriteFile(script, []byte("1"), 0o600))
	cases := map[string]struct {
		o    options
		want string
	}{
		"no photo":        {options{photo: filepath.Join(dir, "none.png"), script: script}, "there is no photo"},
		"no script":       {options{photo: photo, script: filepath.Join(dir, "none.js")}, "the script cannot be read"},
		"no server":       {options{photo: photo, script: script, app: filepath.Join(dir, "none")}, "does not start"},
		"a silent server": {options{photo: photo, script: script, app: "/bin/true"}, "does not answer"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var out, steps bytes.Buffer
			require.ErrorContains(t, demo(t.Context(), c.o, &out, &steps), c.want)
			require.Empty(t, out.String(), "a failed demo shows nothing")
		})
	}
	left, err := filepath.Glob(filepath.Join(os.TempDir(), "pantrypal-demo-*"))
	require.NoError(t, err)
	for _, folder := range left {
		info, err := os.Stat(folder)
		require.False(t, err == nil && time.Since(info.ModTime()) < time.Second, "%s was left behind", folder)
	}
}

const sample = `{"success":true,"runId":"r",
 "answer":{"haul":{"summary":"haul.png: 2 codes read.","lots":[{"name":"Spinach","amount":250,"unit":"g","place":"fridge","bestBefore":"2026-11-25"},{"name":"Crème fraîche","amount":1.2,"unit":"kg","place":"fridge","bestBefore":null}],
  "open":[{"code":"2000000000992","kind":"ean13"}]},
  "dinner":{"suggestions":[{"name":"Frittata","minutes":30,"servings":2,"usesSoon":["Spinach"],"toBuy":[]}],"note":""},
  "plan":{"meals":[{"date":"2026-11-20","name":"Frittata","toBuy":["eggs"]}]},
  "list":{"items":[{"name":"Eggs","aisle":"dairy","text":"1 x Eggs, 6","cost":2.5}],"estimatedCost":2.5},
  "cooked":{"name":"Frittata","took":[{"name":"Spinach","text":"200 g","unit":"g","left":50}],"notThere":["2 eggs"]}},
 "logs":[{"level":"info","message":"not shown"},{"level":"warn","message":"shown"}],
 "changes":[{"entity":"PantryItem","id":"1","action":"create","after":{"id":"1","name":"Spinach","amount":250,"unit":"g"}},
  {"entity":"PantryItem","id":"2","action":"update","before":{"name":"Eggs","amount":3,"version":1,"bestBefore":null,"productId":null},"after":{"name":"Eggs","amount":13,"version":2,"bestBefore":"2026-11-24","productId":"x"}},
  {"entity":"MealPlan","id":"3","action":"delete","before":{"name":"Old"}}],
 "calls":[{"serverId":"vision","toolName":"vision.detect","ok":true,"durationMs":210},{"serverId":"koan","toolName":"product.collection","ok":true,"durationMs":0,"parent":"haul"},{"serverId":"koan","toolName":"tonight","ok":true,"durationMs":0},{"serverId":"koan","toolName":"recipe.collection","ok":false,"durationMs":3}]}`

func TestShow(t *testing.T) {
	r := &report{Took: 312 * time.Millisecond}
	require.NoError(t, json.Unmarshal([]byte(sample), r))
	var out bytes.Buffer
	show(&out, r, palette(false))
	text := out.String()
	require.NotContains(t, text, "\x1b", "plain in a pipe")
	for _, want := range []string{
		"haul.png: 2 codes read.",
		"    new      Spinach         250 g  fridge",
		"    new      Crème fraîche  1.2 kg  fridge  keeps",
		"    unknown  2000000000992   ean13",
		"open until learn-product says what it is",
		"2026-11-20  Frittata  to buy: eggs",
		"Shopping list, about 2.50",
		"Cooked: Frittata",
		"Not in the house: 2 eggs.",
		"What changed: 1 created, 1 updated, 1 deleted",
		"uses Spinach",
		"warn: shown",
		"amount 3 -> 13, best before none -> 2026-11-24, linked to its product",
		"vision.detect      210 ms",
		"<1 ms",
		"failed",
		"One round trip, 4 SDK calls, 312 ms. As tools it would have been 3 calls,",
	} {
		require.Contains(t, text, want)
	}
	require.NotContains(t, text, "not shown")
	require.NotContains(t, text, "product.collection", "an action's own calls are counted only")
	for line := range strings.Lines(text) {
		require.Equal(t, strings.TrimRight(line, " \n"), strings.TrimRight(line, "\n"), "no blanks at the end of a line")
	}
	var coloured bytes.Buffer
	show(&coloured, r, palette(true))
	require.Contains(t, coloured.String(), "\x1b[1m")
}

func TestMergeChangesByEntity(t *testing.T) {
	one, two, three := map[string]any{"n": 1.0}, map[string]any{"n": 2.0}, map[string]any{"n": 3.0}
	require.Equal(t, []change{
		{Entity: "A", ID: "1", Action: "create", After: two},
		{Entity: "A", ID: "2", Action: "update", Before: one, After: three},
		{Entity: "A", ID: "3", Action: "delete", Before: one},
		{Entity: "B", ID: "1", Action: "create", After: one},
	}, merge([]change{
		{Entity: "A", ID: "1", Action: "create", After: one},
		{Entity: "A", ID: "2", Action: "update", Before: one, After: two},
		{Entity: "A", ID: "3", Action: "update", Before: one, After: two},
		{Entity: "A", ID: "4", Action: "create", After: one},
		{Entity: "B", ID: "1", Action: "create", After: one},
		{Entity: "A", ID: "1", Action: "update", Before: one, After: two},
		{Entity: "A", ID: "2", Action: "update", Before: two, After: three},
		{Entity: "A", ID: "3", Action: "delete", Before: two},
		{Entity: "A", ID: "4", Action: "delete", Before: one},
	}))
}

func TestShowUnknownAnswer(t *testing.T) {
	for raw, want := range map[string]string{`{"dinner":"Dal"}`: `"dinner": "Dal"`, `"a text"`: `"a text"`, ``: "returned no answer"} {
		var out bytes.Buffer
		showAnswer(&out, json.RawMessage(raw), false)
		require.Contains(t, out.String(), want)
	}
}

func TestDescribe(t *testing.T) {
	require.Equal(t, "demo: there is no photo", describe(errors.New("there is no photo"), false))
	f := &failure{Code: "code", Message: "message", Hint: "do this", Path: "/path", Line: 4, Column: 9}
	text := describe(errors.Join(f), false)
	for _, want := range []string{"code", "message", "at line 4, column 9", "about /path", "hint: do this", "Nothing was changed."} {
		require.Contains(t, text, want)
	}
	f.committed = true
	require.NotContains(t, describe(f, false), "Nothing was changed.")
}
