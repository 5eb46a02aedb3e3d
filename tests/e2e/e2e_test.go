// Package e2e runs whole apps as processes, from the outside: the fixture app
// (this test binary started again), PantryPal and the developer's tool.
package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/plugins/kit"
	"github.com/koan-go/koan/tests/fixture"
	"github.com/koan-go/koan/tests/growth"
)

// asFixture makes this test binary the fixture app.
const asFixture = "KOANTEST_FIXTURE"

func TestMain(m *testing.M) {
	switch filepath.Base(os.Args[0]) { // a plugin, which runs until it is stopped
	case napDomain:
		kit.Serve(napPlugin())
		os.Exit(0)
	case postDomain:
		kit.Serve(postPlugin())
		os.Exit(0)
	case bulkDomain:
		kit.Serve(bulkPlugin())
		os.Exit(0)
	}
	if os.Getenv(asFixture) != "" {
		app := fixture.App()
		if v := os.Getenv(asVersion); v != "" {
			app.Version = v
		}
		framework.Main(app)
	}
	if os.Getenv(asConformance) != "" {
		framework.Main(conformanceApp())
	}
	if version, err := strconv.Atoi(os.Getenv(asGrowth)); err == nil {
		framework.Main(growth.App(version))
	}
	status := m.Run()
	if pantryBuilt != "" {
		_ = os.RemoveAll(pantryBuilt)
	}
	os.Exit(status)
}

// app is a command line of the fixture app with a data folder of its own.
type app struct {
	t    *testing.T
	data string
	dir  string
	env  []string
}

func newApp(t *testing.T) *app {
	t.Helper()
	return &app{t: t, data: t.TempDir(), dir: t.TempDir()}
}

func (a *app) command(ctx context.Context, args ...string) *exec.Cmd {
	a.t.Helper()
	self, err := os.Executable()
	require.NoError(a.t, err)
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Dir = a.dir
	cmd.Env = append([]string{asFixture + "=1", "HOME=" + a.dir, "PATH=" + os.Getenv("PATH"), "KOAN_DATABASE=sqlite://" + a.data}, a.env...)
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// result is how a command ended.
type result struct {
	status         int
	stdout, stderr string
}

func (a *app) exec(stdin string, args ...string) result {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(a.t.Context(), time.Minute)
	defer cancel()
	cmd := a.command(ctx, args...)
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &errs
	err := cmd.Run()
	if _, ok := err.(*exec.ExitError); err != nil && !ok {
		require.NoError(a.t, err)
	}
	require.NoError(a.t, ctx.Err(), "the command hung: %v\n%s", args, errs.String())
	return result{cmd.ProcessState.ExitCode(), out.String(), errs.String()}
}

func (a *app) script(name, code string) string {
	a.t.Helper()
	path := filepath.Join(a.dir, name)
	require.NoError(a.t, os.WriteFile(path, []byte(code), 0o600))
	return path
}

// peer is a raw JSON-RPC client: it sees every byte that the server sends.
type peer struct {
	t       *testing.T
	cmd     *exec.Cmd
	in      io.WriteCloser
	stderr  *lockedBuffer
	next    atomic.Int64
	mu      sync.Mutex
	waiting map[string]chan message
	notes   []message
	stray   []string // lines that are no JSON-RPC
	done    chan struct{}
}

type message struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
	Result  json.RawMessage `json:"result"`
	Error   *rpcError       `json:"error"`
}

type rpcError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data"`
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// serve starts the app as a server and shakes hands.
func (a *app) serve(args ...string) *peer {
	a.t.Helper()
	p := a.raw(args...)
	init := p.call("initialize", map[string]any{
		"protocolVersion": "2025-11-25", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "e2e", "version": "1"},
	})
	require.Nil(a.t, init.Error)
	p.notify("notifications/initialized", map[string]any{})
	return p
}

// raw starts the app as a server without a handshake.
func (a *app) raw(args ...string) *peer {
	a.t.Helper()
	cmd := a.command(context.Background(), append([]string{"serve"}, args...)...)
	return start(a.t, cmd)
}

func start(t *testing.T, cmd *exec.Cmd) *peer {
	t.Helper()
	p := &peer{t: t, cmd: cmd, waiting: map[string]chan message{}, done: make(chan struct{}), stderr: &lockedBuffer{}}
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	cmd.Stderr = p.stderr
	p.in = in
	require.NoError(t, cmd.Start())
	go p.read(out)
	t.Cleanup(func() {
		p.close()
		require.Empty(t, p.stray, "nothing but protocol on standard output")
	})
	return p
}

func (p *peer) read(out io.Reader) {
	defer close(p.done)
	lines := bufio.NewReaderSize(out, 1<<20)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			p.take(line)
		}
		if err != nil {
			return
		}
	}
}

func (p *peer) take(line string) {
	var m message
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := json.Unmarshal([]byte(line), &m); err != nil || m.JSONRPC != "2.0" {
		p.stray = append(p.stray, line)
		return
	}
	if m.Method != "" {
		p.notes = append(p.notes, m)
		return
	}
	if c := p.waiting[string(m.ID)]; c != nil {
		c <- m
	}
}

// close ends the server as a client does that goes away, and waits for it.
func (p *peer) close() {
	_ = p.in.Close()
	ended := make(chan struct{})
	go func() { _ = p.cmd.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(15 * time.Second):
		_ = p.cmd.Process.Kill()
		<-ended
		p.t.Errorf("the server did not end with its client\n%s", p.stderr.String())
	}
	<-p.done
}

// post sends a request and returns the channel of its answer.
func (p *peer) post(method string, params any) (id int64, answer chan message) {
	p.t.Helper()
	id = p.next.Add(1)
	answer = make(chan message, 4)
	p.mu.Lock()
	p.waiting[fmt.Sprint(id)] = answer
	p.mu.Unlock()
	p.line(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
	return id, answer
}

func (p *peer) call(method string, params any) message {
	p.t.Helper()
	_, answer := p.post(method, params)
	return p.wait(answer)
}

func (p *peer) wait(answer chan message) message {
	p.t.Helper()
	select {
	case m := <-answer:
		return m
	case <-p.done:
		p.t.Fatalf("the server went away\n%s", p.stderr.String())
	case <-time.After(time.Minute):
		p.t.Fatalf("no answer\n%s", p.stderr.String())
	}
	return message{}
}

func (p *peer) notify(method string, params any) {
	p.t.Helper()
	p.line(map[string]any{"jsonrpc": "2.0", "method": method, "params": params})
}

func (p *peer) line(v any) {
	p.t.Helper()
	raw, err := json.Marshal(v)
	require.NoError(p.t, err)
	_, err = p.in.Write(append(raw, '\n'))
	require.NoError(p.t, err)
}

// toolResult is what tools/call returns.
type toolResult struct {
	IsError    bool            `json:"isError"`
	Structured json.RawMessage `json:"structuredContent"`
	Content    []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	} `json:"content"`
	Meta map[string]json.RawMessage `json:"_meta"`
}

// tool calls a tool that answers (with a result or a failure).
func (p *peer) tool(name string, args any) toolResult {
	p.t.Helper()
	m := p.call("tools/call", map[string]any{"name": name, "arguments": args})
	require.Nil(p.t, m.Error, "%s: %+v", name, m.Error)
	var r toolResult
	require.NoError(p.t, json.Unmarshal(m.Result, &r))
	require.Len(p.t, r.Content, 1)
	require.JSONEq(p.t, string(r.Structured), r.Content[0].Text, "the text is the same JSON")
	return r
}

// execution is the result of koan.code.execute.
type execution struct {
	Success      bool              `json:"success"`
	Answer       any               `json:"answer"`
	Result       any               `json:"result"`
	Logs         []map[string]any  `json:"logs"`
	ChangeCounts []map[string]any  `json:"changeCounts"`
	Changes      []map[string]any  `json:"changes"`
	Calls        []map[string]any  `json:"calls"`
	Committed    bool              `json:"committed"`
	Atomic       *bool             `json:"atomic"`
	Outside      []map[string]any  `json:"outsideEffects"`
	Error        *executionFailure `json:"error"`
}

type executionFailure struct {
	Code, Message, Hint, Path, Retry string
	Details                          any
	Line, Column                     int
}

// execute runs a script; extra members of the input may follow.
func (p *peer) execute(code string, extra ...map[string]any) execution {
	p.t.Helper()
	input := map[string]any{"code": code}
	for _, e := range extra {
		for k, v := range e {
			input[k] = v
		}
	}
	r := p.tool("koan.code.execute", input)
	var e execution
	require.NoError(p.t, json.Unmarshal(r.Structured, &e), string(r.Structured))
	require.Equal(p.t, r.IsError, !e.Success)
	if r.IsError {
		require.NotNil(p.t, e.Error)
		require.NotEmpty(p.t, e.Error.Hint)
	}
	return e
}
