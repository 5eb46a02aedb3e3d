package upstream_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exposure"
	"github.com/koan-go/koan/framework/run"
)

// What is kept of a server is there at the next start, and compared with the server without a call: a
// tool that is new is found, and one that is gone is not offered. It is kept for the whole entry.
func TestKeptToolsAreComparedAtEachStart(t *testing.T) {
	home := ownHome(t)
	file := writeTool(t, filepath.Join(home, "tool"), workTool)
	start := func(env string) *framework.Instance {
		return restarted(t, map[string]string{"env." + toolFileVariable: file, "env.TOOLSETS": env})
	}
	has := hasTool
	first := start("all")
	require.Eventually(t, func() bool { return has(first, "work") }, timeout, tick)
	require.NoError(t, first.Stop(context.Background()))

	writeTool(t, file, otherTool)
	second := start("all")
	require.Eventually(t, func() bool { return has(second, "other") && !has(second, "work") }, timeout, tick)
	require.NoError(t, second.Stop(context.Background()))

	third := start("none")
	require.Eventually(t, func() bool { return has(third, "other") }, timeout, tick)
	require.NoError(t, third.Stop(context.Background()))
	kept, err := filepath.Glob(filepath.Join(home, "XDG_CACHE_HOME", "koan", "restarted", "upstreams", "*.json"))
	require.NoError(t, err)
	require.Len(t, kept, 2, "another environment is another server")

	again := start("all")
	require.True(t, has(again, "other"), "a start waits for nobody")
	require.NoError(t, again.Stop(context.Background()))
}

// ownHome sets the test's own folders for what is kept, and returns the home.
func ownHome(t *testing.T) string {
	t.Helper()
	home := t.TempDir()
	for _, name := range []string{"HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"} {
		t.Setenv(name, filepath.Join(home, name))
	}
	return home
}

// restarted starts an app that keeps what it knows of its server.
func restarted(t *testing.T, settings map[string]string) *framework.Instance {
	t.Helper()
	flags := map[string]string{"approval.mode": "never", "approval.rules": "[]", "codeMode.faces": "[koan, codemode, gateway]"}
	for _, s := range settingsOf(t, []row{{id: "x", mode: "is redefined", settings: settings}}) {
		flags[s.Key] = s.Value
	}
	i, err := framework.New(context.Background(), framework.App{Name: "restarted"}, framework.Options{Config: framework.Source{Flags: flags}, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	return i
}

func hasTool(i *framework.Instance, tool string) bool {
	return i.Snapshot().Operation(catalog.ID{Kind: catalog.KindUpstream, Owner: "x", Op: tool}) != nil
}

// What is kept refuses nothing: before that the server is asked whether it is still so.
func TestKeptToolsRefuseNothingBeforeTheyAreCompared(t *testing.T) {
	const strict = `{"name":"%s","description":"Paints fences.","inputSchema":{"type":"object","properties":{"%s":{"type":"string"}},"required":["%[2]s"],"additionalProperties":false}}`
	execute := func(code string) (string, map[string]any) {
		return "code::koan.execute", map[string]any{"code": code}
	}
	for name, request := range map[string]func() (string, map[string]any){
		"a call": func() (string, map[string]any) { return execute(`SDK.Servers.x.other({ n: "1" })`) },
		"an import": func() (string, map[string]any) {
			return execute(`import { other } from "@codemode/servers/x"; await other({ n: "1" })`)
		},
		"an input": func() (string, map[string]any) { return execute(`SDK.Servers.x.work({ now: "1" })`) },
		"an id": func() (string, map[string]any) {
			return "code::gateway.execute", map[string]any{"code": `callTool("upstream::x::other", { n: "1" })`}
		},
		"a schema": func() (string, map[string]any) {
			return "code::gateway.schema", map[string]any{"id": "upstream::x::other"}
		},
		"a search": func() (string, map[string]any) { return "code::koan.search", map[string]any{"query": "repair roofs"} },
		"a search by id": func() (string, map[string]any) {
			return "code::gateway.search", map[string]any{"query": "repair roofs"}
		},
		"a tool's schema": func() (string, map[string]any) {
			return execute(`import { getTool } from "@codemode/discovery"; await getTool("x", "other")`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			file := writeTool(t, filepath.Join(ownHome(t), "tool"), fmt.Sprintf(strict, "work", "was"))
			settings := map[string]string{"env." + toolFileVariable: file, "env." + delayVariable: "1500ms", "effects.*": "write"}
			first := restarted(t, settings)
			require.Eventually(t, func() bool { return hasTool(first, "work") }, timeout, tick)
			require.NoError(t, first.Stop(context.Background()))

			roofs := strings.Replace(fmt.Sprintf(strict, "other", "n"), "Paints fences", "Repairs roofs", 1)
			writeTool(t, file, fmt.Sprintf(strict, "work", "now")+","+roofs)
			second := restarted(t, settings)
			defer func() { require.NoError(t, second.Stop(context.Background())) }()
			require.True(t, hasTool(second, "work"))
			require.False(t, hasTool(second, "other"), "it is not compared yet")
			id, input := request()
			raw, err := json.Marshal(input)
			require.NoError(t, err)
			view := second.Snapshot().View(auth.Local(), exposure.Full, second.Negotiated())
			out, _, err := second.Engine().Invoke(t.Context(), run.Request{View: view, Principal: auth.Local(), ID: parse(t, id), Input: raw, Surface: "test"})
			require.NoError(t, err)
			if strings.Contains(name, "search") {
				require.Contains(t, string(out), "other")
			}
		})
	}
}

// A script that only mentions a server of which the tools are kept does not wait for it.
func TestMentionsOfAServerWaitForNobody(t *testing.T) {
	file := writeTool(t, filepath.Join(ownHome(t), "tool"), workTool)
	settings := map[string]string{"env." + toolFileVariable: file, "startMs": "600000"}
	first := restarted(t, settings)
	require.Eventually(t, func() bool { return hasTool(first, "work") }, timeout, tick)
	require.NoError(t, first.Stop(context.Background()))
	writeTool(t, file+hangs, "")
	second := restarted(t, settings)
	defer func() { require.NoError(t, second.Stop(context.Background())) }()
	for code, args := range map[string]string{"// SDK.Servers.x is not needed\n1": "", `const x = 1; x`: "", `"ask x, or upstream::x::work"`: "", `SDK.args`: "x", `Object.keys(SDK.Servers)`: ""} {
		input, err := json.Marshal(map[string]any{"code": code, "args": args})
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), timeout)
		defer cancel()
		view := second.Snapshot().View(auth.Local(), exposure.Full, second.Negotiated())
		_, _, err = second.Engine().Invoke(ctx, run.Request{View: view, Principal: auth.Local(), ID: parse(t, "code::koan.execute"), Input: input, Surface: "test"})
		require.NoError(t, err, code)
	}
}
