package framework

import (
	"context"
	"io"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exposure"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/internal/files"
)

// Connect opens an MCP connection to the app from inside the program, for a client
// that calls as p: see mcpserver.Server.Connect. Close it before Stop.
func (i *Instance) Connect(ctx context.Context, p auth.Principal) (io.ReadWriteCloser, error) {
	s, err := i.inProcess()
	if err != nil {
		return nil, err
	}
	return s.Connect(ctx, p), nil
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
