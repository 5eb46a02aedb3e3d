package files

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/journal"
	"github.com/koan-go/koan/framework/run"
)

// Domain is the name of the files' functions: SDK.Files, plugin::files.get.
const Domain = "files"

// createID is the operation that creates a file.
var createID = catalog.PluginID(Domain, "create")

// readLimit is the most that a script reads of a file, in bytes: what it reads is kept for
// other attempts and for a replay.
const readLimit = 4 << 20

// Provider offers the functions of SDK.Files, and deletes what nothing refers to.
type Provider struct {
	beside  func() string
	store   atomic.Pointer[Store]
	journal atomic.Pointer[journal.Reader]
	stop    context.CancelFunc
	done    chan struct{}
}

var (
	_ catalog.Provider     = (*Provider)(nil)
	_ catalog.Configurable = (*Provider)(nil)
	_ catalog.Checker      = (*Provider)(nil)
	_ catalog.Reporter     = (*Provider)(nil)
)

// Provide makes the provider. beside returns the folder of the app's data, "" if it is in no
// folder; it is called when the provider starts.
func Provide(beside func() string) *Provider { return &Provider{beside: beside} }

// Name implements catalog.Provider.
func (p *Provider) Name() string { return "files" }

// Start opens the store where there is a place for it.
func (p *Provider) Start(ctx context.Context, host catalog.Host) error {
	blobs, err := p.place(ctx, host)
	if err != nil || blobs == nil {
		return err
	}
	v := host.Settings()
	p.store.Store(New(blobs, Limits{File: int64(v.Int(keyMaxBytes)), Caller: int64(v.Int(keyCallerBytes)), Total: int64(v.Int(keyTotalBytes))}))
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	p.stop, p.done = cancel, make(chan struct{})
	go p.collect(ctx, host)
	return nil
}

// KeepWith has files live as long as the runs that refer to them, if no row may name them. Without a
// journal they are kept for good.
func (p *Provider) KeepWith(j journal.Reader) { p.journal.Store(&j) }

// keptRuns says which runs are known, nil without a journal.
func (p *Provider) keptRuns() Kept {
	if j := p.journal.Load(); j != nil {
		return (*j).Kept
	}
	return nil
}

// collectEvery is how often files are looked for that nothing refers to.
const collectEvery = time.Hour

func (p *Provider) collect(ctx context.Context, host catalog.Host) {
	defer close(p.done)
	for {
		n, err := p.store.Load().Collect(ctx, time.Duration(host.Settings().Int(keyUnusedHours))*time.Hour, p.keptRuns())
		if err != nil && ctx.Err() == nil {
			host.Log().Warn("files that nothing refers to could not be deleted", "error", err)
		}
		if n > 0 {
			host.Log().Info("deleted files that nothing refers to", "files", n)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(collectEvery):
		}
	}
}

// Stop implements catalog.Provider.
func (p *Provider) Stop(ctx context.Context) error {
	if p.stop == nil {
		return nil
	}
	p.stop()
	select {
	case <-p.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Store returns where the app's files are: capability_unsupported if it keeps none.
func (p *Provider) Store() (*Store, error) {
	if s := p.store.Load(); s != nil {
		return s, nil
	}
	return nil, fault.New(fault.CapabilityUnsupported, "this app keeps no files").WithHint("Set files.dir to a folder that all servers of the app share, or files.s3.bucket.")
}

// askedBy are words with which a search asks for the app's own files, and not for those of a
// server.
var askedBy = []string{"upload", "run", "SDK"}

// Schemas of the functions.
const (
	idInput     = `{"type":"object","properties":{"id":{"type":"string","description":"A file's id."}},"required":["id"],"additionalProperties":false}`
	fileOutput  = `{"type":"object","properties":{"id":{"type":"string"},"sha256":{"type":"string"},"size":{"type":"integer"},"type":{"type":"string"},"name":{"type":"string"}},"required":["id","sha256","size","type","name"],"additionalProperties":false}`
	createInput = `{"type":"object","properties":{"name":{"type":"string"},"type":{"type":"string","description":"A media type."},"text":{"type":"string"},"base64":{"type":"string"}},"additionalProperties":false}`
)

// Offer implements catalog.Provider.
func (p *Provider) Offer() catalog.Offer {
	reading := catalog.Effects{ReadOnly: true, Idempotent: true}
	function := func(name, title, summary, input, output string, effects catalog.Effects, leading []string, handler catalog.Handler) *catalog.Operation {
		return &catalog.Operation{
			ID: catalog.PluginID(Domain, name),
			Contract: catalog.Contract{
				Input: json.RawMessage(input), Output: json.RawMessage(output),
				Leading: leading, Effects: effects, Proven: true, PassesOn: true,
			},
			Listing: catalog.Listing{Title: title, Summary: summary, AskedBy: askedBy, Reach: catalog.ReachScript},
			Work:    catalog.Work{Handler: handler},
		}
	}
	byID := []string{"id"}
	return catalog.Offer{
		Documents: p.documents(),
		Owners:    []*catalog.Owner{{Kind: catalog.KindPlugin, Name: Domain, Description: "Uploaded and created files."}},
		Operations: []*catalog.Operation{
			function("get", "Describe a file", "Returns the size, type and name of a file.", idInput, fileOutput, reading, byID, p.get),
			function("text", "Read a text file", "Returns a file's text.", idInput, `{"type":"string"}`, reading, byID, p.text),
			function("json", "Read a JSON file", "Returns the value in a JSON file.", idInput, `{}`, reading, byID, p.json),
			function("create", "Create a file", "Creates a file of text or base64; it is deleted after a day if nothing refers to it.", createInput, fileOutput, catalog.Effects{}, nil, p.create),
		},
	}
}

// documents are files as resources, for who may read them.
func (p *Provider) documents() []*catalog.Document {
	if p.store.Load() == nil {
		return nil
	}
	return []*catalog.Document{{
		URI: "koan://files/{name}", Name: "file", Description: "A file that was uploaded, or that a script created, by its id.", MIME: "application/octet-stream", Template: true,
		Read: func(ctx context.Context, _ *catalog.View, id string) ([]byte, error) {
			raw, _, err := p.store.Load().Bytes(ctx, auth.From(ctx), id, readLimit)
			return raw, err
		},
		TypeOf: func(ctx context.Context, _ *catalog.View, id string) string {
			f, err := p.store.Load().Find(ctx, auth.From(ctx), id)
			if err != nil {
				return "" // it has been read
			}
			return f.Type
		},
	}}
}

func (p *Provider) get(ctx context.Context, c catalog.Call) (json.RawMessage, error) {
	s, id, err := p.asked(c)
	if err != nil {
		return nil, err
	}
	f, err := s.Find(ctx, c.Principal(), id)
	if err != nil {
		return nil, err
	}
	return json.Marshal(f)
}

// asked returns the store, and the id that a call names.
func (p *Provider) asked(c catalog.Call) (*Store, string, error) {
	s, err := p.Store()
	if err != nil {
		return nil, "", err
	}
	var in struct{ ID string }
	if err := json.Unmarshal(c.Input(), &in); err != nil { // its schema was checked
		return nil, "", err
	}
	return s, in.ID, nil
}

func (p *Provider) text(ctx context.Context, c catalog.Call) (json.RawMessage, error) {
	raw, _, err := p.content(ctx, c)
	if err != nil {
		return nil, err
	}
	if !utf8.Valid(raw) {
		return nil, fault.New(fault.ExecutionError, "the file is not text in UTF-8").WithRetry(fault.Fix).WithHint("Give it to a plugin or a server as {\"$file\": id}.")
	}
	return json.Marshal(string(raw))
}

// content returns the bytes of the file that a call names.
func (p *Provider) content(ctx context.Context, c catalog.Call) ([]byte, File, error) {
	s, id, err := p.asked(c)
	if err != nil {
		return nil, File{}, err
	}
	return s.Bytes(ctx, c.Principal(), id, readLimit)
}

func (p *Provider) json(ctx context.Context, c catalog.Call) (json.RawMessage, error) {
	raw, _, err := p.content(ctx, c)
	if err != nil {
		return nil, err
	}
	if !json.Valid(raw) {
		return nil, fault.New(fault.ExecutionError, "the file is not JSON").WithRetry(fault.Fix).WithHint("Read it with SDK.Files.text.")
	}
	return raw, nil
}

func (p *Provider) create(ctx context.Context, c catalog.Call) (json.RawMessage, error) {
	s, err := p.Store()
	if err != nil {
		return nil, err
	}
	var in struct {
		Name, Type   string
		Text, Base64 *string
	}
	if err := json.Unmarshal(c.Input(), &in); err != nil {
		return nil, err
	}
	var body []byte
	switch {
	case (in.Text == nil) == (in.Base64 == nil):
		return nil, fault.Invalid(fault.Detail{Message: "takes one of text and base64", Expected: "text or base64"})
	case in.Text != nil:
		body = []byte(*in.Text)
	default:
		if body, err = base64.StdEncoding.DecodeString(*in.Base64); err != nil {
			return nil, fault.Invalid(fault.Detail{Path: "/base64", Message: "is not base64: " + err.Error()})
		}
	}
	f, err := s.createInRun(ctx, c.Principal(), in.Name, in.Type, strings.NewReader(string(body)))
	if err != nil {
		return nil, err
	}
	return json.Marshal(f)
}

// createInRun keeps a file that the call of ctx makes, in the run's set.
func (s *Store) createInRun(ctx context.Context, who auth.Principal, name, mediaType string, body io.Reader) (File, error) {
	attempt, _, ok := run.Current(ctx)
	if !ok {
		return File{}, errors.New("files: a file is created by a run")
	}
	set := cmp.Or(attempt.Set(), DefaultSet)
	if !who.MayName(set) { // who made the file could not read it, and others could
		return File{}, UnknownSet(set).WithHint("Run the script with `set`, and name one that you may use.")
	}
	return s.Put(ctx, Upload{Name: name, Type: mediaType, Set: set, Owner: who.Subject, Body: body})
}
