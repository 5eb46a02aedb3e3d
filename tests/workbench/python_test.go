package main

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/tests/needs"
)

// inPython returns the scripts that are there in Python too, two of each domain, by the names of their templates.
func inPython(t *testing.T) map[string]string {
	t.Helper()
	needs.Program(t, "python3")
	files, err := filepath.Glob("scripts/python/*.py")
	require.NoError(t, err)
	out, domains := map[string]string{}, map[string]int{}
	for _, f := range files {
		text, err := os.ReadFile(f)
		require.NoError(t, err)
		name := strings.TrimSuffix(filepath.Base(f), ".py")
		domain, _, _ := strings.Cut(name, "-")
		out[name] = string(text)
		domains[domain]++
	}
	require.Equal(t, map[string]int{"analytics": 2, "calendar": 2, "crm": 2, "email": 2, "multi": 2, "projects": 2}, domains)
	return out
}

// Scripts in Python meet the data set's requests and the further ones as those in JavaScript do, and agree with the
// oracle in an office where everything is otherwise.
func TestRequestsInPython(t *testing.T) {
	t.Parallel()
	scripts, python := inPython(t), koantest.Setting{Key: "codeMode.languages", Value: "python"}
	for name, at := range map[string]struct{ folder, requests string }{
		"the data set": {tables, "testdata/tasks.jsonl"}, "further": {awkward(t), "testdata/further/requests.jsonl"},
	} {
		t.Run(name, func(t *testing.T) {
			o, kit := readOffice(t, at.folder), open(t, at.folder, python)
			asked := map[string]int{}
			for _, r := range readRequests(t, at.requests) {
				code, ok := scripts[r.Script]
				if !ok {
					continue
				}
				asked[r.Script]++
				got, result := dryRunIn(t, kit, "python", code, r.Args)
				got = slices.DeleteFunc(got, func(c change) bool { return c.Action == "update" && len(c.Fields) == 0 })
				expected := slices.DeleteFunc(o.expected(t, r), func(c change) bool { return c.Action == "update" && len(c.Fields) == 0 })
				require.Equal(t, lines(t, expected), lines(t, got), "%s, args %v, answer %s", r.Script, r.Args, result.Answer)
			}
			require.Len(t, asked, len(scripts))
		})
	}
	t.Run("shuffled", func(t *testing.T) {
		folder := shuffled(t, rand.New(rand.NewPCG(16, 5)))
		o, kit := readOffice(t, folder), open(t, folder, python)
		for _, tm := range templates(t) {
			code, ok := scripts[tm.Script]
			if !ok {
				continue
			}
			t.Run(tm.Script, func(t *testing.T) {
				agreesIn(t, o, kit, tm, "python", code, arguments{rand.New(rand.NewPCG(20, 23)), o})
			})
		}
	})
	t.Run("validate", func(t *testing.T) {
		kit := open(t, tables, python)
		for name, code := range scripts {
			out, err := kit.Call(catalog.CodeID("koan", "validate").String(), map[string]any{"code": code})
			require.NoError(t, err)
			require.JSONEq(t, `{"valid":true}`, string(out), name)
		}
	})
}
