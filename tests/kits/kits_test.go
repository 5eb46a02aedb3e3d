// Package kits_test has plugins of the kits for Python and TypeScript in an app, confined: one and the same plugin,
// written in each.
package kits_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
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
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/plugins/conformance"
	"github.com/koan-go/koan/tests/needs"
)

// language is one in which the plugin weather is written.
type language struct {
	name string
	// plugin puts the folder of the plugin into one, and returns what else of the machine it reads.
	plugin func(t *testing.T, dir string) (read []string)
}

func python(t *testing.T, dir string) []string {
	t.Helper()
	needs.Python(t)
	require.NoError(t, os.CopyFS(filepath.Join(dir, "weather", "koan_plugin"), os.DirFS("../../plugins/python/koan_plugin")))
	text, err := os.ReadFile("testdata/weather.py")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "weather", "weather"), text, 0o755))
	return nil
}

func typescript(t *testing.T, dir string) []string {
	t.Helper()
	needs.Kit(t)
	kit, err := filepath.Abs("../../plugins/typescript")
	require.NoError(t, err)
	modules := filepath.Join(dir, "weather", "node_modules")
	require.NoError(t, os.MkdirAll(modules, 0o755))
	require.NoError(t, os.Symlink(kit, filepath.Join(modules, "koan-plugin")))
	text, err := os.ReadFile("testdata/weather.mjs")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "weather", "main.mjs"), text, 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "weather", "weather"), []byte("#!/usr/bin/env node\nimport(\"./main.mjs\");\n"), 0o755))
	return []string{kit}
}

var languages = []language{{"Python", python}, {"TypeScript", typescript}}

// each runs a test in each language.
func each(t *testing.T, test func(t *testing.T, l language)) {
	t.Helper()
	t.Parallel()
	for _, l := range languages {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			test(t, l)
		})
	}
}

// app is one with the plugin.
func app(t *testing.T, l language, settings ...koantest.Setting) *koantest.Kit {
	t.Helper()
	dir := t.TempDir()
	read := l.plugin(t, dir)
	settings = append(settings, koantest.Setting{Key: "plugins.dir", Value: dir}, set("isolation", "confined"))
	if len(read) > 0 {
		settings = append(settings, set("read", "["+strings.Join(read, ", ")+"]"))
	}
	return koantest.New(t, framework.App{Name: "station", Ledger: true}, settings...)
}

// set is a key of the plugin's.
func set(key, value string) koantest.Setting {
	return koantest.Setting{Key: "plugins.weather." + key, Value: value}
}

// codeOf is the fault of a script, "" for success.
func codeOf(r *koantest.Result) fault.Code {
	if r.Error == nil {
		return ""
	}
	return r.Error.Code
}

func TestPluginsPassTheCheck(t *testing.T) {
	each(t, func(t *testing.T, l language) {
		dir := t.TempDir()
		keys := map[string]string{}
		if read := l.plugin(t, dir); len(read) > 0 {
			keys["read"] = "[" + strings.Join(read, ", ") + "]"
		}
		all := conformance.Check(t.Context(), filepath.Join(dir, "weather"), conformance.Options{
			Keys: keys, Inputs: map[string]json.RawMessage{"much": []byte(`{"size":100000}`), "slow": []byte(`{"ms":1}`)},
		})
		require.True(t, conformance.Passed(all), "%+v", all)
		for _, f := range all {
			switch f.Name {
			case "handshake":
				require.Contains(t, f.Detail, "confined")
			case "events":
				require.Contains(t, f.Detail, "parts: 3, longest output: 100011 bytes")
			case "log":
				require.Contains(t, f.Detail, "lines of plain text: 0 on standard error, 0 on standard output")
			}
		}
	})
}

// One app is enough for what leaves it as it was.
func TestAPluginInAnApp(t *testing.T) {
	each(t, func(t *testing.T, l language) {
		k := app(t, l, set("settings.city", "Rome"))
		for name, test := range map[string]func(*testing.T, *koantest.Kit){
			"scripts call it": testScripts, "faults reach callers": testFaults, "it is confined": testConfinement,
		} {
			t.Run(name, func(t *testing.T) { test(t, k) })
		}
		require.Contains(t, check(t, k), "restarts: 0")
	})
}

func testScripts(t *testing.T, k *koantest.Kit) {
	t.Helper()
	r := k.Run(`
			const small = SDK.Weather.now({ text: "rain", number: 7 });
			const big = SDK.Weather.now({ text: "rain", number: 123456789012345678901234567890n });
			const digits = SDK.Weather.now({ text: "rain", number: "123456789012345678901234567891" });
			SDK.Out.answer([small, big.number, digits.number, SDK.Weather.much({ size: 3000000 }).text.length]);`, koantest.Input{})
	require.JSONEq(t, `[{"city":"Rome","text":"rain","number":7},"123456789012345678901234567890","123456789012345678901234567891",3000000]`, string(r.Answer))
	require.Equal(t, fault.InvalidPayload, codeOf(k.Try(`SDK.Weather.now({ txt: "rain" })`, koantest.Input{})))
	require.Equal(t, fault.CallTooLarge, codeOf(k.Try(`SDK.Weather.much({ size: 5000000 })`, koantest.Input{})))
}

func testFaults(t *testing.T, k *koantest.Kit) {
	t.Helper()
	f := k.Try(`SDK.Weather.fail({ how: "fault" })`, koantest.Input{}).Error
	require.Equal(t, []any{fault.Conflict, "taken", "take another", "/how", fault.Never}, []any{f.Code, f.Message, f.Hint, f.Path, f.Retry})
	f = k.Try(`SDK.Weather.fail({ how: "own" })`, koantest.Input{}).Error
	require.Equal(t, []any{fault.ExecutionError, "no weather"}, []any{f.Code, f.Message})
	require.Equal(t, map[string]any{"code": "weather_out", "details": map[string]any{"since": 3.0}}, f.Details)
	f = k.Try(`SDK.Weather.fail({ how: "error" })`, koantest.Input{}).Error
	require.Equal(t, fault.ExecutionError, f.Code)
	require.NotContains(t, f.Message, "inner words")
}

// A function's time ends the call and not the process.
func TestLateCallsEnd(t *testing.T) {
	each(t, func(t *testing.T, l language) {
		k := app(t, l, set("timeoutMs", "1500"))
		began := time.Now()
		require.Equal(t, fault.ToolTimeout, codeOf(k.Try(`SDK.Weather.slow({ ms: 60000 })`, koantest.Input{})))
		require.Less(t, time.Since(began), 20*time.Second)
		require.JSONEq(t, `{"ms":1}`, string(k.Run(`SDK.Out.answer(SDK.Weather.slow({ ms: 1 }))`, koantest.Input{}).Answer))
		require.Contains(t, check(t, k), "restarts: 0")
	})
}

// check is the plugin's line of doctor.
func check(t *testing.T, k *koantest.Kit) string {
	t.Helper()
	for _, c := range k.Instance().Checks(t.Context()) {
		if c.Name == "plugin weather" {
			require.True(t, c.OK, c.Detail)
			return c.Detail
		}
	}
	t.Fatal("doctor does not know the plugin")
	return ""
}

func testConfinement(t *testing.T, k *koantest.Kit) {
	t.Helper()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("sunny")) }))
	defer web.Close()
	secret := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(secret, []byte("everything"), 0o644))
	require.Contains(t, check(t, k), "version 1.2.3, contract 1, confined")
	for _, path := range []string{secret, "/etc/passwd"} {
		_, err := k.Call("plugin::weather.reach", map[string]any{"path": path})
		require.Equal(t, fault.ExecutionError, fault.CodeOf(err), path)
	}
	out, err := k.Call("plugin::weather.reach", map[string]any{"url": web.URL})
	require.NoError(t, err)
	require.JSONEq(t, `{"text":"not reached"}`, string(out))
}

// A confined plugin gets what is not this machine through the proxy, which knows what it may reach.
func TestPluginsReachTheirHosts(t *testing.T) {
	each(t, func(t *testing.T, l language) {
		k := app(t, l, set("hosts", "[weather.example:80]"))
		out, err := k.Call("plugin::weather.reach", map[string]any{"url": "http://other.example/"})
		require.NoError(t, err)
		require.Contains(t, string(out), "403 other.example:80 is not in plugins.weather.hosts")
	})
}

// buffer is a log that may be read meanwhile.
type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// station is an app with a configuration and a log.
func station(t *testing.T, l language, settings map[string]string) (*framework.Instance, *buffer, error) {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "plugins"), 0o755))
	flags := map[string]string{"plugins.dir": filepath.Join(dir, "plugins"), "database": "sqlite://" + filepath.Join(dir, "data")}
	if read := l.plugin(t, flags["plugins.dir"]); len(read) > 0 {
		flags["plugins.weather.read"] = "[" + strings.Join(read, ", ") + "]"
	}
	for key, value := range settings {
		flags["plugins.weather."+key] = value
	}
	log := &buffer{}
	i, err := framework.New(t.Context(), framework.App{Name: "station", Ledger: true}, framework.Options{
		Config: framework.Source{Flags: flags}, Log: slog.New(slog.NewTextHandler(log, nil)),
	})
	if err == nil {
		t.Cleanup(func() { require.NoError(t, i.Stop(context.Background())) })
	}
	return i, log, err
}

func TestProgressLogAndSecrets(t *testing.T) {
	each(t, func(t *testing.T, l language) {
		const key = "q7Zk-2mXw/9+Lr0a"
		i, log, err := station(t, l, map[string]string{"settings.apiKey": key})
		require.NoError(t, err)
		var seen []string
		out, _, err := i.Engine().Invoke(t.Context(), run.Request{
			View: i.Snapshot().View(auth.Local(), exposure.Full, false), Principal: auth.Local(), ID: catalog.PluginID("weather", "now"),
			Input: json.RawMessage(`{"text":"rain","key":true}`), Surface: "test",
			Reports: run.Reports{Progress: func(_, _ float64, message string) { seen = append(seen, message) }},
		})
		require.NoError(t, err)
		require.JSONEq(t, `{"city":"Berlin","text":"16 characters","number":null}`, string(out))
		require.Equal(t, []string{"looking at rain"}, seen)
		require.Eventually(t, func() bool { return strings.Contains(log.String(), "msg=\"with [redacted]\"") }, 10*time.Second, 10*time.Millisecond, log)
		require.Regexp(t, `level=WARN msg=looked .*plugin=weather at=rain call=\S+ function=now`, log.String())
		require.NotContains(t, log.String(), key)

		_, _, err = station(t, l, map[string]string{"settings.apiKey": key, "settings.city": "Atlantis"})
		require.ErrorContains(t, err, "plugins.weather: city: it has sunk, says [redacted]")
		_, _, err = station(t, l, map[string]string{"settings.town": "Rome"})
		require.ErrorContains(t, err, "plugins.weather.town: the plugin has no such setting")
	})
}

// The tests of a kit in its own language.
func TestPythonKit(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(needs.Python(t), "-m", "unittest")
	cmd.Dir = "../../plugins/python"
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
}

func TestTypeScriptKit(t *testing.T) {
	t.Parallel()
	needs.Kit(t)
	for _, args := range [][]string{
		{"--test", "tests/process.test.js", "tests/units.test.js"},
		{"node_modules/typescript/bin/tsc", "--project", "tests/tsconfig.json"},
	} {
		cmd := exec.Command("node", args...)
		cmd.Dir = "../../plugins/typescript"
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
}

// What is compiled is committed, for those who install the folder.
func TestTypeScriptIsCompiled(t *testing.T) {
	t.Parallel()
	needs.Kit(t)
	fresh := t.TempDir()
	cmd := exec.Command("node", "node_modules/typescript/bin/tsc", "--outDir", fresh)
	cmd.Dir = "../../plugins/typescript"
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	names := func(dir string) (out []string) {
		entries, err := os.ReadDir(dir)
		require.NoError(t, err)
		for _, e := range entries {
			out = append(out, e.Name())
		}
		return out
	}
	const committed = "../../plugins/typescript/dist"
	require.Equal(t, names(fresh), names(committed), "npm run build in plugins/typescript writes it")
	for _, name := range names(fresh) {
		want, err := os.ReadFile(filepath.Join(fresh, name))
		require.NoError(t, err)
		got, err := os.ReadFile(filepath.Join(committed, name))
		require.NoError(t, err)
		require.Equal(t, string(want), string(got), "%s: npm run build in plugins/typescript writes it", name)
	}
}
