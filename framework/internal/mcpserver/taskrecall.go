package mcpserver

import (
	"context"
	"encoding/json"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/internal/invoke"
	"github.com/koan-go/koan/framework/journal"
	"github.com/koan-go/koan/framework/run"
)

// statusCode is the operation that says what a script's run returned.
var statusCode = catalog.CodeID("koan", "status")

// runReport is what the journal says of a run.
type runReport struct {
	journal.Ending
	Subject    string  `json:"subject"`
	Operation  string  `json:"operation"`
	Tool       string  `json:"tool"`
	Started    string  `json:"started"`
	DurationMs float64 `json:"durationMs"`
}

// recall returns a task that this process does not know, since another one made it before: as
// the journal says that its run ended.
func (t taskRequests) recall(ctx context.Context, p peer, id string) (taskState, *rpcError) {
	view := p.view(t.server)
	page := view.Snapshot().Document(catalog.RunReportURI)
	if page == nil {
		return taskState{}, unknownTask(id)
	}
	text, err := page.Read(auth.With(ctx, p.principal), view, id)
	var r runReport
	switch {
	case fault.CodeOf(err) == fault.NotFound:
		return taskState{}, unknownTask(id)
	case err != nil:
		return taskState{}, protocolError(fault.From(err))
	case json.Unmarshal(text, &r) != nil || r.Subject != p.principal.Subject: // whoever may read the journal sees others'
		return taskState{}, unknownTask(id)
	}
	started, err := time.Parse(time.RFC3339Nano, r.Started)
	if err != nil {
		return taskState{}, protocolError(fault.New(fault.Internal, "").Because(err))
	}
	end := started.Add(time.Duration(r.DurationMs * float64(time.Millisecond)))
	state := taskState{
		TaskID: id, Status: mcp.TaskStatusCompleted, CreatedAt: wireTime(started), LastUpdatedAt: wireTime(end),
		TTLMs: (time.Since(started) + taskLife).Milliseconds(), PollIntervalMs: taskPoll.Milliseconds(),
	}
	if r.Outcome == string(fault.Cancelled) {
		state.Status, state.StatusMessage = mcp.TaskStatusCancelled, r.Message
		return state, nil
	}
	body, ok := t.recallBody(ctx, p, view, id, r)
	if !ok {
		f := fault.Newf(fault.NotFound, "the call of %s ended well before the server was started again, and what it returned is no longer kept", r.Tool).
			WithHint("Its changes are in the data; koan://runs/%s has what is known of it.", id)
		state.Status, state.StatusMessage, state.Error = mcp.TaskStatusFailed, f.Message, protocolError(f)
		return state, nil
	}
	var says struct {
		Success bool `json:"success"`
	}
	_ = json.Unmarshal(body, &says) // a failure says so
	result := callResult{body: body, failed: !says.Success}
	if result.failed {
		state.StatusMessage = r.Message
	}
	state.Result = result.appendTo(nil)
	return state, nil
}

// recallBody returns the body of the result of a run that has ended: of a script what it
// returned, of another tool the fault that it ended in.
func (t taskRequests) recallBody(ctx context.Context, p peer, view *catalog.View, id string, r runReport) (json.RawMessage, bool) {
	if parsed, err := catalog.ParseID(r.Operation); err == nil && parsed.Kind == catalog.KindCode && view.Snapshot().Operation(statusCode) != nil {
		input, _ := json.Marshal(map[string]string{"runId": id}) // a text
		out, _, err := t.server.opts.Engine.Invoke(ctx, run.Request{View: view, Principal: p.principal, ID: statusCode, Input: input, Surface: "mcp"})
		var said struct {
			Result json.RawMessage `json:"result"`
		}
		if err == nil && json.Unmarshal(out, &said) == nil && len(said.Result) > 0 {
			return said.Result, true
		}
	}
	f := r.Fault(view.Snapshot().ActsOutside())
	if f == nil {
		return nil, false
	}
	return invoke.Failure(nil, f), true
}
