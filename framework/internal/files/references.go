package files

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
)

// References takes part in runs: the files that a run refers to, in its input, in those of its calls
// and in what calls without a transaction return, are kept from its commit on: those that a row may
// have got for good, the others as long as the journal keeps the run. Those of
// a plan are kept until it expires.
type References struct{ provider *Provider }

var _ run.Participant = (*References)(nil)

// References returns the participant.
func (p *Provider) References() *References { return &References{p} }

// Open implements run.Participant.
func (r *References) Open(of *run.Run) (run.Part, error) {
	s := r.provider.store.Load()
	if s == nil {
		return nil, nil
	}
	n := &named{store: s, run: of}
	n.note(of.Request().Input, &n.ids)
	return n, nil
}

// named are the files that a run refers to.
type named struct {
	store *Store
	run   *run.Run
	mu    sync.Mutex
	ids   map[string]bool // nil where it refers to none, as most do
	rows  map[string]bool // those that a row may have got
	made  map[string]bool // those that it created
}

var (
	_ run.AfterCaller = (*named)(nil)
	_ run.Witness     = (*named)(nil)
	_ run.Judge       = (*named)(nil)
	_ run.Committer   = (*named)(nil)
	_ run.Releaser    = (*named)(nil)
)

// note finds ids in JSON.
func (n *named) note(raw json.RawMessage, in *map[string]bool) {
	for {
		at := bytes.Index(raw, []byte(IDPrefix))
		if at < 0 {
			return
		}
		raw = raw[at:]
		if end := len(IDPrefix) + idDigits; len(raw) >= end && IsID(string(raw[:end])) {
			n.mu.Lock()
			if *in == nil {
				*in = map[string]bool{}
			}
			(*in)[string(raw[:end])] = true
			n.mu.Unlock()
		}
		raw = raw[len(IDPrefix):]
	}
}

// AfterCall implements run.AfterCaller.
func (n *named) AfterCall(c run.CallEnd) {
	n.note(c.Input, &n.ids)
	if c.ID.Kind == catalog.KindEntity && c.Operation != nil && !c.Operation.Effects.ReadOnly {
		n.note(c.Input, &n.rows)
	}
}

// Recorded implements run.Witness.
func (n *named) Recorded(*run.OutsideCall) {}

// BeforeOutside implements run.Witness.
func (n *named) BeforeOutside(context.Context, *run.OutsideCall) error { return nil }

// AfterOutside implements run.Witness.
func (n *named) AfterOutside(_ context.Context, o *run.OutsideCall, out json.RawMessage, _ error) {
	n.note(out, &n.ids)
	if o.Operation.ID == createID {
		n.note(out, &n.made)
	}
}

// Judge implements run.Judge: rows may get ids from hooks, and from actions that are Go functions.
func (n *named) Judge(_ context.Context, _ *run.Attempt, e run.Effects) error {
	for i := range e.Changes {
		n.note(e.Changes[i].After, &n.rows)
	}
	return nil
}

// BeforeCommit implements run.Committer.
func (n *named) BeforeCommit(ctx context.Context, _ []string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.ids == nil && n.rows == nil {
		return nil
	}
	all := map[string]bool{}
	maps.Copy(all, n.ids)
	maps.Copy(all, n.rows)
	return n.store.Use(ctx, Uses{Run: n.run.ID, IDs: slices.Collect(maps.Keys(all)), Rows: n.rows})
}

// Release implements run.Releaser: what a plan refers to waits with it for somebody's approval, and what
// a run created that leaves nothing behind is deleted at once.
func (n *named) Release(ctx context.Context, c *run.Conclusion) error {
	until, waits := waitsUntil(c.Err)
	n.mu.Lock()
	ids, made := slices.Collect(maps.Keys(n.ids)), slices.Collect(maps.Keys(n.made))
	n.mu.Unlock()
	switch {
	case waits && len(ids) > 0:
		return n.store.KeepUntil(context.WithoutCancel(ctx), until, ids)
	case waits, c.Uncertain, len(made) == 0, c.Outcome.Committed, c.Err == nil && !c.Outcome.DryRun:
		return nil
	}
	_ = n.store.Discard(context.WithoutCancel(ctx), made) // what fails here is collected later
	return nil
}

// waitsUntil returns when the plan expires in which a run has ended; ok is false if it ended in none.
func waitsUntil(err error) (until time.Time, ok bool) {
	if fault.CodeOf(err) != fault.ApprovalRequired {
		return until, false
	}
	details, _ := fault.From(err).Details.(map[string]any)
	text, _ := details["expiresAt"].(string)
	until, err = time.Parse(time.RFC3339, text)
	return until, err == nil
}

// reference is the member of an object that stands for the content of a file.
const reference = catalog.FileMember

// Expand replaces {"$file": id} in the input of a plugin's or server's function by the
// content of the file, in base64. It returns nil where there is none.
func (p *Provider) Expand(ctx context.Context, who auth.Principal, id catalog.ID, input json.RawMessage) (json.RawMessage, error) {
	if id.Kind != catalog.KindPlugin && id.Kind != catalog.KindUpstream || id.Owner == Domain || !bytes.Contains(input, []byte(`"`+reference+`"`)) {
		return nil, nil
	}
	d := json.NewDecoder(bytes.NewReader(input))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, nil // whoever reads it says what is wrong
	}
	x := &expansion{ctx: ctx, provider: p, who: who}
	v, err := x.expand(v, "")
	if err != nil || x.found == 0 {
		return nil, err
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// maxExpanded bounds the bytes of the files in one input.
const maxExpanded = 16 << 20

type expansion struct {
	ctx      context.Context
	provider *Provider
	who      auth.Principal
	found    int
	size     int64
}

// expand returns a value with the contents of files in the place of references; path is a
// JSON pointer.
func (x *expansion) expand(v any, path string) (any, error) {
	switch v := v.(type) {
	case map[string]any:
		if id, ok := v[reference].(string); ok && isHandle(v) {
			return x.content(id, path)
		}
		for key, one := range v {
			made, err := x.expand(one, path+"/"+fault.Step(key))
			if err != nil {
				return nil, err
			}
			v[key] = made
		}
	case []any:
		for i, one := range v {
			made, err := x.expand(one, path+"/"+strconv.Itoa(i))
			if err != nil {
				return nil, err
			}
			v[i] = made
		}
	}
	return v, nil
}

// isHandle reports whether an object is a reference, alone or with what results say of the file.
func isHandle(v map[string]any) bool {
	for key := range v {
		if key != reference && key != "name" && key != "type" && key != "size" {
			return false
		}
	}
	return true
}

func (x *expansion) content(id, path string) (any, error) {
	s, err := x.provider.Store()
	if err != nil {
		return nil, err
	}
	raw, f, err := s.Bytes(x.ctx, x.who, id, maxExpanded-x.size)
	if err != nil {
		return nil, fault.From(err).WithPath(path + "/" + reference)
	}
	x.found, x.size = x.found+1, x.size+f.Size
	return base64.StdEncoding.EncodeToString(raw), nil
}
