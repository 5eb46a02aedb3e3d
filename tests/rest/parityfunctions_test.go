package rest

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/plugins/kit"
	"github.com/koan-go/koan/sample-pantrypal/app"
	"github.com/koan-go/koan/tests/programs"
)

// withFunctions are apps whose actions and plugins are tried. They ask nobody: a plan is each app's own.
var withFunctions = map[string]func() framework.App{"fixture with functions": fixtureApp, "whole pantrypal": func() framework.App {
	noon := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	a := app.At(func() time.Time { return noon })
	a.Defaults = nil
	return a
}}

// chorus is the name under which this test binary is a plugin.
const chorus = "chorus"

type (
	verse struct {
		Text  string         `json:"text"            jsonschema:"minLength=1"`
		Times int            `json:"times,omitempty" jsonschema:"maximum=3"`
		Notes map[string]any `json:"notes,omitempty"`
	}
	sung struct {
		Lines []string       `json:"lines"`
		Notes map[string]any `json:"notes,omitempty"`
		Large int64          `json:"large,omitempty"`
	}
)

func chorusPlugin() kit.Plugin {
	sing := func(_ context.Context, _ kit.Call, in verse) (sung, error) {
		if in.Text == "false" {
			return sung{}, fault.New(fault.Conflict, "somebody else sings").WithPath("/text").WithHint("Sing another one.")
		}
		if in.Text == "panic" {
			panic("hoarse")
		}
		out := sung{Notes: in.Notes, Large: 1 << 60}
		for range max(1, in.Times) {
			out.Lines = append(out.Lines, in.Text)
		}
		return out, nil
	}
	return kit.Plugin{Domain: chorus, Version: "1.0.0", Description: "Sings.", Functions: []kit.Function{
		kit.Func("sing", "Sing.", sing, kit.ReadOnly(), kit.Example(verse{Text: "la", Times: 2, Notes: map[string]any{"a": []any{1.5, nil, "ü\u2028"}}})),
		kit.Func("sing-outside", "Sing in the street.", sing, kit.Outside(), kit.Example(verse{Text: "la"})),
	}}
}

// pluginFolder has PantryPal's plugin and the one of these tests.
func pluginFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, programs.Build(dir, map[string]string{"vision": "plugins/vision"}))
	self, err := os.Executable()
	require.NoError(t, err)
	require.NoError(t, os.Link(self, filepath.Join(dir, chorus)))
	return dir
}

// functionSteps are inputs of an action or a plugin's function: its example, and wrong ones.
func functionSteps(op *catalog.Operation) []map[string]any {
	inputs := []map[string]any{{}, {"bogus": 1}, {"name": "Ann"}}
	var example map[string]any
	if json.Unmarshal(op.Example, &example) == nil && example != nil {
		inputs = append(inputs, example)
	}
	switch op.ID.Owner {
	case chorus:
		inputs = append(inputs, map[string]any{"text": "false"}, map[string]any{"text": "panic"}, map[string]any{"text": ""}, map[string]any{"text": "x", "times": 4}, map[string]any{"text": 1, "times": "1"})
	case "vision":
		inputs = append(inputs, map[string]any{"path": "none.png"}, map[string]any{"path": "../x.png"}, map[string]any{"base64": "AAAA"}, map[string]any{"base64": map[string]any{"$file": "none"}})
	}
	return inputs
}

// Actions and functions of plugins give the same by tool, script, REST and command line, with their
// examples and with what they do not take.
func TestParityOfFunctions(t *testing.T) {
	t.Parallel()
	plugins := pluginFolder(t)
	for name, app := range withFunctions {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			settings := []koantest.Setting{{Key: "tools.style", Value: "perEntity"}, {Key: "plugins.dir", Value: plugins}}
			byTool, byREST, byScript := serve(t, app(), framework.HTTPOptions{}, settings...), serve(t, app(), framework.HTTPOptions{}, settings[1]), serve(t, app(), framework.HTTPOptions{}, settings[1])
			var expressions []string
			var want []outcome
			succeeded, failed := map[string]int{}, map[string]int{}
			for _, op := range byTool.kit.Instance().Snapshot().Operations() {
				route := "/api/actions/" + op.ID.Op
				switch {
				case op.Reach != 0 && op.Reach&catalog.Everywhere != catalog.Everywhere:
					continue
				case op.ID.Kind == catalog.KindPlugin:
					route = "/api/plugins/" + op.ID.Owner + "/" + op.ID.Op
				case op.ID.Kind != catalog.KindAction:
					continue
				}
				for _, input := range functionSteps(op) {
					raw, err := json.Marshal(input)
					require.NoError(t, err)
					o := byTool.callTool(op.ID, input)
					if o.Code == "" {
						succeeded[op.ID.Owner]++
					} else {
						failed[op.ID.Owner]++
					}
					expression := "SDK." + strings.Join(catalog.SDKPath(op.ID), ".") + "(" + string(raw) + ")"
					require.Equal(t, o.String(), byREST.ask("POST", route, string(raw)).String(), "%s %s", op.ID, raw)
					o.Output = exactly(o.Output)
					require.Equal(t, o.String(), byScript.execute(expression).String(), expression)
					expressions, want = append(expressions, guarded(expression)), append(want, o)
				}
			}
			for _, domain := range []string{"", chorus, "vision"} {
				require.Positive(t, succeeded[domain], domain)
				require.Positive(t, failed[domain], domain)
			}
			command := &commandLine{t: t, app: name, data: t.TempDir(), env: []string{"KOAN_PLUGINS_DIR=" + plugins}}
			for i, got := range command.execute("[" + strings.Join(expressions, ",\n") + "]") {
				require.Equal(t, want[i].String(), got.String(), "run: %s", expressions[i])
			}
		})
	}
}

// exactly returns a value as scripts get it: integers beyond 2^53 as strings of digits.
func exactly(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, member := range v {
			out[name] = exactly(member)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, element := range v {
			out[i] = exactly(element)
		}
		return out
	case float64:
		if v == math.Trunc(v) && math.Abs(v) > 1<<53 {
			return strconv.FormatFloat(v, 'f', 0, 64)
		}
	}
	return v
}
