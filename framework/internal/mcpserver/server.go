package mcpserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exposure"
	"github.com/koan-go/koan/framework/internal/feed"
	"github.com/koan-go/koan/framework/internal/invoke"
	"github.com/koan-go/koan/framework/internal/toolset"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/framework/seal"
)

// Options configure a Server. Name, Version, Engine, Catalog and Principal are
// required.
type Options struct {
	Name    string // serverInfo.name: the app's
	Version string // serverInfo.version and toolVersion: the build's
	// Instructions are text that a client may put into a model's system prompt.
	Instructions string
	CodeMode

	Engine *run.Engine
	// Catalog returns the current snapshot. It is called at every request.
	Catalog func() *catalog.Snapshot
	// Principal is who calls over stdio: auth.Local() in every app.
	Principal auth.Principal
	Live
	Limits

	// Seal seals the state that clients of 2026-07-28 keep between a question and their
	// answer. Replicas share its secret. nil makes one that ends with the process.
	Seal *seal.Sealer
	// Feed has the changes that subscribers of rows are notified of; nil for none.
	Feed *feed.Hub
	Log  *slog.Logger // nil is slog.Default; must not write to the protocol's stream
}

// CodeMode is what clients are told of code mode: its block of the capabilities. It is empty
// where code mode is disabled.
type CodeMode struct {
	Runtime string // "goja"
	Faces   []string
	// CodeInstructions are added for clients that are shown the code tools.
	CodeInstructions string
}

// Limits are the bounds of a server that hold as long as it runs.
type Limits struct {
	MaxBufferBytes int // of one message, and of answers waiting to be read; 0 is 8 MiB
	PageSize       int // tools or resources in one page of a list; 0 is 250
	// AskTimeout is how long a client may take to answer a call's question; 0 is 10 min.
	// Meanwhile no other time limit counts.
	AskTimeout time.Duration
	// TaskAfter is how long a call runs before it becomes a task, for clients that take
	// tasks; 0 is 500 ms.
	TaskAfter time.Duration
	// Grace is how long calls may run after the client has closed its end of stdio; 0 is
	// 10 s. Then they are cancelled.
	Grace time.Duration
}

func (o *Options) check() error {
	var problems []error
	if o.Engine == nil {
		problems = append(problems, errors.New("mcpserver: Options.Engine is missing"))
	}
	if o.Catalog == nil {
		problems = append(problems, errors.New("mcpserver: Options.Catalog is missing"))
	}
	if o.Principal.Subject == "" {
		problems = append(problems, errors.New("mcpserver: Options.Principal has no subject"))
	}
	if o.Name == "" || o.Version == "" {
		problems = append(problems, errors.New("mcpserver: Options.Name and Options.Version are required"))
	}
	mode, err := exposure.Parse(string(o.Exposure))
	if err != nil {
		problems = append(problems, err)
	}
	if err := o.Tools.Check(); err != nil {
		problems = append(problems, fmt.Errorf("mcpserver: %w", err))
	}
	if o.QueueMax < 0 || o.ToolTimeout < 0 || o.MaxBufferBytes < 0 || o.PageSize < 0 || o.Grace < 0 || o.AskTimeout < 0 || o.TaskAfter < 0 {
		problems = append(problems, errors.New("mcpserver: limits must not be negative"))
	}
	o.Exposure = mode
	o.ExposureIsAuto = o.ExposureIsAuto || mode == exposure.Auto
	return errors.Join(problems...)
}

func (o *Options) fill() {
	if o.QueueMax == 0 {
		o.QueueMax = 64
	}
	if o.ToolTimeout == 0 {
		o.ToolTimeout = 120 * time.Second
	}
	if o.MaxBufferBytes == 0 {
		o.MaxBufferBytes = 8 << 20
	}
	if o.PageSize == 0 {
		o.PageSize = 250
	}
	if o.Grace == 0 {
		o.Grace = 10 * time.Second
	}
	if o.AskTimeout == 0 {
		o.AskTimeout = 10 * time.Minute
	}
	if o.TaskAfter == 0 {
		o.TaskAfter = 500 * time.Millisecond
	}
	if o.Seal == nil {
		o.Seal = seal.Random()
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Faces == nil {
		o.Faces = []string{}
	}
}

// Server offers one catalog to any number of sessions. It is safe for concurrent
// use.
type Server struct {
	opts Options
	// library handles what is only protocol: initialize, server/discover, ping and
	// methods that an era does not have.
	library *server.MCPServer
	info    json.RawMessage // who answers, as results of the modern era say it

	peers peerCache
	tasks tasks

	live     atomic.Pointer[Live]
	mu       sync.Mutex
	sessions map[*session]struct{}
}

// New makes a server. The error lists all problems of the options.
func New(o Options) (*Server, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	o.fill()
	library := server.NewMCPServer(o.Name, o.Version,
		server.WithToolCapabilities(true), server.WithResourceCapabilities(true, true),
		server.WithPromptCapabilities(true), server.WithCompletions(), server.WithLogging())
	info, err := invoke.Encode(mcp.Implementation{Name: o.Name, Version: o.Version})
	if err != nil {
		return nil, err
	}
	s := &Server{opts: o, library: library, info: info, sessions: map[*session]struct{}{}}
	s.live.Store(&o.Live)
	return s, nil
}

// CatalogChanged notifies open sessions that the lists of tools and resources may
// have changed. It does not block.
func (s *Server) CatalogChanged() {
	s.mu.Lock()
	open := make([]*session, 0, len(s.sessions))
	for ss := range s.sessions {
		open = append(open, ss)
	}
	s.mu.Unlock()
	for _, ss := range open {
		ss.subscriptions.notifyListsChanged()
	}
}

func (s *Server) add(ss *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sessions[ss] = struct{}{}
}

func (s *Server) remove(ss *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sessions, ss)
}

// instructions returns the server's instructions for one client.
func (s *Server) instructions(p peer) string {
	if s.opts.CodeInstructions == "" || !exposure.CodeTools(p.mode(s)) {
		return s.opts.Instructions
	}
	return toolset.Spelled(p.view(s), s.now().Tools, strings.TrimSpace(s.opts.Instructions+"\n\n"+s.opts.CodeInstructions))
}

// codeMode is the block of the capabilities that describes code mode to one client
// (CONTRACT section 5).
func (s *Server) codeMode(p peer) map[string]any {
	return map[string]any{
		"schemaVersion": catalog.SchemaVersion,
		"toolVersion":   s.opts.Version,
		"mode":          string(p.mode(s)),
		"runtime":       s.opts.Runtime,
		"faces":         s.opts.Faces,
	}
}
