package upstream_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/koantest"
)

// echoes answers a call with its arguments, as they came, as a text.
func echoes(_ *oddServer, m *message) string {
	switch m.Method {
	case "tools/list":
		return `{"jsonrpc":"2.0","id":$id,"result":{"tools":[{"name":"work","inputSchema":{"type":"object","properties":{"n":{"type":"integer"},"m":{"type":["integer","null"]}}}}]}}`
	case "tools/call":
		text, _ := json.Marshal("got " + string(m.Params.Arguments))
		return `{"jsonrpc":"2.0","id":$id,"result":{"content":[{"type":"text","text":` + string(text) + `}]}}`
	}
	return asUsual
}

type anything struct {
	Value any `json:"value"`
}

// seen is what an action in Go got, and what it got of another call.
type seen struct {
	Got string `json:"got"`
}

// Integers of any size reach a server and the app's own code as they are, whatever a script calls them
// through.
func TestIntegersReachTheirCallee(t *testing.T) {
	t.Parallel()
	app := framework.App{Name: "integers", GoActions: []framework.GoAction{
		framework.Action("pass", "Returns its input.", func(_ context.Context, _ framework.Call, in anything) (anything, error) { return in, nil }),
		framework.Action("look", "Says what it gets.", func(ctx context.Context, call framework.Call, in anything) (seen, error) {
			var out map[string]any
			err := call.Invoke(ctx, "action::pass", in, &out)
			return seen{fmt.Sprintf("%T %v %T %v", in.Value, in.Value, out["value"], out["value"])}, err
		}),
	}}
	settings := settingsOf(t, []row{{id: "x", mode: oddMode + "its arguments"}})
	kit := koantest.New(t, app, append(settings, koantest.Setting{Key: "codeMode.faces", Value: "koan,codemode,gateway"})...)

	const input, sent = `{n: 9007199254740993n, m: "-9007199254740993", other: 12345678901234567890n}`, `"got {\"m\":-9007199254740993,\"n\":9007199254740993,\"other\":12345678901234567890}"`
	run := func(id, code string) json.RawMessage {
		out, err := kit.Call(id, map[string]any{"code": code})
		require.NoError(t, err, id)
		var body struct{ Result json.RawMessage }
		require.NoError(t, json.Unmarshal(out, &body))
		return body.Result
	}
	for id, code := range map[string]string{
		"code::koan.execute":    `SDK.Servers.x.work(` + input + `)`,
		"code::codemode.run":    `import { work } from "@codemode/servers/x"; globalThis.__codemode_result__ = await work(` + input + `)`,
		"code::gateway.execute": `callTool("upstream::x::work", ` + input + `)`,
	} {
		got := string(run(id, code))
		require.Contains(t, got, "9007199254740993", id)
		var text string
		require.NoError(t, json.Unmarshal([]byte(got), &text))
		want := ""
		require.NoError(t, json.Unmarshal([]byte(sent), &want))
		require.JSONEq(t, want[len("got "):], text[len("got "):], id)
		require.Contains(t, text, "-9007199254740993", id)
		require.Contains(t, text, "12345678901234567890", id)
	}
	refused := kit.Try(`SDK.Servers.x.work({n: 2 ** 60})`, koantest.Input{})
	require.Equal(t, fault.InvalidPayload, refused.Error.Code)
	require.Equal(t, "/n", refused.Error.Path)

	const exact = "json.Number 9007199254740993 json.Number 9007199254740993"
	var got seen
	kit.Action("look", json.RawMessage(`{"value": 9007199254740993}`), &got)
	require.Equal(t, exact, got.Got)
	kit.Action("look", json.RawMessage(`{"value": 1.5}`), &got)
	require.Equal(t, "float64 1.5 float64 1.5", got.Got)
	require.JSONEq(t, `"`+exact+`"`, string(kit.Run(`SDK.Actions.look({value: 9007199254740993n}).got`, koantest.Input{}).Result))
}
