package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/internal/config"
)

var settings = []catalog.Setting{
	{Key: "exposure", Default: "auto", OneOf: []string{"auto", "code"}},
	{Key: "codeMode.enabled", Default: true},
	{Key: "codeMode.faces", Default: []string{"koan"}},
	{Key: "codeMode.maxSdkCalls", Default: 1000, Min: 0, Max: 100000},
	{Key: "sandbox.cpuMs", Default: 2000, Min: 1, Max: 60000, Unit: "ms"},
	{Key: "plugins", Open: true},
	{Key: "plugins.dir", Default: ""},
}

func write(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "koan.yaml")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

func TestLaterSourcesWin(t *testing.T) {
	file := write(t, "codeMode: {maxSdkCalls: 5, enabled: false, faces: [koan, codemode]}\nsandbox:\n  cpuMs: 7\nplugins:\n  dir: /p\n  vision:\n    root: /photos\nother: {program: 1}\n")
	c, err := config.Load(settings, config.Source{
		File: file, Must: true,
		Env:   []string{"KOAN_CODEMODE_MAXSDKCALLS=6", "KOAN_SANDBOX_CPUMS=8", "HOME=/", "KOAN_OTHER_X=1", "KOAN_PLUGINS_VISION_TILES=3"},
		Flags: map[string]string{"sandbox.cpuMs": "9"},
	})
	require.NoError(t, err)
	require.Equal(t, 6, c.Int("codeMode.maxSdkCalls"))
	require.Equal(t, 9*time.Millisecond, c.Duration("sandbox.cpuMs"))
	require.False(t, c.Bool("codeMode.enabled"))
	require.Equal(t, []string{"koan", "codemode"}, c.Strings("codeMode.faces"))
	require.Equal(t, "auto", c.String("exposure"))
	require.False(t, c.IsSet("exposure"))
	require.True(t, c.IsSet("sandbox.cpuMs"))
	require.Equal(t, "/p", c.String("plugins.dir"))
	require.Equal(t, map[string]string{"root": "/photos", "tiles": "3"}, c.Under("plugins.vision"))
	require.Panics(t, func() { c.Int("exposure") })

	c, err = config.Load(settings, config.Source{Defaults: map[string]string{"exposure": "code", "sandbox.cpuMs": "1"}, Env: []string{"KOAN_SANDBOX_CPUMS=8"}})
	require.NoError(t, err)
	require.Equal(t, "code", c.String("exposure"))
	require.False(t, c.IsSet("exposure"))
	require.Equal(t, 8, c.Int("sandbox.cpuMs"))
}

func TestProblemsHavePlaces(t *testing.T) {
	file := write(t, "codeMode:\n  maxSdkCals: 5\n  enabled: maybe\nsandbox: {cpuMs: 0}\nexposure: all\n")
	_, err := config.Load(settings, config.Source{
		File: file, Env: []string{"KOAN_CODEMODE_MAXSDKCALL=6", "KOAN_SANDBOX_CPUMS=fast"}, Flags: map[string]string{"codeMode.nope": "1"},
	})
	var problems config.Problems
	require.ErrorAs(t, err, &problems)
	require.Len(t, problems, 7)
	for _, want := range []string{
		`koan.yaml:2: there is no key "codeMode.maxSdkCals"; did you mean "codeMode.maxSdkCalls"?`,
		"koan.yaml:3: codeMode.enabled must be true or false", "koan.yaml:4: sandbox.cpuMs must be from 1 to 60000 (ms), not 0",
		"koan.yaml:5: exposure must be one of auto, code", "KOAN_CODEMODE_MAXSDKCALL: there is no such key",
		`KOAN_SANDBOX_CPUMS: sandbox.cpuMs must be a whole number`, `--codeMode.nope: there is no key`,
	} {
		require.ErrorContains(t, err, want)
	}
}

func TestKeysBelowAPrefixAreChecked(t *testing.T) {
	checked := append(slices.Clone(settings), catalog.Setting{Key: "upstreams", Open: true, CheckKey: func(key, value string) error {
		if value == "" {
			return errors.New("is empty")
		}
		return nil
	}})
	_, err := config.Load(checked, config.Source{
		File: write(t, "upstreams:\n  a: {}\n  b: {url: x}\nplugins:\n  vision: {}\nsandbox: {cpuMs: 0}\n"), Env: []string{"KOAN_UPSTREAMS_C_URL="},
	})
	var problems config.Problems
	require.ErrorAs(t, err, &problems)
	require.Len(t, problems, 3, "beside those of other keys")
	require.ErrorContains(t, err, "koan.yaml:2: upstreams.a is empty")
	require.ErrorContains(t, err, "KOAN_UPSTREAMS_C_URL: upstreams.c.url is empty")
}

// A word that is nearly one of the app's would otherwise send its data elsewhere.
func TestMisspeltSectionIsReported(t *testing.T) {
	for name, src := range map[string]config.Source{
		"koan.yaml:2: there is no key \"exposer\"; did you mean \"exposure\"?":     {File: write(t, "other: 1\nexposer: code\n")},
		"koan.yaml:3: codeMode is there already, at line 1":                        {File: write(t, "codeMode: {enabled: true}\nx: 1\ncodeMode: {maxSdkCalls: 1}\n")},
		"koan.yaml:2: codeMode.enabled is there already, at line 2":                {File: write(t, "codeMode:\n  {enabled: true, enabled: false}\n")},
		"(line 2 is indented with a tab; use spaces)":                              {File: write(t, "codeMode:\n\tenabled: true\n")},
		"koan.yaml:2: there is a second document; only one is read":                {File: write(t, "exposure: code\n---\nexposure: auto\n")},
		"koan.yaml:1: there is no key \"codemod\"; did you mean \"codeMode\"?":     {File: write(t, "codemod: {maxSdkCalls: 1}\n")},
		"KOAN_SANDBX_CPUMS: there is no key \"SANDBX\"; did you mean \"sandbox\"?": {Env: []string{"KOAN_SANDBX_CPUMS=5"}},
	} {
		_, err := config.Load(settings, src)
		require.ErrorContains(t, err, name)
	}
	_, err := config.Load(settings, config.Source{File: write(t, "---\nother: {sandbox: 1, sandbox: 2}\nsand: 2\n---\n"), Env: []string{"KOAN_HOME=/x"}})
	require.NoError(t, err)
}

func TestMappings(t *testing.T) {
	rules := append([]catalog.Setting{{Key: "approval.rules", Default: []map[string]string{}, Check: func(v any) error {
		var wrong []error
		for _, r := range v.([]map[string]string) {
			if r["mode"] == "" {
				wrong = append(wrong, errors.New("no mode in "+r["entity"]))
			}
		}
		return errors.Join(wrong...)
	}}}, settings...)
	want := []map[string]string{{"entity": "Todo", "rows": "5", "mode": "never"}, {"mode": "writes"}}
	for name, src := range map[string]config.Source{
		"file":        {File: write(t, "approval:\n  rules:\n    - {entity: Todo, rows: 5, mode: never}\n    - mode: writes\n")},
		"environment": {Env: []string{"KOAN_APPROVAL_RULES=[{entity: Todo, rows: 5, mode: never}, {mode: writes}]"}},
		"flag":        {Flags: map[string]string{"approval.rules": `[{"entity": "Todo", "rows": 5, "mode": "never"}, {"mode": "writes"}]`}},
	} {
		c, err := config.Load(rules, src)
		require.NoError(t, err, name)
		require.Equal(t, want, c.Records("approval.rules"), name)
	}
	c, err := config.Load(rules, config.Source{File: write(t, "approval: {rules: }\n")})
	require.NoError(t, err)
	require.Empty(t, c.Records("approval.rules"))
	for text, problem := range map[string]string{
		"{mode: never}": "must be a list of mappings", "[1]": "item 1 is not one", "[{mode: [a]}]": `"mode" of item 1 is not one`, "[": "must be a list of mappings", "[{1: a}]": "item 1 is not one",
		"[{entity: A}, {entity: B}]": "--approval.rules: approval.rules no mode in B",
	} {
		_, err := config.Load(rules, config.Source{Flags: map[string]string{"approval.rules": text}})
		require.ErrorContains(t, err, problem)
	}
}

// A variable means the key of the file that it is the name of, however that is written.
func TestVariablesGoBeforeKeysOfAnyCase(t *testing.T) {
	file := write(t, "plugins: {my-weather: {apiKey: of-the-file, city: Bonn}}\n")
	c, err := config.Load(settings, config.Source{File: file, Env: []string{"KOAN_PLUGINS_MY_WEATHER_APIKEY=of-the-variable"}})
	require.NoError(t, err)
	require.Equal(t, map[string]string{"apiKey": "of-the-variable", "city": "Bonn"}, c.Under("plugins.my-weather"))
}

func TestFiles(t *testing.T) {
	_, err := config.Load(settings, config.Source{File: filepath.Join(t.TempDir(), "none.yaml")})
	require.NoError(t, err, "the default file may be absent")
	_, err = config.Load(settings, config.Source{File: filepath.Join(t.TempDir(), "none.yaml"), Must: true})
	require.Error(t, err)
	for name, text := range map[string]string{
		"not yaml": "a: [", "a list": "- 1\n", "nested too deeply": strings.Repeat("{codeMode: ", 1) + "{a: {b: {c: {d: {e: {f: {g: {h: {i: {j: 1}}}}}}}}}}}",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := config.Load(settings, config.Source{File: write(t, text)})
			require.Error(t, err)
		})
	}
	_, err = config.Load(settings, config.Source{File: write(t, "")})
	require.NoError(t, err)
}

func TestFlags(t *testing.T) {
	rest, flags, err := config.Flags(settings, []string{"run", "x.js", "--codeMode.enabled", "--sandbox.cpuMs", "5", "--exposure=code", "--dry-run", "--plugins.vision.root", "/p", "--codeMode.nope=1", "--", "--exposure", "auto"})
	require.NoError(t, err)
	require.Equal(t, []string{"run", "x.js", "--dry-run", "--", "--exposure", "auto"}, rest)
	require.Equal(t, map[string]string{"codeMode.enabled": "true", "sandbox.cpuMs": "5", "exposure": "code", "plugins.vision.root": "/p", "codeMode.nope": "1"}, flags)
	_, _, err = config.Flags(settings, []string{"--sandbox.cpuMs"})
	require.ErrorContains(t, err, "needs a value")
}

func FuzzFile(f *testing.F) {
	for _, s := range []string{"codeMode: {maxSdkCalls: 5}", "a: &a {b: *a}", "sandbox: [1]", "exposure: ~", "? {a: b}\n: c", "codeMode: {enabled: {x: 1}}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := config.Load(settings, config.Source{File: write(t, text)})
		if err == nil {
			require.Contains(t, []string{"auto", "code"}, c.String("exposure"))
		}
	})
}

func TestWithDefaultsReplacesDeclaredDefaults(t *testing.T) {
	got, problems := config.WithDefaults(settings, map[string]string{"exposure": "code", "sandbox.cpuMs": "7"})
	require.Empty(t, problems)
	c, err := config.Load(got, config.Source{Env: []string{"KOAN_SANDBOX_CPUMS=8"}})
	require.NoError(t, err)
	require.Equal(t, "code", c.String("exposure"))
	require.Equal(t, 8, c.Int("sandbox.cpuMs"))
	require.Equal(t, "auto", settings[0].Default, "the declared ones stay as they are")

	_, problems = config.WithDefaults(settings, map[string]string{"exposure": "loud", "sandbox.cpu": "7"})
	require.Equal(t, config.Problems{
		`default of exposure: exposure must be one of auto, code, not "loud"`,
		"default of sandbox.cpu: there is no such key",
	}, problems)
}

// One message has the problems of several values together beside those of single ones.
func TestProblemsOfValuesTogether(t *testing.T) {
	asked := 0
	settings := []catalog.Setting{
		{Key: "speed", Default: 1},
		{Key: "cars", Open: true, CheckAll: func(v catalog.Values) error {
			asked++
			return errors.Join(errors.New("cars.a has no wheels"), errors.New("cars.b has "+v.Under("cars")["b"]+" wheels"))
		}},
	}
	_, err := config.Load(settings, config.Source{Flags: map[string]string{"speed": "fast", "cars.b": "17"}})
	require.EqualError(t, err, "configuration: 3 problems\n  - --speed: speed must be a whole number, not \"fast\"\n  - cars.a has no wheels\n  - cars.b has 17 wheels")
	require.Equal(t, 1, asked)
	_, err = config.Load(settings, config.Source{Flags: map[string]string{"cars.b": "17"}})
	require.NoError(t, err, "the provider says it when it starts")
	require.Equal(t, 1, asked)
}
