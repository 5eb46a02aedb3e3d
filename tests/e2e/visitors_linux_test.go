package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestVisitors is the short form of TestSoakVisitors.
func TestVisitors(t *testing.T) { receive(t, 6*time.Second, false) }

const (
	// webVisitors come over HTTP, pipeVisitors start a server of their own over stdio.
	webVisitors  = 45
	pipeVisitors = 4 // and one that stays with its server
	// idleSession is when a session that nobody ended is gone.
	idleSession = 500 * time.Millisecond
	// perWorker is what a server has open for one worker: pipes to it, what it reads
	// its memory from, and itself.
	perWorker = 6
	// slackCount is by how many goroutines or descriptors two moments differ without a
	// leak: connections to the database that come and go. A leak is one per visit.
	slackCount = 16
	slackBytes = 24 << 20
)

// receive lets 50 clients come, call, cancel and vanish for a while, without an end
// or in the middle of a call, and holds what the servers have then against what they
// had: memory, goroutines, descriptors, processes. The comparison is with the time
// after a first fifth of the visits, when caches are full and the pool of workers has
// grown; in the long form the pool must also have shrunk again.
func receive(t *testing.T, long time.Duration, calm bool) {
	a, look := vitalsApp(t)
	limits := []string{"--sandbox.cpuMs", "200", "--server.sessionIdleMs", fmt.Sprint(idleSession.Milliseconds()), "--server.queueMax", "200"}
	w := a.web(limits...)
	fresh := look(w.cmd)
	v := &visitors{t: t, url: w.url}

	resident, lookResident := vitalsApp(t)
	stays := resident.serve(limits...)

	both := map[*exec.Cmd]func(*exec.Cmd) vitals{w.cmd: look, stays.cmd: lookResident}
	var before map[*exec.Cmd]vitals
	for i, part := range []time.Duration{long / 5, long - long/5} {
		ctx, cancel := context.WithTimeout(t.Context(), part)
		v.come(ctx, uint64(i), stays)
		cancel()
		if i == 0 {
			before = settled(both)
			t.Logf("after the first visits: HTTP %s; stdio %s", before[w.cmd], before[stays.cmd])
		}
	}
	after := settled(both)
	t.Logf("after all: HTTP %s; stdio %s; %s", after[w.cmd], after[stays.cmd], v)
	same(t, before[w.cmd], after[w.cmd])
	same(t, before[stays.cmd], after[stays.cmd])
	if calm {
		require.Eventually(t, func() bool { return len(workersOf(t, w.cmd.Process.Pid)) <= fresh.workers }, 10*time.Minute, time.Second, "the pool shrinks when nobody comes")
	}
	require.Positive(t, v.answered.Load())
	require.Zero(t, v.wrong.Load())
	status, got := w.call("todo.get-by-id", `{"id":"1"}`)
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, "1", got["id"])
	workers := childrenOf(t, w.cmd.Process.Pid)
	require.NoError(t, w.cmd.Process.Signal(syscall.SIGTERM))
	require.NoError(t, w.cmd.Wait())
	for _, pid := range workers {
		require.NoDirExists(t, "/proc/"+pid, "a worker outlived its server")
	}
	require.NotContains(t, w.stderr.String()+stays.stderr.String(), "panic")
}

// same fails where a server holds more than it did.
func same(t *testing.T, before, after vitals) {
	t.Helper()
	more := max(after.workers-before.workers, 0)
	require.LessOrEqual(t, after.workers, max(before.workers, 4*runtime.NumCPU()+1), "processes: those that are kept, and one for whoever comes")
	require.LessOrEqual(t, after.Goroutines, before.Goroutines+perWorker*more+slackCount, "goroutines\n%s", after.Stacks)
	require.LessOrEqual(t, len(after.descriptors), len(before.descriptors)+perWorker*more+slackCount, "descriptors\n%s", after.descriptors)
	require.LessOrEqual(t, after.Heap, before.Heap+slackBytes, "heap")
	require.LessOrEqual(t, after.resident, before.resident+before.resident/4+slackBytes, "resident memory")
}

// visitors are the clients.
type visitors struct {
	t   *testing.T
	url string

	visits, answered, refused, vanished, wrong atomic.Int64
}

func (v *visitors) String() string {
	return fmt.Sprintf("%d visits, %d answers, %d of them refusals, %d vanished", v.visits.Load(), v.answered.Load(), v.refused.Load(), v.vanished.Load())
}

// come has all of them come again and again until ctx ends.
func (v *visitors) come(ctx context.Context, seed uint64, stays *peer) {
	var group sync.WaitGroup
	visit := func(who uint64, once func(r *rand.Rand)) {
		group.Go(func() {
			r := rand.New(rand.NewPCG(seed, who))
			for ctx.Err() == nil {
				once(r)
				v.visits.Add(1)
				time.Sleep(time.Duration(r.IntN(20)) * time.Millisecond)
			}
		})
	}
	for who := range uint64(webVisitors) {
		visit(who, func(r *rand.Rand) { v.overHTTP(ctx, r) })
	}
	for who := range uint64(pipeVisitors) {
		visit(1000+who, func(r *rand.Rand) { v.overPipe(ctx, r) })
	}
	visit(2000, func(r *rand.Rand) { v.again(stays, r) })
	group.Wait()
}

// settled waits until servers have nothing to do any more, and looks at them.
func settled(servers map[*exec.Cmd]func(*exec.Cmd) vitals) map[*exec.Cmd]vitals {
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	time.Sleep(2 * idleSession)
	now := map[*exec.Cmd]vitals{}
	for cmd, look := range servers {
		now[cmd] = look(cmd)
	}
	// Calls that were cut off end within their limits, which takes long on a machine
	// that is busy with others.
	for quiet := 0; quiet < 10; {
		time.Sleep(300 * time.Millisecond)
		quiet++
		for cmd, look := range servers {
			next := look(cmd)
			if next.Goroutines < now[cmd].Goroutines || next.workers < now[cmd].workers {
				quiet = 0
			}
			now[cmd] = next
		}
	}
	return now
}

// wishes are calls that visitors make: quick ones, ones that fail, and ones that take
// their time.
var wishes = []struct{ tool, arguments string }{
	{"todo.get-by-id", `{"id":"1"}`},
	{"todo.collection", `{"pageSize":5}`},
	{"todo.get-by-id", `{"id":"nobody"}`},
	{"koan.code.execute", `{"code":"SDK.Entities.Todo.getById('1').title"}`},
	{"koan.code.execute", `{"code":"SDK.Entities.Todo.patch('1', { title: 'Write tests' }); 1"}`},
	{"koan.code.execute", `{"code":"null.x"}`},
	{"koan.code.execute", `{"code":"for (let i = 0; i < 500; i++) SDK.Entities.Todo.getById('1')"}`},
	{"koan.code.execute", `{"code":"for (;;);"}`},
}

// longCall is one that nobody waits for to the end.
const longCall = `{"code":"for (;;) SDK.Entities.Todo.getById('1')"}`

const (
	newEra   = `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	greeting = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"visitor","version":"1"}}}`
)

func toolCall(id int, tool, arguments, more string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s%s}}`, id, tool, arguments, more)
}

// overHTTP is one visit over HTTP.
func (v *visitors) overHTTP(ctx context.Context, r *rand.Rand) {
	ask := wishes[r.IntN(len(wishes))]
	modern := http.Header{"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"tools/call"}, "Mcp-Name": {ask.tool}}
	switch r.IntN(5) {
	case 0, 1: // the newer era: one call that stands for itself
		v.answer(v.post(ctx, toolCall(1, ask.tool, ask.arguments, newEra), modern))
	case 2: // gone before the answer
		short, cancel := context.WithTimeout(ctx, time.Duration(r.IntN(60))*time.Millisecond)
		modern.Set("Mcp-Name", "koan.code.execute")
		_, _, err := v.post(short, toolCall(1, "koan.code.execute", longCall, newEra), modern)
		cancel()
		v.gone(err)
	case 3: // gone in the middle of the request
		v.gone(v.half(ctx))
	case 4:
		v.session(ctx, r)
	}
}

// session is a visit in a session of the older era. Half of them are never ended.
func (v *visitors) session(ctx context.Context, r *rand.Rand) {
	_, header, err := v.post(ctx, greeting, nil)
	id := header.Get("Mcp-Session-Id")
	if err != nil || id == "" {
		v.gone(err)
		return
	}
	in := http.Header{"Mcp-Session-Id": {id}, "Mcp-Protocol-Version": {"2025-11-25"}}
	_, _, _ = v.post(ctx, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, in)
	stream, cut := context.WithCancel(ctx)
	defer cut()
	if r.IntN(2) == 0 { // with a stream of its own messages, which is cut
		go func() {
			if req, err := http.NewRequestWithContext(stream, http.MethodGet, v.url, nil); err == nil {
				req.Header = in.Clone()
				req.Header.Set("Accept", "text/event-stream")
				if resp, err := http.DefaultClient.Do(req); err == nil {
					_, _ = io.Copy(io.Discard, resp.Body)
					_ = resp.Body.Close()
				}
			}
		}()
	}
	for n := range 1 + r.IntN(3) {
		ask := wishes[r.IntN(len(wishes))]
		v.answer(v.post(ctx, toolCall(n+1, ask.tool, ask.arguments, ""), in))
	}
	if r.IntN(2) == 0 { // a call that is cancelled
		var group sync.WaitGroup
		group.Go(func() { _, _, _ = v.post(ctx, toolCall(9, "koan.code.execute", longCall, ""), in) })
		time.Sleep(time.Duration(r.IntN(40)) * time.Millisecond)
		_, _, _ = v.post(ctx, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9}}`, in)
		group.Wait()
	}
	if r.IntN(2) == 0 {
		if req, err := http.NewRequestWithContext(ctx, http.MethodDelete, v.url, nil); err == nil {
			req.Header = in
			if resp, err := http.DefaultClient.Do(req); err == nil {
				_ = resp.Body.Close()
			}
		}
	}
}

func (v *visitors) post(ctx context.Context, body string, header http.Header) (string, http.Header, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, v.url, strings.NewReader(body))
	if err != nil {
		return "", nil, err
	}
	for k, values := range header {
		req.Header[k] = values
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return string(text), resp.Header, err
}

// half sends a part of a request and leaves.
func (v *visitors) half(ctx context.Context) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", strings.TrimSuffix(strings.TrimPrefix(v.url, "http://"), "/mcp"))
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: 4000\r\n\r\n"+greeting); err != nil {
		return err
	}
	return io.ErrUnexpectedEOF
}

// answer takes the answer to a call: each is JSON-RPC, and none an error that only
// the server can be blamed for.
func (v *visitors) answer(text string, _ http.Header, err error) {
	if err != nil {
		v.gone(err)
		return
	}
	if i := strings.LastIndex(text, "\ndata: "); i >= 0 || strings.HasPrefix(text, "data: ") { // of a stream
		text = text[max(strings.LastIndex(text, "data: "), 0)+len("data: "):]
	}
	v.judge(text)
}

func (v *visitors) judge(text string) {
	var m message
	if json.Unmarshal([]byte(text), &m) != nil || m.JSONRPC != "2.0" || strings.Contains(text, `"code":"internal`) || m.Result == nil && m.Error == nil {
		v.wrong.Add(1)
		v.t.Errorf("an answer: %.400s", text)
		return
	}
	v.answered.Add(1)
	if m.Error != nil {
		v.refused.Add(1)
	}
}

// gone counts a visit without an answer, which is the visitor's own doing.
func (v *visitors) gone(err error) {
	if err != nil {
		v.vanished.Add(1)
	}
}

// overPipe starts a server over stdio, calls it, and leaves: it closes its ends, in
// the middle of a call or not. The server must go, and its workers with it.
func (v *visitors) overPipe(ctx context.Context, r *rand.Rand) {
	home, err := os.MkdirTemp("", "visitor-")
	if err != nil {
		v.t.Error(err)
		return
	}
	defer os.RemoveAll(home) // now: there are thousands of visits
	a := &app{t: v.t, data: filepath.Join(home, "data"), dir: home}
	cmd := a.command(context.Background(), "serve", "--sandbox.cpuMs", "200")
	in, err := cmd.StdinPipe()
	if err != nil {
		v.t.Error(err)
		return
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		v.t.Error(err)
		return
	}
	if err := cmd.Start(); err != nil {
		v.t.Error(err)
		return
	}
	lines := bufio.NewReader(out)
	_, _ = io.WriteString(in, greeting+"\n")
	if _, err := lines.ReadString('\n'); err != nil {
		v.t.Error("no greeting: ", err)
	}
	_, _ = io.WriteString(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
	for n := range 1 + r.IntN(5) {
		if ctx.Err() != nil {
			break
		}
		ask := wishes[r.IntN(len(wishes))]
		_, _ = io.WriteString(in, toolCall(n+1, ask.tool, ask.arguments, "")+"\n")
		if line, err := lines.ReadString('\n'); err == nil {
			v.judge(line)
		}
	}
	var workers []string
	if r.IntN(2) == 0 { // in the middle of a call, with the answer unread
		_, _ = io.WriteString(in, toolCall(99, "koan.code.execute", longCall, "")+"\n")
		time.Sleep(time.Duration(r.IntN(40)) * time.Millisecond)
		workers = childrenOf(v.t, cmd.Process.Pid)
		_ = out.Close()
		v.vanished.Add(1)
	}
	_ = in.Close()
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(time.Minute):
		v.wrong.Add(1)
		v.t.Error("a server outlived its client")
		_ = cmd.Process.Kill()
		<-ended
	}
	for _, pid := range workers {
		if cmdline := commandLine(pid); strings.Contains(cmdline, "e2e.test") {
			v.wrong.Add(1)
			v.t.Errorf("a worker outlived its server: %s %s", pid, cmdline)
		}
	}
}

// again has the client that stays make a few calls, one of which it cancels.
func (v *visitors) again(p *peer, r *rand.Rand) {
	ask := wishes[r.IntN(len(wishes))]
	var arguments any
	if err := json.Unmarshal([]byte(ask.arguments), &arguments); err != nil {
		v.t.Error(err)
		return
	}
	id, answer := p.post("tools/call", input{"name": ask.tool, "arguments": arguments})
	if r.IntN(3) == 0 {
		p.notify("notifications/cancelled", input{"requestId": id})
		p.forget(id)
		v.vanished.Add(1)
		return
	}
	m := p.wait(answer)
	p.forget(id)
	v.answered.Add(1)
	if m.Error != nil {
		v.refused.Add(1)
	}
}

// forget lets the answer to a call go by.
func (p *peer) forget(id int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.waiting, fmt.Sprint(id))
}
