package framework

import (
	"context"
	"encoding/json"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exposure"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/internal/cli"
	"github.com/koan-go/koan/framework/run/replay"
)

// replaySettings say which runs are kept for a replay. By default all scripts are, since
// nobody knows before a run whether it will have to be examined: a usual one takes 1 to
// 3 KB, and all of them never more than replay.maxMb.
func replaySettings() []catalog.Setting {
	return []catalog.Setting{
		{Key: "replay.keep", Default: string(replay.KeepScripts), OneOf: []string{string(replay.KeepNone), string(replay.KeepFailed), string(replay.KeepScripts), string(replay.KeepAll)}, Help: "which runs are kept so that they can be replayed, with all that they read: none, failed, scripts (and what failed), all (single calls of tools too)"},
		{Key: "replay.maxRunBytes", Default: 1 << 20, Min: 1024, Max: 32 << 20, Unit: "bytes", Help: "of one run, before it is compressed; a larger one is not kept. At most a quarter of run.maxBytes"},
		{Key: "replay.maxMb", Default: 64, Min: 1, Max: 1 << 20, Unit: "MB", Help: "of all kept runs, compressed; beyond it the oldest of callers with more than an even share are evicted"},
		{Key: "replay.retentionHours", Default: 168, Min: 1, Max: 87600, Help: "hours for which a run is kept"},
	}
}

// Replay executes a kept run again and reports whether it does the same: from its
// recording alone, or, with data, on today's data. Calls of the plugins are made again, by the builds that
// run now. It changes nothing.
func (i *Instance) Replay(ctx context.Context, id string, data bool, plugins ...string) (*replay.Replayed, error) {
	req := replay.Request{Run: id, Data: data, Plugins: plugins, View: func(p auth.Principal, mode string) *catalog.View {
		return i.Snapshot().View(p, exposure.Mode(mode), i.Negotiated())
	}}
	for _, p := range i.started {
		if r, ok := p.(replay.Replayer); ok {
			req.By = append(req.By, r)
		}
	}
	return i.tapes.Replay(ctx, req)
}

// ActionOf makes the file of an action out of the script of a run that is kept and succeeded.
func (i *Instance) ActionOf(ctx context.Context, name, id string) (file string, text []byte, err error) {
	if !catalog.ValidAction(name) {
		return "", nil, fault.Newf(fault.InvalidPayload, "%q is not the name of an action: it is lower-case kebab of at most 48 characters, such as cancel-order", name)
	}
	k, err := i.tapes.Kept(ctx, id)
	if err != nil {
		return "", nil, err
	}
	var in struct {
		Code     string          `json:"code"`
		Language string          `json:"language"`
		Args     json.RawMessage `json:"args"`
	}
	if json.Unmarshal(k.Input, &in) != nil || in.Code == "" {
		return "", nil, fault.Newf(fault.InvalidPayload, "the run %s is a call of %s, and only a script becomes an action", k.Run, k.Operation)
	}
	if k.Outcome != "ok" {
		return "", nil, fault.Newf(fault.InvalidPayload, "the run %s failed with %s; only a script that succeeded becomes an action", k.Run, k.Outcome)
	}
	for _, p := range i.started {
		if w, ok := p.(cli.ActionWriter); ok {
			return w.ActionFile(ctx, name, in.Code, in.Language, in.Args)
		}
	}
	return "", nil, fault.New(fault.CapabilityUnsupported, "this app has no code mode, so it has no actions in files")
}
