// Package calls measures what one tools/call costs from the outside: an entity's
// read and a script, over each transport, against bare tools of mcp-go over mcp-go's
// own transport, in a process of their own. They give what the entity's read gives,
// byte for byte, from the start of the process (raw), or read from the same file by a
// prepared statement of database/sql (reading).
package calls

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	_ "github.com/mattn/go-sqlite3"

	"github.com/koan-go/koan/codemode/worker"
	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/tests/fixture"
)

const (
	as   = "KOANTEST_CALLS" // makes this test binary the app, or the bare server
	file = "KOANTEST_FILE"  // of the app's set, for the bare server
)

func TestMain(m *testing.M) {
	switch os.Getenv(as) {
	case "app":
		framework.Main(fixture.App())
	case "bare":
		bare()
	}
	os.Exit(m.Run())
}

// bare serves two tools: over HTTP if an address is given, else over stdio.
func bare() {
	s := server.NewMCPServer("bare", "1", server.WithToolCapabilities(false))
	db, err := sql.Open("sqlite3", "file:"+os.Getenv(file))
	if err == nil {
		err = db.Ping()
	}
	if err == nil {
		err = serveBare(s, db)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func serveBare(s *server.MCPServer, db *sql.DB) error {
	byID, err := db.Prepare(`SELECT id, title, completed, priority, due_date, notes, tags, effort, views, version, created_at, updated_at, assigned_user_id FROM todos WHERE id = ?`)
	if err != nil {
		return err
	}
	read := func(id string) (*mcp.CallToolResult, error) {
		var t todo
		if err := byID.QueryRow(id).Scan(&t.ID, &t.Title, &t.Completed, &t.Priority, &t.DueDate, &t.Notes, &t.Tags, &t.Effort, &t.Views, &t.Version, &t.CreatedAt, &t.UpdatedAt, &t.AssignedUserID); err != nil {
			return nil, err
		}
		text, err := json.Marshal(t)
		return mcp.NewToolResultStructured(json.RawMessage(text), string(text)), err
	}
	known, err := read("1")
	if err != nil {
		return err
	}
	s.AddTool(mcp.NewTool("raw", mcp.WithString("id")), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return known, nil
	})
	s.AddTool(mcp.NewTool("reading", mcp.WithString("id")), func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return read(r.GetString("id", ""))
	})
	if !slices.Contains(os.Args, "--http") {
		return server.ServeStdio(s)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "MCP: listening on http://%s/mcp\n", l.Addr())
	return http.Serve(l, server.NewStreamableHTTPServer(s, server.WithStateful(true)))
}

// todo is a row as the app returns it.
type todo struct {
	ID             string     `json:"id"`
	Title          string     `json:"title"`
	Completed      bool       `json:"completed"`
	Priority       string     `json:"priority"`
	DueDate        *time.Time `json:"dueDate"`
	Notes          *string    `json:"notes"`
	Tags           any        `json:"tags"` // none in this row
	Effort         *float64   `json:"effort"`
	Views          int64      `json:"views"`
	Version        int        `json:"version"`
	CreatedAt      time.Time  `json:"createdAt"`
	UpdatedAt      time.Time  `json:"updatedAt"`
	AssignedUserID *string    `json:"assignedUserId"`
}

// process makes a command of this binary as one of the two, which have their data in
// one folder.
func process(b *testing.B, what, data string, args ...string) *exec.Cmd {
	b.Helper()
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command(self, append([]string{"serve"}, args...)...)
	cmd.Dir = b.TempDir()
	cmd.Env = []string{"CALLS_PPROF=" + os.Getenv("CALLS_PPROF"), as + "=" + what, "HOME=" + b.TempDir(), "PATH=" + os.Getenv("PATH"), "KOAN_DATABASE=sqlite://" + data, file + "=" + filepath.Join(data, "default.db"), "KOAN_LOG_LEVEL=error"}
	b.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd
}

// caller makes one call and returns the text of its answer.
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

// overStdio returns a client that any number of goroutines may use at once.
func overStdio(b *testing.B, what, data string) served {
	b.Helper()
	cmd := process(b, what, data)
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

// overHTTP returns a client of one session of the older era, or of none in the newer.
func overHTTP(b *testing.B, what, data string, modern bool) served {
	b.Helper()
	cmd := process(b, what, data, "--http", "127.0.0.1:0")
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

// BenchmarkCall reports the median and the 99th percentile of a call, as ratios to
// those of the bare tool that reads nothing and, of an entity's read, of the one that
// reads the same. Each is called in rounds by turns, so that all see the same machine;
// where it is busy with other things, the CPU time of the servers says the same. That
// of the app has what it writes to its journal beside the calls, whenever that is;
// rounds are long enough for most of it to be done in the app's own turn.
func BenchmarkCall(b *testing.B) {
	for _, transport := range []struct {
		name string
		open func(b *testing.B, what, data string) served
	}{
		{"stdio", overStdio},
		{"http", func(b *testing.B, what, data string) served { return overHTTP(b, what, data, false) }},
		{"http2026", func(b *testing.B, what, data string) served { return overHTTP(b, what, data, true) }},
	} {
		b.Run(transport.name, func(b *testing.B) {
			data := b.TempDir()
			app := transport.open(b, "app", data)
			if text, err := app.call("todo.get-by-id", `{"id":"1"}`); err != nil || !strings.Contains(text, `"structuredContent"`) {
				b.Fatalf("%v: %s", err, text)
			}
			plain := transport.open(b, "bare", data)
			own := func(tool, arguments string) *side { return &side{server: app, tool: tool, arguments: arguments} }
			raw := func(tool string) *side { return &side{server: plain, tool: tool, arguments: `{"id":"1"}`} }
			for _, clients := range []int{1, 16} {
				b.Run(fmt.Sprintf("read/%d", clients), func(b *testing.B) {
					compare(b, clients, 512, own("todo.get-by-id", `{"id":"1"}`), raw("raw"), raw("reading"))
				})
			}
			for _, clients := range []int{1, 16} {
				b.Run(fmt.Sprintf("script/%d", clients), func(b *testing.B) {
					compare(b, clients, 64, own("koan.code.execute", `{"code":"1 + 1"}`), raw("raw"))
				})
			}
		})
	}
}

// leastRounds are how often it is each side's turn, whatever -benchtime says.
const leastRounds = 8

// side is one of what is compared.
type side struct {
	server          served
	tool, arguments string
	took            []time.Duration
	cpu             time.Duration
}

// compare reports the first side, as ratios to the others. A round is so many calls.
func compare(b *testing.B, clients, round int, sides ...*side) {
	b.Helper()
	for _, s := range sides {
		s.sample(b, clients, round) // warm
	}
	b.ResetTimer()
	own := sides[0]
	before := own.server.cpu()
	for n := 0; n < max(b.N, leastRounds*round); n += round {
		for _, s := range sides {
			begun := s.server.cpu()
			s.took = append(s.took, s.sample(b, clients, round)...)
			s.cpu += s.server.cpu() - begun
		}
	}
	own.cpu = own.server.cpu() - before
	micros := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }
	at := func(s *side, percent int) float64 { return micros(s.took[len(s.took)*percent/100]) }
	for _, s := range sides {
		slices.Sort(s.took)
	}
	for _, s := range sides[1:] {
		b.ReportMetric(at(s, 50), s.tool+"-µs")
		b.ReportMetric(at(own, 50)/at(s, 50), "to-"+s.tool)
		b.ReportMetric(at(own, 99)/at(s, 99), "p99-to-"+s.tool)
		b.ReportMetric(float64(own.cpu)/float64(max(s.cpu, 1)), "cpu-to-"+s.tool)
	}
	b.ReportMetric(at(own, 50), "µs")
	b.ReportMetric(at(own, 99), "p99-µs")
	b.ReportMetric(micros(own.cpu)/float64(len(own.took)), "cpu-µs")
	b.ReportMetric(0, "ns/op")
}

// sample makes calls from some clients at once and returns how long each took.
func (s *side) sample(b *testing.B, clients, calls int) []time.Duration {
	b.Helper()
	took := make([]time.Duration, calls)
	var group sync.WaitGroup
	for c := range clients {
		group.Go(func() {
			for i := c; i < calls; i += clients {
				begun := time.Now()
				text, err := s.server.call(s.tool, s.arguments)
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
