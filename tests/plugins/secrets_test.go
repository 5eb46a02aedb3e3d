package plugins_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
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
	"github.com/koan-go/koan/framework/journal"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/plugins/kit"
)

type weatherIn struct {
	Fail string `json:"fail,omitempty"`
}

type weatherOut struct {
	City string `json:"city"`
	Key  string `json:"key"` // its length and its first letter
}

// weather is a plugin that lets out what it is told.
func weather() kit.Plugin {
	var set map[string]string
	forms := func() string {
		key := []byte(set["apiKey"] + " " + set["badge"])
		return strings.Join([]string{string(key), base64.StdEncoding.EncodeToString(key), hex.EncodeToString(key), url.QueryEscape(string(key))}, " ; ")
	}
	now := func(_ context.Context, call kit.Call, in weatherIn) (weatherOut, error) {
		call.Progress(1, 2, "calling with "+forms())
		call.Log.Warn("the log has "+forms(), "header", forms())
		fmt.Println("printed", forms())
		fmt.Fprintln(os.Stderr, "to standard error", forms())
		switch in.Fail {
		case "fault":
			return weatherOut{}, fault.New(fault.UpstreamError, "refused: "+forms()).WithHint("%s", forms()).WithPath("/" + set["apiKey"]).WithDetails(map[string]any{"header": forms()})
		case "error":
			return weatherOut{}, errors.New("refused: " + forms())
		case "panic":
			panic(forms())
		}
		return weatherOut{City: set["city"], Key: fmt.Sprintf("%d %.1s", len(set["apiKey"]), set["apiKey"])}, nil
	}
	return kit.Plugin{
		Domain: "weather", Version: "1.0.0", Description: "Says how the weather is.",
		Settings: []kit.Setting{{Key: "city", Default: "Berlin"}, {Key: "apiKey"}, {Key: "badge", Secret: true}},
		Configure: func(_ context.Context, s map[string]string) error {
			if set = s; s["city"] == "nowhere" {
				return errors.New("apiKey: " + forms() + " is of another city")
			}
			return nil
		},
		Functions: []kit.Function{kit.Func("now", "Say how the weather is.", now, kit.ReadOnly())},
	}
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

// station is an app with the plugin weather, and its log.
func station(t *testing.T, yaml string, env ...string) (*framework.Instance, *buffer, error) {
	t.Helper()
	dir := t.TempDir()
	self, err := os.Executable()
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "plugins"), 0o700))
	require.NoError(t, os.Symlink(self, filepath.Join(dir, "plugins", "weather")))
	file := filepath.Join(dir, "koan.yaml")
	require.NoError(t, os.WriteFile(file, []byte(yaml), 0o600))
	log := &buffer{}
	i, err := framework.New(t.Context(), framework.App{Name: "station", Ledger: true}, framework.Options{
		Config: framework.Source{File: file, Must: true, Env: env, Flags: map[string]string{
			"plugins.dir": filepath.Join(dir, "plugins"), "database": "sqlite://" + filepath.Join(dir, "data"), "replay.keep": "none",
		}},
		Log: slog.New(slog.NewTextHandler(log, nil)),
	})
	if err == nil {
		t.Cleanup(func() { require.NoError(t, i.Stop(context.Background())) })
	}
	return i, log, err
}

// ask calls the plugin, and returns all that its caller sees.
func ask(t *testing.T, i *framework.Instance, fail string) string {
	t.Helper()
	input, err := json.Marshal(weatherIn{Fail: fail})
	require.NoError(t, err)
	var seen strings.Builder
	out, _, err := i.Engine().Invoke(t.Context(), run.Request{
		View: i.Snapshot().View(auth.Local(), exposure.Full, false), Principal: auth.Local(), ID: catalog.PluginID("weather", "now"), Input: input, Surface: "test",
		Reports: run.Reports{Progress: func(_, _ float64, message string) { fmt.Fprintln(&seen, message) }},
	})
	seen.Write(out)
	if err != nil {
		raw, err := json.Marshal(fault.From(err))
		require.NoError(t, err)
		seen.Write(raw)
	}
	return seen.String()
}

const (
	key   = "q7Zk-2mXw/9+Lr0a"
	badge = "Vt5b_8Yc~Nn31"
)

// requireHidden checks that a text has no secret in any encoding.
func requireHidden(t *testing.T, text, where string) {
	t.Helper()
	both := []byte(key + " " + badge)
	for _, form := range []string{
		key, badge, base64.StdEncoding.EncodeToString(both), base64.StdEncoding.EncodeToString(both)[4:20], hex.EncodeToString([]byte(key)), url.QueryEscape(key), url.QueryEscape(badge),
	} {
		require.NotContains(t, text, form, where)
	}
}

// Secrets reach the plugin by reference, and nobody else: by no fault, log, journal or progress, in
// no encoding.
func TestSecretsOfPlugins(t *testing.T) {
	t.Setenv("KOAN_TEST_WEATHER", key)
	file := filepath.Join(t.TempDir(), "badge")
	require.NoError(t, os.WriteFile(file, []byte(badge+"\n"), 0o600))
	i, log, err := station(t, "plugins: {weather: {settings: {city: Bonn, apiKey: '${env:KOAN_TEST_WEATHER}', badge: '${file:"+file+"}'}}}\n")
	require.NoError(t, err)
	require.Contains(t, ask(t, i, ""), `{"city":"Bonn","key":"16 q"}`)
	for _, fail := range []string{"", "fault", "error", "panic"} {
		seen := ask(t, i, fail)
		requireHidden(t, seen, "what the caller sees of "+fail)
		require.Contains(t, seen, "[redacted]")
	}
	for _, what := range []string{"the log has", "printed", "to standard error", "panic"} {
		require.Eventually(t, func() bool { return strings.Contains(log.String(), what) }, 10*time.Second, 20*time.Millisecond, what)
	}
	requireHidden(t, log.String(), "the log")
	var records []byte
	require.Eventually(t, func() bool {
		page, err := i.Runs(auth.With(t.Context(), auth.Local()), journal.Query{Most: 100})
		require.NoError(t, err)
		records, err = json.Marshal(page)
		require.NoError(t, err)
		return bytes.Count(records, []byte("plugin::weather.now")) >= 5
	}, 10*time.Second, 50*time.Millisecond)
	requireHidden(t, string(records), "the journal")
}

// A variable of the environment sets a setting by its name, and goes before the file.
func TestSettingsFromTheEnvironment(t *testing.T) {
	t.Parallel()
	i, _, err := station(t, "plugins: {weather: {settings: {apiKey: of-the-file}}}\n", "KOAN_PLUGINS_WEATHER_APIKEY="+key, "KOAN_PLUGINS_WEATHER_SETTINGS_CITY=Ulm")
	require.NoError(t, err)
	require.Contains(t, ask(t, i, ""), `{"city":"Ulm","key":"16 q"}`)
	requireHidden(t, ask(t, i, "fault"), "it is called like a secret")
}

// A start that fails says which setting is wrong, and no secret.
func TestSettingsThatAreWrong(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		settings string
		want     []string
	}{
		"a variable that is not there": {"{apiKey: '${env:KOAN_TEST_NONE}', badge: '${file:/no/such/badge}'}", []string{"plugins.weather.apiKey: ${env:KOAN_TEST_NONE}: the environment has no such variable", "plugins.weather.badge: ${file:/no/such/badge}"}},
		"rejected by the plugin":       {"{city: nowhere, apiKey: '" + key + "', badge: '" + badge + "'}", []string{"plugins.weather: apiKey: [redacted]"}},
		"not the plugin's":             {"{apikeys: x}", []string{"plugins.weather.apikeys: the plugin has no such setting; did you mean \"apiKey\"?"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, log, err := station(t, "plugins: {weather: {settings: "+c.settings+"}}\n")
			require.Error(t, err)
			for _, want := range c.want {
				require.ErrorContains(t, err, want)
			}
			requireHidden(t, err.Error()+log.String(), "the error and the log")
		})
	}
}
