package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// The tools that the demo calls.
const (
	executeTool = "koan.code.execute"
	undoTool    = "koan.code.undo"
)

// session is a running server and the client that speaks to it.
type session struct {
	mcp    *client.Client
	stderr *tail
}

// connect starts `app serve` with its data in one folder and photos in another.
func connect(ctx context.Context, app, data, photos string) (*session, error) {
	s := &session{stderr: &tail{}}
	args := []string{"serve", "--database", "sqlite://" + data, "--plugins.vision.root", photos, "--approval.mode", "never"} // nobody is there to be asked before the undo
	child := func(_ context.Context, command string, _, args []string) (*exec.Cmd, error) {
		cmd := exec.Command(command, args...)
		// Neither the caller's configuration nor a koan.yaml where the demo was
		// started may change what it shows.
		cmd.Dir = data
		for _, kv := range os.Environ() {
			if !strings.HasPrefix(kv, "KOAN_") {
				cmd.Env = append(cmd.Env, kv)
			}
		}
		cmd.Stderr = s.stderr
		return cmd, nil
	}
	var err error
	s.mcp, err = client.NewStdioMCPClientWithOptions(app, nil, args, transport.WithCommandFunc(child))
	if err != nil {
		return nil, fmt.Errorf("%s does not start (make build makes it): %w", app, err)
	}
	var hello mcp.InitializeRequest
	hello.Params.ProtocolVersion = mcp.LATEST_PROTOCOL_VERSION
	hello.Params.ClientInfo = mcp.Implementation{Name: "pantrypal-demo", Version: "1.0.0"}
	hello.Params.Capabilities.Experimental = map[string]any{"koan": map[string]any{}}
	if _, err := s.mcp.Initialize(ctx, hello); err != nil {
		s.close()
		return nil, fmt.Errorf("the server does not answer: %w\n%s", err, s.stderr)
	}
	return s, nil
}

// close ends the server: it leaves when its standard input does.
func (s *session) close() { _ = s.mcp.Close() }

// report is the result of one execution (CONTRACT section 2), and how long the round
// trip took.
type report struct {
	Success bool            `json:"success"`
	RunID   string          `json:"runId"`
	Answer  json.RawMessage `json:"answer"`
	Logs    []struct {
		Level   string `json:"level"`
		Message string `json:"message"`
	} `json:"logs"`
	Changes []change `json:"changes"`
	Counts  []struct {
		Entity                    string
		Created, Updated, Deleted int
	} `json:"changeCounts"`
	Calls []call   `json:"calls"`
	Error *failure `json:"error"`

	Committed bool          `json:"committed"` // of a failure: whether anything is in the data all the same
	Took      time.Duration `json:"-"`
}

type change struct {
	Entity string         `json:"entity"`
	ID     string         `json:"id"`
	Action string         `json:"action"`
	Before map[string]any `json:"before"`
	After  map[string]any `json:"after"`
}

type call struct {
	Parent     string  `json:"parent"` // the action that made it
	ServerID   string  `json:"serverId"`
	ToolName   string  `json:"toolName"`
	OK         bool    `json:"ok"`
	DurationMs float64 `json:"durationMs"`
}

// failure is an error of the script or of something it called.
type failure struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Hint    string `json:"hint"`
	Path    string `json:"path"`
	Line    int    `json:"line"`
	Column  int    `json:"column"`

	committed bool
}

// Error returns code and message.
func (f *failure) Error() string { return f.Code + ": " + f.Message }

// execute sends one script in one call. A script that fails is a *failure.
func (s *session) execute(ctx context.Context, code string, args map[string]any) (*report, error) {
	return s.call(ctx, executeTool, map[string]any{"code": code, "args": args, "include": []string{"changes", "calls"}})
}

// undo undoes a run.
func (s *session) undo(ctx context.Context, run string) (*report, error) {
	return s.call(ctx, undoTool, map[string]any{"runId": run})
}

func (s *session) call(ctx context.Context, tool string, arguments map[string]any) (*report, error) {
	var req mcp.CallToolRequest
	req.Params.Name = tool
	req.Params.Arguments = arguments
	start := time.Now()
	res, err := s.mcp.CallTool(ctx, req)
	took := time.Since(start)
	if err != nil {
		return nil, fmt.Errorf("calling %s: %w\n%s", tool, err, s.stderr)
	}
	text := ""
	for _, c := range res.Content {
		if t, ok := c.(mcp.TextContent); ok {
			text += t.Text
		}
	}
	r := &report{Took: took}
	if err := json.Unmarshal([]byte(text), r); err != nil {
		return nil, fmt.Errorf("%s returned something that is not its result: %w\n%s", tool, err, text)
	}
	if r.Error != nil {
		r.Error.committed = r.Committed
		return nil, r.Error
	}
	if !r.Success || res.IsError {
		return nil, errors.New("the script failed without an error: " + text)
	}
	return r, nil
}

// tail keeps the end of what the server says on its standard error, for when it
// has to be shown.
type tail struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

const tailBytes = 8 << 10

// Write never fails.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf.Write(p)
	if over := t.buf.Len() - tailBytes; over > 0 {
		t.buf.Next(over)
	}
	return len(p), nil
}

// String returns the lines, indented.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	said := strings.TrimSpace(t.buf.String())
	if said == "" {
		return "  (no output)"
	}
	return "  its output:\n    " + strings.ReplaceAll(said, "\n", "\n    ")
}
