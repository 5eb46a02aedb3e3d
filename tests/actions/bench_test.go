package actions

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/tests/fixture"
)

type nothing struct{}

type counted struct {
	Count int `json:"count"`
}

// BenchmarkNested is a script of 20 counts: made directly, through an action in Go, and through
// an action in a file, which runs in a worker of its own.
func BenchmarkNested(b *testing.B) {
	app := fixture.App()
	app.Actions = folderOf(map[string]string{"count-file.js": `export const action = { description: "Counts." }; export default () => ({ count: SDK.Entities.Todo.count() });`})
	app.GoActions = []framework.GoAction{framework.Action("count-go", "Counts.", func(ctx context.Context, call framework.Call, _ nothing) (counted, error) {
		var out counted
		return out, call.Invoke(ctx, "koan::Todo.count", nothing{}, &out)
	})}
	kit := koantest.NewConfined(b, app)
	var direct float64
	for _, way := range []struct{ name, call string }{
		{"direct", `SDK.Entities.Todo.count()`}, {"go", `SDK.Actions.countGo().count`}, {"file", `SDK.Actions.countFile().count`},
	} {
		b.Run(way.name, func(b *testing.B) {
			script := `let n = 0; for (let i = 0; i < 20; i++) n += ` + way.call + `; SDK.Out.answer(n)`
			require.JSONEq(b, `20`, string(kit.Run(script, koantest.Input{}).Answer)) // and the workers are warm
			for b.Loop() {
				kit.Run(script, koantest.Input{})
			}
			took := float64(b.Elapsed().Nanoseconds()) / float64(b.N)
			if way.name == "direct" {
				direct = took
				return
			}
			b.ReportMetric(took/direct, "to-direct")
			b.ReportMetric((took-direct)/20/1000, "µs/call")
		})
	}
}
