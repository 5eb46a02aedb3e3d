package caution_test

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/tests/caution"
	"github.com/koan-go/koan/tests/pgtest"
	"github.com/koan-go/koan/tests/programs"
)

const (
	timeout = 30 * time.Second
	tick    = 20 * time.Millisecond
)

var servers = []string{"mailbox", "drive", "bank", "web", "chat"}

// policy is who has to agree to what: settings of the app or the gateway.
type policy struct {
	name     string
	settings map[string]string
}

// readers has it declared which tools only read.
func readers(more map[string]string) map[string]string {
	out := map[string]string{
		"upstreams.mailbox.effects.list_*": "read", "upstreams.mailbox.effects.read_*": "read",
		"upstreams.drive.effects.list_*": "read", "upstreams.drive.effects.read_*": "read",
		"upstreams.bank.effects.list_*": "read", "upstreams.chat.effects.read_*": "read",
	}
	for key, value := range more {
		out[key] = value
	}
	return out
}

// The policies of the tests. Under the first two nobody has said that a tool does no harm.
// Under the others somebody has, of all that have an effect.
var (
	gatewayDefault = policy{"gateway", readers(nil)}
	appThatAsks    = policy{"app, tainted: ask", readers(map[string]string{"approval.mode": "destructive", "approval.tainted": "ask"})}
	declaredWrite  = policy{"marking alone", readers(map[string]string{
		"approval.mode": "destructive", "approval.tainted": "ask",
		"upstreams.mailbox.effects.send_mail": "write", "upstreams.drive.effects.write_file": "write", "upstreams.drive.effects.share_file": "write",
		"upstreams.web.effects.*": "read", "upstreams.bank.effects.transfer_money": "write", "upstreams.chat.effects.post_message": "write",
	})}
	askedWrites = policy{"mode: writes", readers(map[string]string{
		"approval.mode": "writes", "approval.tainted": "allow",
		"upstreams.mailbox.effects.send_mail": "write", "upstreams.drive.effects.write_file": "write", "upstreams.drive.effects.share_file": "write",
		"upstreams.web.effects.*": "read", "upstreams.bank.effects.transfer_money": "write", "upstreams.chat.effects.post_message": "write",
	})}
)

// household is an app or the gateway with the servers outside, and a person at a client.
type household struct {
	t    *testing.T
	kit  *koantest.Kit // nil for the gateway
	log  string
	read int // deeds that were seen before
	*person
}

// outside are the settings of the servers, which say what is in w.
func outside(t *testing.T, w world) (settings map[string]string, log string) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	command, err := json.Marshal([]string{self})
	require.NoError(t, err)
	dir := t.TempDir()
	raw, err := json.Marshal(w)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "world.json"), raw, 0o600))
	settings, log = map[string]string{}, filepath.Join(dir, "deeds.jsonl")
	for _, id := range servers {
		key := "upstreams." + id + "."
		settings[key+"command"] = string(command)
		settings[key+"env."+roleVariable] = id
		settings[key+"env."+worldVariable] = filepath.Join(dir, "world.json")
		settings[key+"env."+logVariable] = log
	}
	return settings, log
}

// startApp starts the app with these actions, under a policy, on the database of the test.
func startApp(t *testing.T, w world, p policy, actions map[string]string) *household {
	t.Helper()
	all, log := outside(t, w)
	for key, value := range p.settings {
		all[key] = value
	}
	all["replay.keep"], all["files.dir"] = "all", t.TempDir()
	var settings []koantest.Setting
	for key, value := range all {
		settings = append(settings, koantest.Setting{Key: key, Value: value})
	}
	if pgtest.Here(t) {
		settings = append(settings, koantest.Setting{Key: "database", Value: pgtest.Place(t)})
	}
	app := caution.App()
	if len(actions) > 0 {
		folder := fstest.MapFS{}
		for name, code := range actions {
			folder["actions/"+name] = &fstest.MapFile{Data: []byte(code)}
		}
		app.Actions = folder
	}
	h := &household{t: t, kit: koantest.NewConfined(t, app, settings...), log: log}
	h.person = connect(t, h.kit.Connect(), true)
	h.ready()
	return h
}

// startGateway starts `koan gateway`, with nothing configured but the servers and which of
// their tools only read.
func startGateway(t *testing.T, w world, p policy) *household {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, programs.Build(dir, map[string]string{"koan": "cmd/koan"}))
	program := filepath.Join(dir, "koan")
	all, log := outside(t, w)
	for key, value := range p.settings {
		all[key] = value
	}
	args := []string{"gateway", "--database", "sqlite://" + t.TempDir()}
	for key, value := range all {
		args = append(args, "--"+key+"="+value)
	}
	cmd := exec.Command(program, args...)
	cmd.Dir = t.TempDir()
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "KOAN_LOG_LEVEL=error"}
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = in.Close(); _ = cmd.Wait() })
	h := &household{t: t, log: log, person: connect(t, pipe{out, in}, true)}
	h.ready()
	return h
}

type pipe struct {
	io.Reader
	io.WriteCloser
}

// ready waits until the tools of all servers are known.
func (h *household) ready() {
	h.t.Helper()
	require.Eventually(h.t, func() bool {
		var n int
		r := h.try(`Object.values(SDK.Servers).filter((s) => Object.keys(s).some((f) => f.includes("_"))).length`, nil)
		return r.Success && json.Unmarshal(r.Result, &n) == nil && n == len(servers)
	}, timeout, tick)
}

// deeds returns what the servers were told to do since the last time.
func (h *household) deeds() []deed {
	h.t.Helper()
	all := readDeeds(h.t, h.log)
	out := all[h.read:]
	h.read = len(all)
	return out
}

// effects are deeds without those that only read.
func effects(all []deed) []deed {
	return slices.DeleteFunc(slices.Clone(all), func(d deed) bool { return d.Tool == "fetch_page" })
}

// person is somebody at an MCP client, who is asked.
type person struct {
	t      *testing.T
	client *client.Client

	mu     sync.Mutex
	answer func(question string) bool
	asked  []string
}

// connect connects a person, who can be asked or not.
func connect(t *testing.T, conn io.ReadWriteCloser, asked bool) *person {
	t.Helper()
	p := &person{t: t, answer: no}
	var options []client.ClientOption
	if asked {
		options = append(options, client.WithElicitationHandler(p))
	}
	p.client = client.NewClient(transport.NewIO(conn, conn, io.NopCloser(strings.NewReader(""))), options...)
	ctx := context.Background() // of the whole connection
	require.NoError(t, p.client.Start(ctx))
	t.Cleanup(func() { _ = p.client.Close() })
	_, err := p.client.Initialize(ctx, mcp.InitializeRequest{Params: mcp.InitializeParams{
		ProtocolVersion: "2025-11-25", ClientInfo: mcp.Implementation{Name: "person", Version: "1"},
	}})
	require.NoError(t, err)
	return p
}

// Elicit implements client.ElicitationHandler.
func (p *person) Elicit(_ context.Context, r mcp.ElicitationRequest) (*mcp.ElicitationResult, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = append(p.asked, r.Params.Message)
	return &mcp.ElicitationResult{ElicitationResponse: mcp.ElicitationResponse{
		Action: mcp.ElicitationResponseActionAccept, Content: map[string]any{"approve": p.answer(r.Params.Message)},
	}}, nil
}

// Answers of a person.
func yes(string) bool { return true }
func no(string) bool  { return false }

// reads agrees to reading pages that are not the attacker's and to changes of the app's own
// rows, and to nothing else.
func reads(question string) bool {
	return fetchesPage(question) && !strings.Contains(question, "evil.example") || commits(question)
}

// commits reports whether a question is about changes of rows.
func commits(question string) bool {
	return strings.Contains(question, " wants to commit these changes")
}

// fetchesPage reports whether a question is about the call that fetches a page.
func fetchesPage(question string) bool {
	return strings.Contains(question, " wants to call web.fetch_page")
}

// questions returns what the person was asked so far, and forgets it.
func (p *person) questions() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := p.asked
	p.asked = nil
	return out
}

func (p *person) call(tool string, input map[string]any) *koantest.Result {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	out, err := p.client.CallTool(ctx, mcp.CallToolRequest{Params: mcp.CallToolParams{Name: tool, Arguments: input}})
	require.NoError(p.t, err)
	raw, err := json.Marshal(out.StructuredContent)
	require.NoError(p.t, err)
	var r koantest.Result
	require.NoError(p.t, json.Unmarshal(raw, &r), string(raw))
	return &r
}

// try runs a script that may fail.
func (p *person) try(code string, args any) *koantest.Result {
	p.t.Helper()
	input := map[string]any{"code": code}
	if args != nil {
		input["args"] = args
	}
	return p.call("koan_code_execute", input)
}

// run runs a script that succeeds.
func (p *person) run(code string, args any) *koantest.Result {
	p.t.Helper()
	r := p.try(code, args)
	require.True(p.t, r.Success, "%v", r.Error)
	return r
}
