package rest

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/sample-pantrypal/app"
)

// withActions are apps whose actions are tried. They ask nobody: a plan is each app's own.
var withActions = map[string]func() framework.App{"fixture with actions": fixtureApp, "whole pantrypal": func() framework.App {
	noon := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	a := app.At(func() time.Time { return noon })
	a.Defaults = nil
	return a
}}

// Actions give the same by tool, script, REST and command line, with their examples and with what
// none of them takes.
func TestParityOfActions(t *testing.T) {
	t.Parallel()
	for name, app := range withActions {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			style := koantest.Setting{Key: "tools.style", Value: "perEntity"}
			byTool, byREST, byScript := serve(t, app(), framework.HTTPOptions{}, style), serve(t, app(), framework.HTTPOptions{}), serve(t, app(), framework.HTTPOptions{})
			var expressions []string
			var want []outcome
			succeeded, failed := 0, 0
			for _, op := range byTool.kit.Instance().Snapshot().Operations() {
				if op.ID.Kind != catalog.KindAction || op.Reach != 0 && op.Reach&catalog.Everywhere != catalog.Everywhere {
					continue
				}
				inputs := []map[string]any{{"bogus": 1}, {"name": "Ann"}}
				var example map[string]any
				if json.Unmarshal(op.Example, &example) == nil && example != nil {
					inputs = append(inputs, example)
				}
				for _, input := range inputs {
					raw, err := json.Marshal(input)
					require.NoError(t, err)
					o := byTool.callTool(op.ID, input)
					if o.Code == "" {
						succeeded++
					} else {
						failed++
					}
					expression := "SDK." + strings.Join(catalog.SDKPath(op.ID), ".") + "(" + string(raw) + ")"
					require.Equal(t, o.String(), byREST.ask("POST", "/api/actions/"+op.ID.Op, string(raw)).String(), "%s %s", op.ID, raw)
					require.Equal(t, o.String(), byScript.execute(expression).String(), expression)
					expressions, want = append(expressions, guarded(expression)), append(want, o)
				}
			}
			require.Positive(t, succeeded)
			require.Positive(t, failed)
			command := &commandLine{t: t, app: name, data: t.TempDir()}
			for i, got := range command.execute("[" + strings.Join(expressions, ",\n") + "]") {
				require.Equal(t, want[i].String(), got.String(), "run: %s", expressions[i])
			}
		})
	}
}
