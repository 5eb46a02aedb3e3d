package framework

import (
	"cmp"
	"context"
	"io"
	"slices"
	"strings"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exposure"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/internal/files"
	"github.com/koan-go/koan/framework/internal/mcpserver"
	"github.com/koan-go/koan/framework/internal/restapi"
	"github.com/koan-go/koan/framework/internal/toolset"
	"github.com/koan-go/koan/framework/journal"
)

// mcpServer makes an MCP server over the app's catalog, which follows its changes. The
// caller opens a transport on it.
func (i *Instance) mcpServer() (*mcpserver.Server, error) {
	v, live := i.values, i.live(i.values)
	o := mcpserver.Options{
		Name: i.app.Name, Version: i.app.Version, Engine: i.engine, Catalog: i.Snapshot, Principal: auth.Local(),
		Exposure: live.Exposure, ExposureIsAuto: live.ExposureIsAuto, Faces: faces(i.Snapshot()),
		QueueMax: live.QueueMax, ToolTimeout: live.ToolTimeout, MaxBufferBytes: v.Int("server.maxBufferBytes"),
		Tools: live.Tools, AskTimeout: v.Duration("server.askTimeoutMs"), Seal: i.sealer, Feed: i.feed, Log: i.log,
	}
	o.Instructions = i.app.Description
	if len(o.Faces) > 0 {
		o.Runtime = v.String("codeMode.runtime")
		o.CodeInstructions = i.codeInstructions()
	}
	s, err := mcpserver.New(o)
	if err != nil {
		return nil, err
	}
	i.OnChange(s.CatalogChanged)
	i.OnReload(func(next catalog.Values) (func(), error) {
		return func() {
			if err := s.Adjust(i.live(next)); err != nil { // the settings were checked
				i.log.Error("the MCP server keeps its settings", "error", err)
			}
		}, nil
	})
	return s, nil
}

// Connect opens an MCP connection to the app from inside the program, for a client
// that calls as p: see mcpserver.Server.Connect. Close it before Stop.
func (i *Instance) Connect(ctx context.Context, p auth.Principal) (io.ReadWriteCloser, error) {
	s, err := i.inProcess()
	if err != nil {
		return nil, err
	}
	return s.Connect(ctx, p), nil
}

// live returns the live options of the MCP server in a configuration.
func (i *Instance) live(v catalog.Values) mcpserver.Live {
	return mcpserver.Live{
		Exposure: i.mode(v), ExposureIsAuto: negotiated(v), Tools: toolset.Configured(v),
		QueueMax: v.Int("server.queueMax"), ToolTimeout: v.Duration("server.toolTimeoutMs"),
	}
}

func (i *Instance) codeInstructions() string {
	var parts []string
	for _, p := range i.started {
		if in, ok := p.(catalog.Instructor); ok {
			_ = i.protect(p.Name(), func() error { parts = append(parts, in.Instructions()); return nil })
		}
	}
	return strings.Join(parts, "\n\n")
}

// Files returns where files are kept, for a caller who may call a function of SDK.Files: "create",
// "get".
func (i *Instance) Files(p auth.Principal, function string) (*FileStore, error) {
	id := catalog.PluginID(files.Domain, function)
	if i.Snapshot().Operation(id) == nil {
		return nil, fault.New(fault.CapabilityUnsupported, "this app keeps no files")
	}
	if !i.Snapshot().View(p, exposure.Full, i.Negotiated()).Allowed(id) {
		return nil, fault.New(fault.Forbidden, "the caller may not use files")
	}
	store, err := i.app.files.Store()
	if err != nil {
		return nil, err
	}
	return &FileStore{store}, nil
}

// Runs lists runs that the caller of ctx (auth.With) may know of, as the journal keeps them.
// Without a journal it ends in fault.CapabilityUnsupported.
func (i *Instance) Runs(ctx context.Context, q journal.Query) (*journal.Page, error) {
	if i.reader == nil {
		return nil, fault.New(fault.CapabilityUnsupported, "this app keeps no journal of its runs").WithHint("Set journal.enabled to true, which it is by default. An app without entities keeps none, unless framework.App says Ledger.")
	}
	return i.reader.Runs(ctx, q)
}

// Checks looks at the parts of the app, as `doctor` does.
func (i *Instance) Checks(ctx context.Context) []catalog.Check {
	var out []catalog.Check
	for _, p := range i.started {
		out = append(out, i.checks(ctx, p, nil)...)
	}
	return out
}

// limits are the keys of the configuration that are numbers: none of these is a secret.
func (i *Instance) limits() []restapi.Limit {
	var out []restapi.Limit
	for _, s := range i.app.Settings() {
		if _, number := s.Default.(int); number {
			out = append(out, restapi.Limit{Key: s.Key, Value: i.values.Int(s.Key), Unit: s.Unit, Help: s.Help})
		}
	}
	slices.SortFunc(out, func(a, b restapi.Limit) int { return cmp.Compare(a.Key, b.Key) })
	return out
}

// faces are the code faces that the catalog offers as tools.
func faces(s *catalog.Snapshot) []string {
	var out []string
	for _, op := range s.Operations() {
		if op.ID.Kind == catalog.KindCode && op.Reach&catalog.ReachTools != 0 && op.ListedBeside == nil && !slices.Contains(out, op.ID.Owner) {
			out = append(out, op.ID.Owner)
		}
	}
	return out
}
