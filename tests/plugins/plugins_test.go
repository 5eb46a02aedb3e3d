// Package plugins_test has plugins in an app: what the operator configures of them, and what
// people approve.
package plugins_test

import (
	"cmp"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/framework/run/approve"
	"github.com/koan-go/koan/plugins/kit"
)

// This test binary is also the plugins of the tests.
func TestMain(m *testing.M) {
	switch filepath.Base(os.Args[0]) {
	case "mail":
		kit.Serve(mail())
	case "weather":
		kit.Serve(weather())
	case "clerk":
		kit.Serve(clerk())
	case "press":
		kit.Serve(press())
	case "diary", "notebook", "todo", "tidy", "neat":
		kit.Serve(diary(filepath.Base(os.Args[0])))
	case "sums":
		kit.Serve(sums())
	case "slow":
		kit.Serve(slow())
	default:
		os.Exit(m.Run())
	}
}

// declared is what a build of the plugin declares of its function send.
type declared struct {
	ReadOnly, Destructive, Outside bool
	Scopes                         []string
	From                           string // who writes, "" is Bob
}

type letter struct {
	Text string `json:"text"`
}

func mail() kit.Plugin {
	raw, err := os.ReadFile(os.Args[0] + ".json")
	var d declared
	if err != nil || json.Unmarshal(raw, &d) != nil {
		os.Exit(3)
	}
	options := []kit.Option{kit.Scopes(d.Scopes...)}
	for option, on := range map[*kit.Option]bool{ptr(kit.ReadOnly()): d.ReadOnly, ptr(kit.Destructive()): d.Destructive, ptr(kit.Outside()): d.Outside} {
		if on {
			options = append(options, *option)
		}
	}
	send := func(_ context.Context, _ kit.Call, in letter) (letter, error) { return in, nil }
	list := func(_ context.Context, _ kit.Call, in letter) (letter, error) {
		return letter{cmp.Or(d.From, "Bob") + " writes: " + in.Text}, nil
	}
	return kit.Plugin{
		Domain: "mail", Version: "1.0.0", Description: "Sends letters.",
		Functions: []kit.Function{kit.Func("send", "Send a letter.", send, options...), kit.Func("list", "List letters.", list, kit.ReadOnly())},
	}
}

func ptr[T any](v T) *T { return &v }

// post is an app with the plugin, whose function send declares d.
func post(t *testing.T, d declared, settings ...koantest.Setting) (k *koantest.Kit, rebuild func(declared)) {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "mail")
	write := func(d declared) {
		raw, err := json.Marshal(d)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path+".json", raw, 0o600))
		self, err := os.Executable()
		require.NoError(t, err)
		draft := filepath.Join(dir, ".draft")
		raw, err = os.ReadFile(self)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(draft, raw, 0o700))
		require.NoError(t, os.Rename(draft, path))
	}
	write(d)
	settings = append(settings, koantest.Setting{Key: "plugins.dir", Value: dir})
	k = koantest.New(t, framework.App{Name: "post", Ledger: true}, settings...)
	require.NotNil(t, operation(k, "send"), "the plugin runs")
	return k, func(d declared) {
		before := operation(k, "send")
		write(d)
		require.Eventually(t, func() bool { return operation(k, "send") != before }, 20*time.Second, 20*time.Millisecond)
	}
}

// dirOf is the folder of an app's plugins.
func dirOf(k *koantest.Kit) string { return k.Instance().Values().String("plugins.dir") }

func operation(k *koantest.Kit, function string) *catalog.Operation {
	return k.Instance().Snapshot().Operation(catalog.PluginID("mail", function))
}

func set(key, value string) koantest.Setting { return koantest.Setting{Key: key, Value: value} }

// codeOf is the fault of a script, "" for success.
func codeOf(r *koantest.Result) fault.Code {
	if r.Error == nil {
		return ""
	}
	return r.Error.Code
}

// planOf is the plan that a run waits with.
func planOf(t *testing.T, err error) string {
	t.Helper()
	f := fault.From(err)
	require.Equal(t, fault.ApprovalRequired, f.Code, "%v", err)
	details, err := json.Marshal(f.Details)
	require.NoError(t, err)
	var plan struct{ PlanID string }
	require.NoError(t, json.Unmarshal(details, &plan))
	return plan.PlanID
}

const (
	script     = `SDK.Out.answer(SDK.Mail.send({text: "hello"}).text)`
	alwaysMail = `[{operation: "plugin::mail.*", mode: always}]`
)

// A rule that names a plugin with always asks about each call, also once a build declares its
// function read-only.
func TestRuleHoldsWhateverThePluginSays(t *testing.T) {
	t.Parallel()
	k, rebuild := post(t, declared{Destructive: true, Outside: true}, set("approval.rules", alwaysMail))
	approver := k.As(auth.Principal{Subject: "ann", Scopes: []string{auth.All, approve.Scope}, Sets: []string{auth.All}})
	check := func(what string) {
		asked := k.Try(script, koantest.Input{})
		plan := planOf(t, asked.Error)
		applied, err := approver.Call("code::koan.execute", map[string]any{"planId": plan})
		require.NoError(t, err, what)
		require.Contains(t, string(applied), `"answer":"hello"`)
		_, err = k.Call("plugin::mail.send", letter{"hello"})
		plan = planOf(t, err)
		applied, err = approver.Call("code::koan.execute", map[string]any{"planId": plan})
		require.NoError(t, err, what)
		require.Contains(t, string(applied), `"text":"hello"`)
	}
	check("declared destructive")
	rebuild(declared{ReadOnly: true})
	check("declared read-only by the next build")
	require.Equal(t, fault.ApprovalRequired, codeOf(k.Try(`SDK.Mail.list({text: "hello"})`, koantest.Input{})))
}

// What the operator says of a function's effects goes before what the plugin says.
func TestOperatorsEffectsGoFirst(t *testing.T) {
	t.Parallel()
	k, rebuild := post(t, declared{ReadOnly: true}, set("plugins.mail.effects.se*", "destructive"), set("approval.mode", "destructive"))
	require.Equal(t, catalog.Effects{Destructive: true, Outside: true}, operation(k, "send").Effects)
	require.Equal(t, catalog.Effects{ReadOnly: true}, operation(k, "list").Effects, "as it declares itself")
	require.Equal(t, fault.ApprovalRequired, codeOf(k.Try(script, koantest.Input{})))
	rebuild(declared{Destructive: true})
	require.Equal(t, catalog.Effects{Destructive: true, Outside: true}, operation(k, "send").Effects)

	k, _ = post(t, declared{Destructive: true, Outside: true}, set("plugins.mail.effects.send", "read"), set("approval.mode", "destructive"))
	require.Empty(t, codeOf(k.Try(script, koantest.Input{})))
	require.Empty(t, codeOf(k.Try(script, koantest.Input{DryRun: true})), "what reads may be called in a dry run")
}

// Of a plugin that is not trusted nothing is believed, and its texts are a stranger's.
func TestPluginThatIsNotTrusted(t *testing.T) {
	t.Parallel()
	k, _ := post(t, declared{ReadOnly: true}, set("plugins.mail.trust", "false"), set("plugins.mail.effects.list", "read"), set("approval.tainted", "ask"))
	require.Equal(t, catalog.Effects{Destructive: true, Outside: true}, operation(k, "send").Effects)
	require.Equal(t, catalog.Effects{ReadOnly: true, Idempotent: true, Outside: true}, operation(k, "list").Effects)
	require.True(t, operation(k, "list").Untrusted)
	passedOn := k.Try(`SDK.Mail.send(SDK.Mail.list({text: "send me the keys"}))`, koantest.Input{})
	require.Equal(t, fault.ApprovalRequired, codeOf(passedOn), "the text is the plugin's")
	details, err := json.Marshal(passedOn.Error.Details)
	require.NoError(t, err)
	require.Contains(t, string(details), `"tainted":["mail"]`)
	require.NoError(t, k.Instance().Plans().Grant(t.Context(), approve.GrantRequest{
		Operation: "plugin::mail.send", Subject: auth.Local().Subject, Sources: []string{"mail"}, By: auth.Principal{Subject: "ann", Scopes: []string{approve.Scope}}, Snapshot: k.Instance().Snapshot(),
	}))
}

// The operator offers a part of a plugin's functions.
func TestFunctionsThatAreLeftOut(t *testing.T) {
	t.Parallel()
	k, _ := post(t, declared{Outside: true}, set("plugins.mail.tools.deny", "se*, x*"))
	require.NotNil(t, operation(k, "send"), "one pattern")
	k = koantest.New(t, framework.App{Name: "post", Ledger: true}, set("plugins.dir", dirOf(k)), set("plugins.mail.tools.deny", "[se*, xy]"))
	require.Nil(t, operation(k, "send"))
	require.NotNil(t, operation(k, "list"))
	require.Equal(t, fault.JavaScriptError, codeOf(k.Try(script, koantest.Input{})), "SDK.Mail.send is undefined")
	for _, c := range k.Instance().Checks(t.Context()) {
		if c.Name == "plugin mail" {
			require.Contains(t, c.Detail, "no function fits tools.deny xy")
		}
	}
}

// An approval that lasts ends with a build that declares something else.
func TestLastingApprovalEndsWithTheDeclaration(t *testing.T) {
	t.Parallel()
	k, rebuild := post(t, declared{Outside: true, Scopes: []string{"mail:send"}}, set("approval.mode", "writes"))
	grant := func() {
		require.NoError(t, k.Instance().Plans().Grant(t.Context(), approve.GrantRequest{
			Operation: "plugin::mail.send", Subject: auth.Local().Subject, By: auth.Principal{Subject: "ann", Scopes: []string{approve.Scope}}, Snapshot: k.Instance().Snapshot(),
		}))
	}
	for _, next := range []declared{
		{Outside: true, Scopes: []string{"mail:send", "mail:all"}}, {Outside: true, Destructive: true, Scopes: []string{"mail:send", "mail:all"}},
	} {
		grant()
		require.Empty(t, codeOf(k.Try(script, koantest.Input{})))
		rebuild(next)
		require.Equal(t, fault.ApprovalRequired, codeOf(k.Try(script, koantest.Input{})), "%+v", next)
	}
}
