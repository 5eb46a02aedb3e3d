// Package calls measures what one tools/call costs from the outside: an entity's
// read and a script, over each transport, against a bare tool of the MCP library
// in a process of its own that gives the same answer.
package calls

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/koan-go/koan/codemode/worker"
	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/tests/fixture"
)

// as makes this test binary the app, or the bare server.
const as = "KOANTEST_CALLS"

func TestMain(m *testing.M) {
	switch os.Getenv(as) {
	case "app":
		framework.Main(fixture.App())
	case "bare":
		bare()
	}
	os.Exit(m.Run())
}

// bare serves one tool: over HTTP where it is told to, else over stdio.
func bare() {
	s := server.NewMCPServer("bare", "1", server.WithToolCapabilities(false))
	todo := map[string]any{"id": "1", "title": "Write tests", "completed": false, "priority": "normal"}
	s.AddTool(mcp.NewTool("read", mcp.WithString("id")), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultStructured(todo, `{"id":"1","title":"Write tests","completed":false,"priority":"normal"}`), nil
	})
	var err error
	if slices.Contains(os.Args, "--http") {
		var l net.Listener
		if l, err = net.Listen("tcp", "127.0.0.1:0"); err == nil {
			fmt.Fprintf(os.Stderr, "MCP: listening on http://%s/mcp\n", l.Addr())
			err = http.Serve(l, server.NewStreamableHTTPServer(s, server.WithStateful(true)))
		}
	} else {
		err = server.ServeStdio(s)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// process starts this binary as one of the two.
func process(b *testing.B, what string, args ...string) *exec.Cmd {
	b.Helper()
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command(self, append([]string{"serve"}, args...)...)
	cmd.Dir = b.TempDir()
	cmd.Env = []string{as + "=" + what, "HOME=" + b.TempDir(), "PATH=" + os.Getenv("PATH"), "KOAN_DATABASE=sqlite://" + b.TempDir(), "KOAN_LOG_LEVEL=error"}
	b.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd
}

// caller makes one call and gives the text of its answer.
type caller func(tool, arguments string) (string, error)

// served is a process and a client of it.
type served struct {
	call caller
	pid  int
}

// cpu is the CPU time that the process has used, 0 where it is not to be had.
func (s served) cpu() time.Duration {
	used, _ := worker.ProcessCPU(s.pid)
	return used
}

const (
	hello = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}`
	ready = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
)

// overStdio gives a client that any number of goroutines may use at once.
func overStdio(b *testing.B, what string) served {
	b.Helper()
	cmd := process(b, what)
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	var mu sync.Mutex
	next := 0
	waiting := map[string]chan string{}
	go func() {
		for lines := bufio.NewReaderSize(out, 1<<20); ; {
			line, err := lines.ReadString('\n')
			if err != nil {
				return
			}
			if m := answered.FindStringSubmatch(line); m != nil {
				mu.Lock()
				waiting[m[1]] <- line
				mu.Unlock()
			}
		}
	}()
	send := func(body func(id string) string) (string, error) {
		answer := make(chan string, 1)
		mu.Lock()
		next++
		id := fmt.Sprint(next)
		waiting[id] = answer
		_, err := io.WriteString(in, body(id)+"\n")
		mu.Unlock()
		if err != nil {
			return "", err
		}
		text := <-answer
		mu.Lock()
		delete(waiting, id)
		mu.Unlock()
		return text, nil
	}
	if _, err := send(func(id string) string { return strings.Replace(hello, `"id":0`, `"id":`+id, 1) }); err != nil {
		b.Fatal(err)
	}
	fmt.Fprintln(in, ready)
	return served{func(tool, arguments string) (string, error) {
		return send(func(id string) string { return request(id, tool, arguments, "") })
	}, cmd.Process.Pid}
}

var answered = regexp.MustCompile(`"id":(\d+)[,}]`)

func request(id, tool, arguments, more string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"` + tool + `","arguments":` + arguments + more + `}}`
}

var listening = regexp.MustCompile(`MCP: listening on (http\S+)`)

// overHTTP gives a client of one session of the older era, or of none in the newer.
func overHTTP(b *testing.B, what string, modern bool) served {
	b.Helper()
	cmd := process(b, what, "--http", "127.0.0.1:0")
	errs, err := cmd.StderrPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	var url string
	lines := bufio.NewScanner(errs)
	for url == "" && lines.Scan() {
		if m := listening.FindStringSubmatch(lines.Text()); m != nil {
			url = m[1]
		}
	}
	go func() { _, _ = io.Copy(io.Discard, errs) }()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	b.Cleanup(client.CloseIdleConnections)
	header := http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
	post := func(body string, header http.Header) (string, http.Header, error) {
		r, err := http.NewRequest(http.MethodPost, url, strings.NewReader(body))
		if err != nil {
			return "", nil, err
		}
		r.Header = header
		resp, err := client.Do(r)
		if err != nil {
			return "", nil, err
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		return string(text), resp.Header, err
	}
	more := ""
	if modern {
		more = `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
		header.Set("Mcp-Protocol-Version", "2026-07-28")
		header.Set("Mcp-Method", "tools/call")
	} else {
		_, got, err := post(hello, header)
		if err != nil {
			b.Fatal(err)
		}
		header.Set("Mcp-Session-Id", got.Get("Mcp-Session-Id"))
		header.Set("Mcp-Protocol-Version", "2025-11-25")
		if _, _, err := post(ready, header); err != nil {
			b.Fatal(err)
		}
	}
	var next atomic.Int64
	return served{func(tool, arguments string) (string, error) {
		own := header.Clone()
		if modern {
			own.Set("Mcp-Name", tool)
		}
		text, _, err := post(request(fmt.Sprint(next.Add(1)), tool, arguments, more), own)
		return text, err
	}, cmd.Process.Pid}
}

// BenchmarkCall reports the median and the 99th percentile of a call, and the
// median as a ratio to that of the bare tool: rounds of both by turns, so that
// both see the same machine. The CPU time of both servers says the same on a machine
// that is busy with other things.
func BenchmarkCall(b *testing.B) {
	for _, transport := range []struct {
		name string
		open func(b *testing.B, what string) served
	}{
		{"stdio", overStdio},
		{"http", func(b *testing.B, what string) served { return overHTTP(b, what, false) }},
		{"http2026", func(b *testing.B, what string) served { return overHTTP(b, what, true) }},
	} {
		b.Run(transport.name, func(b *testing.B) {
			own, raw := transport.open(b, "app"), transport.open(b, "bare")
			for _, op := range []struct{ name, tool, arguments string }{
				{"read", "todo.get-by-id", `{"id":"1"}`},
				{"script", "koan.code.execute", `{"code":"1 + 1"}`},
			} {
				for _, clients := range []int{1, 16} {
					b.Run(fmt.Sprintf("%s/%d", op.name, clients), func(b *testing.B) {
						compare(b, clients, own, raw,
							func() (string, error) { return own.call(op.tool, op.arguments) },
							func() (string, error) { return raw.call("read", `{"id":"1"}`) })
					})
				}
			}
		})
	}
}

// round is how many calls each side makes before it is the other's turn.
const round = 64

func compare(b *testing.B, clients int, app, bare served, own, raw func() (string, error)) {
	b.Helper()
	sample(b, clients, round, own) // warm
	sample(b, clients, round, raw)
	var ours, theirs []time.Duration
	b.ResetTimer()
	ownCPU, rawCPU := app.cpu(), bare.cpu()
	for len(ours) < max(b.N, 4*round) {
		ours = append(ours, sample(b, clients, round, own)...)
		theirs = append(theirs, sample(b, clients, round, raw)...)
	}
	ownCPU, rawCPU = app.cpu()-ownCPU, bare.cpu()-rawCPU
	slices.Sort(ours)
	slices.Sort(theirs)
	micros := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }
	b.ReportMetric(float64(ownCPU)/float64(max(rawCPU, 1)), "cpu-ratio")
	b.ReportMetric(micros(rawCPU)/float64(len(theirs)), "raw-cpu-µs")
	b.ReportMetric(micros(theirs[len(theirs)/2]), "raw-µs")
	b.ReportMetric(micros(ours[len(ours)/2])/micros(theirs[len(theirs)/2]), "ratio")
	b.ReportMetric(micros(theirs[len(theirs)*99/100]), "raw-p99-µs")
	b.ReportMetric(micros(ours[len(ours)*99/100])/micros(theirs[len(theirs)*99/100]), "p99-ratio")
	b.ReportMetric(0, "ns/op")
}

// sample makes calls from some clients at once and gives how long each took.
func sample(b *testing.B, clients, calls int, call func() (string, error)) []time.Duration {
	b.Helper()
	took := make([]time.Duration, calls)
	var group sync.WaitGroup
	for c := range clients {
		group.Go(func() {
			for i := c; i < calls; i += clients {
				begun := time.Now()
				text, err := call()
				took[i] = time.Since(begun)
				if err != nil || !strings.Contains(text, `"structuredContent"`) || strings.Contains(text, `"isError":true`) {
					b.Errorf("%v: %s", err, text)
					return
				}
			}
		})
	}
	group.Wait()
	return took
}
