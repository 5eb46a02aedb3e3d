package plugins

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/plugins/internal/wire"
)

// conversation answers what a plugin asks during one call. A nil one answers nothing.
type conversation struct {
	plugin *plugin
	call   catalog.Call
	ctx    context.Context // that of the call, which ends with the conversation
	end    context.CancelCauseFunc
	hangUp func() // ends the stream
	stream hostStream
	files  *callFiles

	answering sync.WaitGroup
	sending   sync.Mutex
	mu        sync.Mutex
	open      map[uint64]bool // ids of questions without an answer
	busy      int             // questions whose answer has not been sent
	faults    []*fault.Fault  // the last ones of calls
}

func newConversation(ctx context.Context, p *plugin, c catalog.Call, stream hostStream, hangUp func()) *conversation {
	t := &conversation{plugin: p, call: c, stream: stream, hangUp: hangUp, open: map[uint64]bool{}}
	t.ctx, t.end = context.WithCancelCause(ctx)
	t.files = &callFiles{ctx: t.ctx, call: c, host: p.provider.host, begun: map[string]*begunFile{}}
	return t
}

const (
	errUnheard   = breach("it asked the app something in a call in which nobody listens (Manifest.converses)")
	errQuestions = breach("it asked the app more than it may at a time")
	// maxUnsent is how many questions may wait for the plugin to take their answers.
	maxUnsent = 2 * wire.MaxQuestions
	// maxFaults is how many faults of calls are remembered.
	maxFaults = wire.MaxQuestions
)

// take answers a question, beside others.
func (t *conversation) take(q *wire.Question) error {
	if t == nil {
		return errUnheard
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.open[q.GetId()]:
		return breach(fmt.Sprintf("it asked the app two things as question %d", q.GetId()))
	case len(t.open) >= wire.MaxQuestions || t.busy >= maxUnsent:
		return errQuestions
	}
	t.open[q.GetId()] = true
	t.busy++
	wait, over := t.turn(q)
	t.answering.Go(func() {
		defer over()
		wait()
		t.answer(q)
	})
	return nil
}

// turn keeps the order of what is written to a file.
func (t *conversation) turn(q *wire.Question) (wait, over func()) {
	switch kind := q.GetKind().(type) {
	case *wire.Question_WriteFile:
		return t.files.inOrder(kind.WriteFile.GetFile())
	case *wire.Question_CloseFile:
		return t.files.inOrder(kind.CloseFile.GetFile())
	}
	return func() {}, func() {}
}

// answer answers one question. An error that ends the run ends the call.
func (t *conversation) answer(q *wire.Question) {
	var a *wire.Answer
	err := fault.Guard(func() (err error) {
		a, err = t.reply(q)
		return err
	})
	if run.Ends(err) {
		t.end(err)
		t.hangUp()
		return
	}
	if err != nil {
		a = &wire.Answer{Result: &wire.Answer_Fault{Fault: t.faultOf(err)}}
	}
	a.Id = q.GetId()
	t.mu.Lock()
	delete(t.open, q.GetId()) // before the plugin can use it again
	t.mu.Unlock()
	t.sending.Lock()
	err = t.stream.Send(&wire.HostMessage{Message: &wire.HostMessage_Answer{Answer: a}})
	t.sending.Unlock()
	if err != nil {
		return // Recv says why the stream has ended
	}
	t.mu.Lock()
	t.busy--
	t.mu.Unlock()
}

// faultOf is the fault of a question as the plugin gets it.
func (t *conversation) faultOf(err error) []byte {
	f := fault.From(err)
	if f.Code == fault.Internal {
		t.plugin.log.Error("a question of the plugin cannot be answered", "operation", t.call.Operation().ID.Op, "error", err.Error(), "cause", fmt.Sprint(f.Unwrap()))
	}
	t.mu.Lock()
	t.faults = append(t.faults, f)
	if len(t.faults) > maxFaults {
		t.faults = t.faults[1:]
	}
	t.mu.Unlock()
	raw, merr := json.Marshal(f)
	if merr != nil {
		raw, _ = json.Marshal(fault.New(fault.Internal, ""))
	}
	return raw
}

// passedOn returns the fault of a call that the plugin has made if that is what it has sent as its own, nil for others.
func (t *conversation) passedOn(raw []byte) error {
	var sent struct {
		Code    fault.Code
		Message string
	}
	if t == nil || json.Unmarshal(raw, &sent) != nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, f := range t.faults {
		if f.Code == sent.Code && f.Message == sent.Message {
			return f
		}
	}
	return nil
}

// reply does what a question asks for.
func (t *conversation) reply(q *wire.Question) (*wire.Answer, error) {
	switch kind := q.GetKind().(type) {
	case *wire.Question_Invoke:
		out, err := t.invoke(kind.Invoke)
		return &wire.Answer{Result: &wire.Answer_Output{Output: out}}, err
	case *wire.Question_OpenFile:
		r, err := t.files.open(kind.OpenFile.GetFile())
		if err != nil {
			return nil, err
		}
		return onWire(r.file.ID, r.file), nil
	case *wire.Question_ReadFile:
		data, err := t.files.read(kind.ReadFile)
		return &wire.Answer{Result: &wire.Answer_Data{Data: data}}, err
	case *wire.Question_CreateFile:
		id, err := t.files.create(kind.CreateFile)
		return onWire(id, catalog.File{}), err
	case *wire.Question_WriteFile:
		return &wire.Answer{}, t.files.write(kind.WriteFile)
	case *wire.Question_CloseFile:
		f, err := t.files.finish(kind.CloseFile)
		return onWire(f.ID, f), err
	}
	return nil, fault.New(fault.CapabilityUnsupported, "the app does not know what the plugin asks").
		WithHint("The plugin is made for a newer version of Koan than the app.")
}

// invoke calls an operation in the run of the call.
func (t *conversation) invoke(q *wire.Invoke) (json.RawMessage, error) {
	id, err := catalog.ParseID(q.GetOperation())
	if err != nil {
		return nil, err
	}
	input := json.RawMessage(q.GetInput())
	if len(input) == 0 {
		input = json.RawMessage("{}")
	}
	switch {
	case len(input) > wire.MaxInputBytes:
		return nil, fault.Newf(fault.CallTooLarge, "the input has %d bytes; %d are allowed", len(input), wire.MaxInputBytes)
	case !json.Valid(input) || bytes.TrimSpace(input)[0] != '{':
		return nil, fault.Invalid(fault.Detail{Message: "the input is not a JSON object", Expected: "object"})
	}
	if err := t.plugin.configured.permit(t.plugin.name, t.plugin.state().manifest, id, input); err != nil {
		return nil, err
	}
	nest := run.NestOf(t.ctx)
	if nest == nil { // what is granted has changed since the run began
		return nil, fault.Newf(fault.Forbidden, "the plugin %s could not call anything when the run began", t.plugin.name).WithRetry(fault.Safe)
	}
	out, err := nest.Invoke(t.ctx, nest.Next(), id, input)
	if err == nil && len(out) > wire.MaxInputBytes {
		return nil, fault.Newf(fault.CallTooLarge, "the output of %s has %d bytes; a plugin takes %d", id, len(out), wire.MaxInputBytes)
	}
	return out, err
}

// why returns why a conversation has ended: err is that of its stream.
func (t *conversation) why(err error) error {
	if t == nil {
		return err
	}
	if cause := context.Cause(t.ctx); run.Ends(cause) {
		return cause
	}
	return err
}

// close ends the conversation, with its stream. When it returns, nothing is asked of the run any more.
func (t *conversation) close() {
	if t == nil {
		return
	}
	t.hangUp()
	t.end(errConversationOver)
	t.files.drop()
	t.answering.Wait()
	t.files.close()
}

var errConversationOver = errors.New("the call has ended")
