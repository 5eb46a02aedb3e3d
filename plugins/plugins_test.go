package plugins

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exposure"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/tests/programs"
	"github.com/koan-go/koan/tests/soak"
)

func TestOperations(t *testing.T) {
	t.Parallel()
	b := start(t, pluginsDir(t, "echo"), nil)
	s := b.view().Snapshot()
	say := s.Operation(catalog.PluginID("echo", "say"))
	require.NotNil(t, say)
	require.Equal(t, "echo.say", s.ToolName(say.ID))
	require.Equal(t, catalog.Effects{ReadOnly: true}, say.Effects)
	require.JSONEq(t, `{"text":"hi"}`, string(say.Example))
	require.JSONEq(t, `{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "additionalProperties": false,
		"properties": {
			"text": {"type": "string", "description": "what to say"},
			"sleepMs": {"type": "integer", "minimum": 0},
			"size": {"type": "integer"},
			"do": {"type": "string", "enum": ["read","get","hoard","fill","panic","fault","error","print","deaf","progress","die","late","made-up","quota","script","own","bare","undeclared","partial"]}
		}}`, string(say.Input))
	require.Equal(t, catalog.Effects{Outside: true}, s.Operation(catalog.PluginID("echo", "send")).Effects)
	require.Equal(t, 200*time.Millisecond, s.Operation(catalog.PluginID("echo", "hurry")).Timeout)
}

// A function that is not declared to only read, and names no scope, takes the standard
// one.
func TestFunctionsWithAnEffectNeedAScope(t *testing.T) {
	t.Parallel()
	b := start(t, pluginsDir(t, "echo"), nil)
	s := b.view().Snapshot()
	require.Contains(t, s.Scopes(), catalog.ScopeCall)
	for _, c := range []struct {
		scopes    []string
		may, hear bool
	}{{nil, false, true}, {[]string{catalog.ScopeWrite}, false, true}, {[]string{catalog.ScopeCall}, true, true}, {[]string{auth.All}, true, true}} {
		who := auth.Principal{Subject: "ann", Scopes: c.scopes}
		view := s.View(who, exposure.Full, false)
		send, say := catalog.PluginID("echo", "send"), catalog.PluginID("echo", "say")
		require.Equal(t, c.may, view.Listed(send) && view.Scripted(send), "%v", c.scopes)
		require.Equal(t, c.hear, view.Listed(say) && view.Scripted(say), "%v", c.scopes)
		_, _, err := b.engine.Invoke(t.Context(), run.Request{View: view, Principal: who, ID: send, Input: json.RawMessage(`{"text":"hi"}`), Surface: "mcp", Via: catalog.SurfaceTools})
		if c.may {
			require.NoError(t, err)
			continue
		}
		require.Equal(t, fault.ToolNotFound, fault.CodeOf(err))
		_, _, err = b.engine.Invoke(t.Context(), run.Request{View: view, Principal: who, ID: send, Input: json.RawMessage(`{"text":"hi"}`), Surface: "app"})
		require.Equal(t, fault.Forbidden, fault.CodeOf(err))
		require.Contains(t, err.Error(), catalog.ScopeCall)
	}
}

func TestCall(t *testing.T) {
	t.Setenv("SECRET_TOKEN", "geheim")
	b := start(t, pluginsDir(t, "echo"), values{"plugins.echo.greeting": "moin", "plugins.echo.badge": "q7Zk-2mXw"})
	require.Equal(t, []string{"q7Zk-2mXw"}, b.provider.Secrets(), "what the plugin declares secret, by whatever name")
	out, err := b.say(echoIn{Text: "hi"})
	require.NoError(t, err)
	require.Equal(t, "hi", out.Text)
	require.Equal(t, "default", out.Set)
	require.Equal(t, "t1", out.Trace)
	require.NotEmpty(t, out.Key)
	require.True(t, out.Local)
	require.Equal(t, auth.Local().Subject, out.Subject)
	require.Equal(t, auth.Local().Scopes, out.Scopes)
	require.Equal(t, auth.Local().Sets, out.Sets)
	require.Equal(t, "moin", out.Setting)
	for _, env := range out.Env {
		require.NotContains(t, env, "SECRET_TOKEN")
	}

	t.Run("who a token names is not local", func(t *testing.T) {
		out, err := b.as(auth.Principal{Subject: auth.Local().Subject, Scopes: []string{catalog.ScopeCall}, Sets: []string{auth.All}}, "say", echoIn{})
		require.NoError(t, err)
		require.False(t, out.Local)
		require.Equal(t, []string{catalog.ScopeCall}, out.Scopes)
	})

	t.Run("output fits its schema", func(t *testing.T) {
		raw, err := json.Marshal(out)
		require.NoError(t, err)
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b.view().Snapshot().Operation(catalog.PluginID("echo", "say")).Output))
		require.NoError(t, err)
		c := jsonschema.NewCompiler()
		require.NoError(t, c.AddResource("s.json", doc))
		schema, err := c.Compile("s.json")
		require.NoError(t, err)
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
		require.NoError(t, err)
		require.NoError(t, schema.Validate(value))
	})
	t.Run("input is checked by the schema", func(t *testing.T) {
		_, err := b.invoke(t.Context(), "echo", "say", map[string]any{"text": 1, "sleepMs": -1})
		require.Equal(t, fault.InvalidPayload, fault.CodeOf(err))
		require.Len(t, fault.From(err).Details, 2)
	})
	t.Run("progress", func(t *testing.T) {
		var got string
		input, _ := json.Marshal(echoIn{Do: "progress"})
		_, _, err := b.engine.Invoke(t.Context(), run.Request{
			View: b.view(), Principal: auth.Local(), ID: catalog.PluginID("echo", "say"), Input: input,
			Reports: run.Reports{Progress: func(done, total float64, message string) { got = fmt.Sprint(done, total, message) }},
		})
		require.NoError(t, err)
		require.Equal(t, "1 2half", got)
	})
	t.Run("what it prints is in the log", func(t *testing.T) {
		_, err := b.say(echoIn{Text: "something", Do: "print"})
		require.NoError(t, err)
		for _, want := range []string{"printed something", "logged something"} {
			require.Eventually(t, func() bool { return strings.Contains(b.host.log.String(), want) }, 3*time.Second, 10*time.Millisecond, want)
		}
	})
	t.Run("parallel", func(t *testing.T) {
		begin := time.Now()
		errs := make(chan error)
		for range 10 {
			go func() {
				_, err := b.say(echoIn{SleepMs: 200})
				errs <- err
			}()
		}
		for range 10 {
			require.NoError(t, <-errs)
		}
		require.Less(t, time.Since(begin), 1500*time.Millisecond)
	})
}

func TestTimeAndCancel(t *testing.T) {
	t.Parallel()
	b := start(t, pluginsDir(t, "echo"), nil)
	before, err := b.say(echoIn{})
	require.NoError(t, err)
	for _, deaf := range []string{"", "deaf"} {
		t.Run("function's own time "+deaf, func(t *testing.T) {
			begin := time.Now()
			_, err := b.invoke(t.Context(), "echo", "hurry", echoIn{SleepMs: 3000, Do: deaf})
			require.Equal(t, fault.ToolTimeout, fault.CodeOf(err))
			require.Equal(t, map[string]any{"timeoutMs": int64(200)}, fault.From(err).Details)
			require.Less(t, time.Since(begin), 2*time.Second)
		})
		t.Run("caller's deadline "+deaf, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			begin := time.Now()
			_, err := b.invoke(ctx, "echo", "say", echoIn{SleepMs: 3000, Do: deaf})
			require.Equal(t, fault.Timeout, fault.CodeOf(err))
			require.Less(t, time.Since(begin), 2*time.Second)
		})
		t.Run("caller's cancel "+deaf, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(100*time.Millisecond, cancel)
			begin := time.Now()
			_, err := b.invoke(ctx, "echo", "say", echoIn{SleepMs: 3000, Do: deaf})
			require.Equal(t, fault.Cancelled, fault.CodeOf(err))
			require.Less(t, time.Since(begin), 2*time.Second)
		})
	}
	after, err := b.say(echoIn{})
	require.NoError(t, err)
	require.Equal(t, before.Pid, after.Pid, "slowness is no reason to restart")
}

func TestPluginDiesDuringCall(t *testing.T) {
	t.Parallel()
	b := start(t, pluginsDir(t, "echo"), nil)
	for round := range 3 {
		t.Run(fmt.Sprint("round ", round), func(t *testing.T) {
			out, err := b.say(echoIn{})
			require.NoError(t, err)
			time.AfterFunc(100*time.Millisecond, func() { _ = syscall.Kill(out.Pid, syscall.SIGKILL) })
			_, err = b.say(echoIn{SleepMs: 5000})
			f := fault.From(err)
			require.Equal(t, fault.PluginUnavailable, f.Code)
			require.Equal(t, fault.Safe, f.Retry)
			require.Contains(t, f.Hint, "restarted")

			again, err := b.say(echoIn{Text: "next"})
			require.NoError(t, err, "the next call works")
			require.Equal(t, "next", again.Text)
			require.NotEqual(t, out.Pid, again.Pid)
		})
	}
	require.Zero(t, b.host.changes.Load(), "its operations have stayed the same")
	require.Contains(t, b.provider.Checks(t.Context())[1].Detail, "restarts: 3")
}

func TestPluginExitsByItself(t *testing.T) {
	t.Parallel()
	b := start(t, pluginsDir(t, "echo"), nil)
	_, err := b.say(echoIn{Do: "die"})
	require.Equal(t, fault.PluginUnavailable, fault.CodeOf(err))
	_, err = b.invoke(t.Context(), "echo", "send", echoIn{Do: "die"})
	require.Equal(t, fault.OutcomeUnknown, fault.CodeOf(err), "what it has done outside nobody knows")
	_, err = b.say(echoIn{})
	require.NoError(t, err)
}

// A dying process still accepts a call for a moment: then that call reports it, and the
// next one works.
func TestPluginDiesBetweenCalls(t *testing.T) {
	t.Parallel()
	b := start(t, pluginsDir(t, "echo"), nil)
	out, err := b.say(echoIn{})
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(out.Pid, syscall.SIGKILL))
	require.Eventually(t, func() bool { return !alive(strconv.Itoa(out.Pid)) }, 5*time.Second, 10*time.Millisecond)
	again, err := b.say(echoIn{})
	if err != nil {
		require.Equal(t, fault.PluginUnavailable, fault.CodeOf(err))
		again, err = b.say(echoIn{})
	}
	require.NoError(t, err)
	require.NotEqual(t, out.Pid, again.Pid)
}

func TestPluginThatCannotRestart(t *testing.T) {
	t.Parallel()
	dir := pluginsDir(t, "echo")
	b := start(t, dir, nil)
	b.provider.opts.RestartWait = 300 * time.Millisecond
	out, err := b.say(echoIn{})
	require.NoError(t, err)
	require.NoError(t, os.Remove(filepath.Join(dir, "echo")))
	require.NoError(t, syscall.Kill(out.Pid, syscall.SIGKILL))
	require.Eventually(t, func() bool { return !alive(strconv.Itoa(out.Pid)) }, 5*time.Second, 10*time.Millisecond)
	begin := time.Now()
	_, err = b.say(echoIn{})
	require.Equal(t, fault.PluginUnavailable, fault.CodeOf(err))
	require.NotEmpty(t, fault.From(err).Hint)
	require.Less(t, time.Since(begin), 2*time.Second)
	require.Eventually(t, func() bool { return !b.provider.Checks(t.Context())[1].OK }, 5*time.Second, 10*time.Millisecond)
}

// TestStartFailureHidesPathsFromCallers: the log and doctor have them.
func TestStartFailureHidesPathsFromCallers(t *testing.T) {
	dir := pluginsDir(t, "echo")
	b := start(t, dir, nil)
	b.provider.opts.RestartWait = 300 * time.Millisecond
	out, err := b.say(echoIn{})
	require.NoError(t, err)
	gone := filepath.Join(t.TempDir(), "gone")
	t.Setenv("TMPDIR", gone) // where the socket of a new process would lie
	require.NoError(t, syscall.Kill(out.Pid, syscall.SIGKILL))
	require.Eventually(t, func() bool {
		_, err = b.say(echoIn{})
		return strings.Contains(fault.From(err).Message, "it does not start")
	}, 5*time.Second, 10*time.Millisecond)
	f := fault.From(err)
	require.Equal(t, fault.PluginUnavailable, f.Code)
	require.NotContains(t, f.Message+f.Hint, gone)
	require.Contains(t, b.provider.Checks(t.Context())[1].Detail, gone)
	require.Contains(t, b.host.log.String(), gone)
}

func TestPluginStartFailures(t *testing.T) {
	t.Parallel()
	dir := pluginsDir(t, "echo", "future", "silent", "wrong-domain")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "script"), []byte("#!/bin/sh\necho hello\n"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "garbage"), []byte("\x00\x01\x02"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "README.md"), []byte("not executable"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, ".hidden"), nil, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "Bad_Name"), nil, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "entities"), nil, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "copied"), nil, 0o644))
	b := start(t, dir, nil)

	_, err := b.say(echoIn{})
	require.NoError(t, err, "the good one works")
	_, err = b.invoke(t.Context(), "future", "say", echoIn{})
	require.Equal(t, fault.ToolNotFound, fault.CodeOf(err))

	checks := map[string]catalog.Check{}
	for _, c := range b.provider.Checks(t.Context()) {
		checks[c.Name] = c
	}
	require.True(t, checks["plugin echo"].OK)
	require.Contains(t, checks["plugins"].Detail, "Bad_Name")
	require.Contains(t, checks["plugins"].Detail, "entities: the name is reserved")
	require.Contains(t, checks["plugins"].Detail, "copied: the file is not executable")
	require.NotContains(t, checks["plugins"].Detail, "README")
	for name, wants := range map[string][]string{
		"future":       {"Plugin version: 8", "does not speak the contract version of this app, 1"},
		"wrong-domain": {`"other"`, `"wrong-domain"`},
		"silent":       {"handshake"},
		"script":       {"hello"},
		"garbage":      {"exec format"},
	} {
		c := checks["plugin "+name]
		require.False(t, c.OK, name)
		require.NotEmpty(t, c.Hint)
		for _, want := range wants {
			require.Contains(t, c.Detail, want)
		}
		require.Contains(t, b.host.log.String(), "plugin="+name)
	}
}

func TestSlowPluginStart(t *testing.T) {
	t.Parallel()
	dir := pluginsDir(t, "flaky")
	b := start(t, dir, values{"plugins.flaky.read": dir})
	require.Empty(t, b.provider.Offer().Operations)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "flaky.txt"), nil, 0o644))
	require.Eventually(t, func() bool { return b.host.changes.Load() == 1 }, 10*time.Second, 20*time.Millisecond)
	_, err := b.invoke(t.Context(), "flaky", "say", echoIn{})
	require.NoError(t, err)
}

func TestConfigurationMistakes(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		values values
		want   []string
	}{
		{"unknown setting", values{"plugins.echo.greting": "x", "plugins.echo.volume": "x"}, []string{"plugins.echo.greting", "greeting", "plugins.echo.volume"}},
		{"unknown plugin", values{"plugins.ecko.greeting": "x", "plugins.foo": "x"}, []string{"plugins.ecko.greeting", "echo", "plugins.foo"}},
		{"refused by the plugin", values{"plugins.echo.greeting": "rude"}, []string{"plugins.echo", "be polite"}},
		{"missing folder", values{"plugins.dir": "/no/such/folder"}, []string{"plugins.dir", "/no/such/folder"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			host := &testHost{values: values{"plugins.dir": pluginsDir(t, "echo")}, log: &syncBuffer{}}
			for k, v := range tt.values {
				host.values[k] = v
			}
			p := Provide(Options{})
			err := p.Start(t.Context(), host)
			require.Error(t, err)
			for _, want := range tt.want {
				require.ErrorContains(t, err, want)
			}
			for _, pl := range p.offering() {
				require.Nil(t, pl.state().proc, "nothing is left running")
			}
			require.NoError(t, p.Stop(t.Context()))
		})
	}
}

func TestOnlyAConfiguredFolder(t *testing.T) {
	t.Parallel()
	dir := pluginsDir(t, "echo")
	b := &bench{t: t, host: &testHost{values: values{}, log: &syncBuffer{}}, provider: Provide(Options{Dir: dir, Configured: true})}
	require.NoError(t, b.provider.Start(t.Context(), b.host))
	require.Empty(t, b.provider.Offer().Operations)
	require.Equal(t, "none: plugins.dir names no folder", b.provider.Checks(t.Context())[0].Detail)
	require.NoError(t, b.provider.Stop(t.Context()))
	b = &bench{t: t, host: &testHost{values: values{"plugins.dir": dir}, log: &syncBuffer{}}, provider: Provide(Options{Configured: true})}
	require.NoError(t, b.provider.Start(t.Context(), b.host))
	require.NotEmpty(t, b.provider.Offer().Operations)
	require.NoError(t, b.provider.Stop(t.Context()))
}

func TestNoDefaultFolder(t *testing.T) {
	t.Parallel()
	b := &bench{t: t, host: &testHost{values: values{}, log: &syncBuffer{}}, provider: Provide(Options{Dir: "no-such-folder"})}
	require.NoError(t, b.provider.Start(t.Context(), b.host))
	require.Empty(t, b.provider.Offer().Operations)
	check := b.provider.Checks(t.Context())[0]
	require.True(t, check.OK)
	require.Contains(t, check.Detail, "there is no folder")
	require.NoError(t, b.provider.Stop(t.Context()))
}

func TestStopLeavesNoProcess(t *testing.T) {
	t.Parallel()
	b := start(t, pluginsDir(t, "echo"), nil)
	out, err := b.say(echoIn{})
	require.NoError(t, err)
	stuck := make(chan error, 1)
	go func() {
		_, err := b.say(echoIn{SleepMs: 20000, Do: "deaf"})
		stuck <- err
	}()
	time.Sleep(100 * time.Millisecond)
	begin := time.Now()
	require.NoError(t, b.provider.Stop(t.Context()))
	require.Less(t, time.Since(begin), 8*time.Second)
	require.Error(t, <-stuck)
	require.False(t, alive(strconv.Itoa(out.Pid)))
	_, err = b.say(echoIn{})
	require.Equal(t, fault.PluginUnavailable, fault.CodeOf(err))
}

// A stopped process does not answer, but it can be killed.
func TestStopFrozenPlugin(t *testing.T) {
	t.Parallel()
	b := start(t, pluginsDir(t, "echo"), nil)
	out, err := b.say(echoIn{})
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(out.Pid, syscall.SIGSTOP))
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	begin := time.Now()
	require.NoError(t, b.provider.Stop(ctx))
	require.Less(t, time.Since(begin), 4*time.Second)
	require.False(t, alive(strconv.Itoa(out.Pid)))
}

func TestPluginDiesWithTheApp(t *testing.T) {
	t.Parallel()
	dir := pluginsDir(t, "echo")
	self, err := os.Executable()
	require.NoError(t, err)
	app := filepath.Join(filepath.Dir(dir), "app")
	require.NoError(t, os.Symlink(self, app))
	cmd := exec.Command(app)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	pid, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	pid = strings.TrimSpace(pid)
	require.True(t, alive(pid), pid)
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	require.Eventually(t, func() bool { return !alive(pid) }, 5*time.Second, 20*time.Millisecond)
}

func TestVision(t *testing.T) {
	soak.Proof(t)
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "plugins")
	require.NoError(t, programs.Build(dir, map[string]string{"vision": "plugins/vision"}))
	b := start(t, dir, values{"plugins.vision.root": "../sample-pantrypal/testdata"})
	detect := b.view().Snapshot().Operation(catalog.PluginID("vision", "detect"))
	call := func(input string) (string, error) {
		raw, _, err := b.engine.Invoke(t.Context(), run.Request{View: b.view(), Principal: auth.Local(), ID: detect.ID, Input: json.RawMessage(input)})
		return string(raw), err
	}
	out, err := call(`{"path":"haul.png"}`)
	require.NoError(t, err)
	require.Equal(t, 6, strings.Count(out, `"format":"ean13"`))
	out, err = call(string(detect.Example))
	require.NoError(t, err)
	require.Contains(t, out, `"detections":[]`)
	_, err = call(`{"path":"missing.png"}`)
	require.Equal(t, fault.NotFound, fault.CodeOf(err))
	_, err = call(`{"path":"broken.png"}`)
	require.Equal(t, fault.InvalidPayload, fault.CodeOf(err))
	_, err = call(`{"path":"../main.go"}`)
	require.Equal(t, fault.InvalidPayload, fault.CodeOf(err))
	_, err = call(`{"file":"haul.png"}`)
	require.Equal(t, fault.InvalidPayload, fault.CodeOf(err))
}

func TestReservedDomainsStaySorted(t *testing.T) { require.True(t, slices.IsSorted(reserved)) }

func BenchmarkCall(b *testing.B) {
	t := new(testing.T)
	dir := b.TempDir()
	self, err := os.Executable()
	require.NoError(b, err)
	require.NoError(b, os.Symlink(self, filepath.Join(dir, "echo")))
	p := Provide(Options{})
	require.NoError(b, p.Start(b.Context(), &testHost{values: values{"plugins.dir": dir}, log: &syncBuffer{}}))
	defer func() { _ = p.Stop(context.Background()) }()
	bench := &bench{t: t, provider: p, engine: run.NewEngine(run.Options{})}
	view := bench.view()
	for b.Loop() {
		_, _, err := bench.engine.Invoke(b.Context(), run.Request{View: view, Principal: auth.Local(), ID: catalog.PluginID("echo", "say"), Input: json.RawMessage(`{"text":"hi"}`)})
		require.NoError(b, err)
	}
}
