package e2e

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/plugins/kit"
	"github.com/koan-go/koan/tests/pgtest"
)

// postDomain is the plugin that this test binary is under that name: it writes
// what it is sent into a file, where it stays whatever becomes of the run.
const postDomain = "post"

type letter struct {
	Text string `json:"text"`
}

func postPlugin() kit.Plugin {
	var file string
	post := func(_ context.Context, c kit.Call, in letter) (letter, error) {
		f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return letter{}, err
		}
		defer f.Close()
		time.Sleep(5 * time.Millisecond)
		_, err = fmt.Fprintf(f, "%s %s\n", in.Text, c.Key)
		time.Sleep(5 * time.Millisecond)
		return in, err
	}
	return kit.Plugin{
		Domain: postDomain, Version: "1.0.0", Description: "Posts letters.",
		Settings:  []kit.Setting{{Key: "file", Help: "where letters go"}},
		Configure: func(_ context.Context, s map[string]string) error { file = s["file"]; return nil },
		Functions: []kit.Function{kit.Func("send", "Post a letter.", post, kit.Outside(), kit.Example(letter{"hello"}))},
	}
}

// shortLease is for tests that kill servers, which would have to wait otherwise.
const shortLease = "KOAN_RUN_KEYLEASEMS=1000"

// appWithPost is an app with the post, on the database that the test
// runs on.
func appWithPost(t *testing.T) (a *app, letters func() map[string]int) {
	t.Helper()
	a = newApp(t)
	if pgtest.Here(t) {
		a = onPostgres(t)
	}
	dir := t.TempDir()
	self, err := os.Executable()
	require.NoError(t, err)
	require.NoError(t, os.Symlink(self, filepath.Join(dir, postDomain)))
	file := filepath.Join(t.TempDir(), "letters")
	a.env = append(a.env, "KOAN_PLUGINS_DIR="+dir, "KOAN_PLUGINS_POST_FILE="+file, "KOAN_PLUGINS_POST_ISOLATION=trusted") // it writes
	return a, func() map[string]int {
		raw, err := os.ReadFile(file)
		if !os.IsNotExist(err) {
			require.NoError(t, err)
		}
		out := map[string]int{}
		for _, line := range strings.Fields(string(raw)) {
			if !strings.Contains(line, ":") { // the key
				out[line]++
			}
		}
		return out
	}
}

// answer is the result of a script with a key: its bytes, and its fault's code.
type answer struct{ text, code string }

func answerOf(t *testing.T, m message) answer {
	t.Helper()
	require.Nil(t, m.Error)
	var r toolResult
	require.NoError(t, json.Unmarshal(m.Result, &r))
	var e execution
	require.NoError(t, json.Unmarshal(r.Structured, &e))
	out := answer{text: string(r.Structured)}
	if e.Error != nil {
		out.code = e.Error.Code
	}
	return out
}

func (p *peer) once(key, code string, extra input) answer {
	p.t.Helper()
	in := input{"code": code, "idempotencyKey": key}
	for k, v := range extra {
		in[k] = v
	}
	return answerOf(p.t, p.call("tools/call", input{"name": "koan.code.execute", "arguments": in}))
}

const addTodo = `const t = SDK.Entities.Todo.upsert({ title: "once" }); SDK.Out.answer(t.id + " " + Math.random())`

func TestOnce(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestOnce) {
		return
	}
	a, _ := appWithPost(t)
	p, q := a.serve(), a.serve()
	with := input{"include": []string{"changes", "calls"}, "args": input{"a": 1, "b": []int{2}}}
	first := p.once("key", addTodo, with)
	require.Empty(t, first.code, first.text)
	require.Equal(t, first, p.once("key", addTodo, with))
	require.Equal(t, first, q.once("key", addTodo, with), "another process")
	same := input{"include": []string{"calls", "changes"}, "args": json.RawMessage(`{"b": [2.0], "a": 1.0}`), "correlationId": "x", "limits": input{"timeoutMs": 9000}}
	require.Equal(t, first, q.once("key", addTodo, same), "what does not change the meaning may differ")
	for name, other := range map[string]input{
		"args": {"args": 1}, "set": {"set": "tenant-x"}, "atomic": {"atomic": false}, "only": {"only": []string{"Todo"}}, "include": {"include": []string{}}, "entry": {"entryFunction": "f"},
	} {
		in := input{"include": with["include"], "args": with["args"]}
		for k, v := range other {
			in[k] = v
		}
		require.Equal(t, string(fault.Conflict), q.once("key", addTodo, in).code, name)
	}
	require.Equal(t, string(fault.Conflict), q.once("key", addTodo+" ", with).code)
	for _, bad := range []any{"", strings.Repeat("k", 201), "a\nb", 5} {
		r := p.tool("koan.code.execute", input{"code": "1", "idempotencyKey": bad})
		require.True(t, r.IsError)
		require.Contains(t, string(r.Structured), `"path":"/idempotencyKey"`)
	}
	dry := p.execute(addTodo, input{"idempotencyKey": "dry", "dryRun": true})
	require.True(t, dry.Success)
	require.Contains(t, dry.Logs[0]["message"], "idempotencyKey")

	meta := p.call("tools/call", input{"name": "koan.code.execute", "arguments": input{"code": addTodo, "idempotencyKey": "key", "include": with["include"], "args": with["args"]}})
	require.Contains(t, string(meta.Result), `"repeated":true`)
	p.close()
	q.close()

	require.Equal(t, first, a.serve().once("key", addTodo, with), "after a restart")
	file := a.script("once.js", addTodo)
	one, two := a.exec("", "run", file, "--idempotency-key", "cli"), a.exec("", "run", file, "--idempotency-key", "cli")
	require.Zero(t, one.status, one.stderr)
	var x, y struct {
		RunID  string `json:"run_id"`
		Output string `json:"output_digest"`
		Result struct{ Answer string }
	}
	require.NoError(t, json.Unmarshal([]byte(one.stdout), &x))
	require.NoError(t, json.Unmarshal([]byte(two.stdout), &y))
	require.Equal(t, x, y)
	e := a.serve().execute(`SDK.Entities.Todo.count({ title: "once" })`)
	require.EqualValues(t, 2, e.Result)
}

func TestOnceInTwoProcesses(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestOnceInTwoProcesses) {
		return
	}
	a, letters := appWithPost(t)
	peers := []*peer{a.serve(), a.serve()}
	code := `SDK.Post.send({ text: "race" });` + addTodo
	var mu sync.Mutex
	answers := map[string]int{}
	var g sync.WaitGroup
	for n := range 16 {
		g.Go(func() {
			for {
				got := peers[n%2].once("race", code, nil)
				if got.code == string(fault.InProgress) {
					time.Sleep(5 * time.Millisecond)
					continue
				}
				mu.Lock()
				answers[got.text]++
				mu.Unlock()
				return
			}
		})
	}
	g.Wait()
	require.Len(t, answers, 1, "%v", answers)
	require.Equal(t, 1, letters()["race"])
	require.EqualValues(t, 1, peers[0].execute(`SDK.Entities.Todo.count({ title: "once" })`).Result)
}

// TestOnceKilledAfterCommit kills the server when the receipt is in the
// data and nobody has heard of it.
func TestOnceKilledAfterCommit(t *testing.T) {
	t.Parallel()
	a, letters := appWithPost(t)
	a.env = append(a.env, shortLease)
	a.serve().close() // which makes the set
	db, err := sql.Open("sqlite3", "file:"+filepath.Join(a.data, "default.db")+"?mode=ro&_busy_timeout=5000")
	require.NoError(t, err)
	defer db.Close()
	code := `SDK.Post.send({ text: SDK.args });` + addTodo
	for n := range 20 {
		key := fmt.Sprint("key-", n)
		in := input{"name": "koan.code.execute", "arguments": input{"code": code, "args": key, "idempotencyKey": key}}
		p := a.serve()
		_, c := p.post("tools/call", in)
		for deadline := time.Now().Add(time.Minute); ; {
			var there int
			require.NoError(t, db.QueryRow("SELECT COUNT(*) FROM koan_receipts WHERE idempotency_key = ?", key).Scan(&there))
			if there == 1 {
				break
			}
			require.True(t, time.Now().Before(deadline))
		}
		require.NoError(t, p.cmd.Process.Kill())
		<-p.done
		if len(c) > 0 {
			continue // it was faster
		}
		p = a.serve()
		var got answer
		for got = p.once(key, code, input{"args": key}); got.code == string(fault.InProgress); got = p.once(key, code, input{"args": key}) {
			time.Sleep(20 * time.Millisecond)
		}
		require.Empty(t, got.code, got.text)
		require.Equal(t, got, p.once(key, code, input{"args": key}))
		require.Equal(t, 1, letters()[key])
		require.EqualValues(t, n+1, p.execute(`SDK.Entities.Todo.count({ title: "once" })`).Result)
		return
	}
	t.Fatal("no kill came between a commit and its answer")
}

func TestOnceWithKilledServers(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestOnceWithKilledServers) {
		return
	}
	onceThoughKilled(t, 5)
}

// onceThoughKilled kills a server at random moments while clients run scripts under
// keys, asks again under the same keys, and checks that every script has its effect
// exactly once: in the data, and outside. Where a call outside was cut off, nobody
// knows its end; then nothing is in the data.
func onceThoughKilled(t *testing.T, times int) {
	t.Helper()
	a, letters := appWithPost(t)
	a.env = append(a.env, shortLease)
	const local = `SDK.Entities.Todo.upsert({ title: SDK.args.n }); SDK.Entities.Todo.collection({ pageSize: 5 }); SDK.Out.answer(Math.random())`
	const posting = `SDK.Entities.Todo.upsert({ title: SDK.args.n }); SDK.Post.send({ text: SDK.args.n }); SDK.Out.answer(Math.random())`
	code := func(name string) string {
		if strings.HasPrefix(name, "post") {
			return posting
		}
		return local
	}
	ask := func(p *peer, name string) chan message {
		_, c := p.post("tools/call", input{"name": "koan.code.execute", "arguments": input{"code": code(name), "args": input{"n": name}, "idempotencyKey": name}})
		return c
	}
	var names []string
	answered := map[string]answer{}
	note := func(name string, got answer) bool {
		if got.code == string(fault.InProgress) || got.code != "" && got.code != string(fault.OutcomeUnknown) {
			require.Contains(t, []string{string(fault.InProgress), string(fault.Cancelled), string(fault.Conflict), string(fault.SetBusy), string(fault.PluginUnavailable)}, got.code, got.text)
			return false
		}
		if before, ok := answered[name]; ok && before.code == "" {
			require.Equal(t, before, got, "what was answered once is answered again")
		}
		answered[name] = got
		return true
	}
	early := 0
	for round := range times {
		p := a.serve()
		require.True(t, p.execute("1").Success) // workers are there
		asked := map[string]chan message{}
		for _, name := range names[max(0, len(names)-6):] { // of rounds before
			asked[name] = ask(p, name)
		}
		for n := range 3 {
			for _, kind := range []string{"local", "post"} {
				name := fmt.Sprint(kind, "-", round, "-", n)
				names = append(names, name)
				asked[name] = ask(p, name)
			}
		}
		if n := rand.IntN(6); n > 0 { // somewhere between two answers
			select {
			case m := <-asked[names[len(names)-n]]:
				early++
				note(names[len(names)-n], answerOf(t, m))
			case <-time.After(5 * time.Second):
			}
		}
		time.Sleep(time.Duration(rand.IntN(60)) * time.Millisecond)
		require.NoError(t, p.cmd.Process.Kill())
		<-p.done
		for name, c := range asked {
			select {
			case m := <-c:
				if note(name, answerOf(t, m)) {
					early++
				}
			default:
			}
		}
	}
	p := a.serve()
	for _, name := range names {
		deadline := time.Now().Add(20 * time.Second)
		for !note(name, answerOf(t, p.wait(ask(p, name)))) {
			require.True(t, time.Now().Before(deadline), "%s never ends", name)
			time.Sleep(50 * time.Millisecond)
		}
	}
	e := p.execute(`const n = {}; for (const t of SDK.Entities.Todo.each()) n[t.title] = (n[t.title] ?? 0) + 1; n`)
	require.True(t, e.Success, "%+v", e.Error)
	rows, posted, unknown := e.Result.(map[string]any), letters(), 0
	for _, name := range names {
		post := strings.HasPrefix(name, "post")
		switch answered[name].code {
		case "":
			require.EqualValues(t, 1, rows[name], name)
			if post {
				require.Equal(t, 1, posted[name], name)
			}
		default:
			unknown++
			require.True(t, post, "%s has no call outside: %s", name, answered[name].text)
			require.Nil(t, rows[name], name)
			require.LessOrEqual(t, posted[name], 1, name)
		}
	}
	t.Logf("%d keys, %d answers before a kill, %d calls of which nobody knows the end", len(names), early, unknown)
}
