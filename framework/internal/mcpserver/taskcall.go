package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"time"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/internal/toolset"
	"github.com/koan-go/koan/framework/run/observe"
)

// The methods of the extension.
const (
	methodTasksGet    = "tasks/get"
	methodTasksUpdate = "tasks/update"
	methodTasksCancel = "tasks/cancel"
	notificationTasks = "notifications/tasks"
)

const resultTypeTask = "task"

// openTask makes the task that a call becomes if it takes long or asks. It returns nil for a
// client that did not declare tasks with this request, for one that answers the questions of
// an ordinary call, and for one that has too many.
func (c toolCalls) openTask(ex *exchange) *task {
	if !ex.tasks || bytes.Contains(ex.params, []byte(`"requestState"`)) {
		return nil
	}
	now := time.Now()
	t := &task{
		id: observe.NewRunID(), subject: ex.principal.Subject, peer: ex.peer, created: now, taskProgress: taskProgress{updated: now},
		taskQuestions: taskQuestions{limit: c.server.opts.AskTimeout, asked: make(chan struct{})}, done: make(chan struct{}), stop: func(error) {},
	}
	if !c.server.tasks.open(t, c.server.now().QueueMax) {
		return nil
	}
	return t
}

// callAsTask makes a call that may outlive its request. It is answered with its result if
// it ends soon, else with the task. Until then it ends with its request, as any other.
func (c toolCalls) callAsTask(ctx context.Context, ex *exchange, view *catalog.View, tool toolset.Call) (any, *rpcError) {
	t := ex.task
	work, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	t.stop = stop
	detach := context.AfterFunc(ctx, func() { stop(context.Cause(ctx)) })
	var result any
	var failed *rpcError
	go func() {
		growStack()
		defer func() { t.end(result, c.server.redactError(failed)) }()
		defer c.server.recovered(ex.message, &result, &failed)
		result, failed = c.makeCall(work, ex, view, tool)
	}()
	soon := time.NewTimer(c.server.opts.TaskAfter)
	defer soon.Stop()
	select {
	case <-t.done:
	case <-t.asked:
	case <-soon.C:
	case <-ctx.Done():
	}
	if ctx.Err() == nil && detach() && t.hand() {
		return c.created(ex, t), nil
	}
	<-t.done
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.failed != nil {
		return nil, t.failed
	}
	return t.result, nil
}

// created is the answer to a call that has become a task.
func (c toolCalls) created(ex *exchange, t *task) taskState {
	state := t.state()
	state = state.enveloped(c.server, ex.peer)
	state.ResultType = resultTypeTask
	state.Result, state.Error, state.InputRequests = nil, nil, nil // tasks/get has them
	return state
}

// taskOf returns the task that a request of the extension names.
func taskOf(m message) (id string, ok bool) {
	switch m.method {
	case methodTasksGet, methodTasksUpdate, methodTasksCancel:
	default:
		return "", false
	}
	members(rawOrEmpty(m.params), func(name []byte, value json.RawMessage) {
		if string(name) == "taskId" {
			id, ok = unquoted(value)
		}
	})
	return id, ok
}

// taskRequests answers the requests about tasks.
type taskRequests struct{ server *Server }

// admit reads which task a request is about.
func (t taskRequests) admit(m message, p peer) (id string, bad *rpcError) {
	if !p.tasks {
		return "", noTasks()
	}
	id, ok := taskOf(m)
	if !ok {
		return "", protocolError(fault.Invalid(fault.Detail{Path: "/taskId", Message: "the task's id is missing", Expected: "string"}))
	}
	return id, nil
}

// noTasks rejects a request about tasks of a client that did not declare them with it.
func noTasks() *rpcError {
	return missingCapability(map[string]any{"extensions": map[string]any{tasksKey: map[string]any{}}},
		fault.Newf(fault.CapabilityUnsupported, "the client did not declare %s", tasksKey).WithHint("Declare it among the capabilities in the _meta of each request."))
}

// unknownTask rejects a request about a task that does not exist for the caller. Its number is
// that of invalid params, as the extension specifies.
func unknownTask(id string) *rpcError {
	bad := protocolError(fault.Newf(fault.NotFound, "the task %q does not exist, or is no longer kept", fault.Clip(id, 64)).
		WithPath("/taskId").WithHint("Tasks are kept for 15 minutes after their end; a script's run is in the journal for longer, as koan://runs/{id}. Make the call again if it is not there."))
	bad.Code = invalidParams
	return bad
}

const invalidParams = -32602

// get handles tasks/get.
func (t taskRequests) get(ctx context.Context, m message, p peer) (any, *rpcError) {
	id, bad := t.admit(m, p)
	if bad != nil {
		return nil, bad
	}
	var state taskState
	if one := t.server.tasks.find(id, p.principal.Subject); one != nil {
		state = one.state()
	} else if state, bad = t.recall(ctx, p, id); bad != nil {
		return nil, bad
	}
	return state.enveloped(t.server, p), nil
}

// enveloped is the state as a result of the protocol.
func (state taskState) enveloped(s *Server, p peer) taskState {
	e := s.envelope(p, false)
	maps.Copy(e.Meta, state.Meta)
	state.envelope = e
	return state
}

// update handles tasks/update: the client's answers.
func (t taskRequests) update(ctx context.Context, m message, p peer) (any, *rpcError) {
	id, bad := t.admit(m, p)
	if bad != nil {
		return nil, bad
	}
	var raw json.RawMessage
	members(rawOrEmpty(m.params), func(name []byte, value json.RawMessage) {
		if string(name) == "inputResponses" {
			raw = value
		}
	})
	answers, wrong := parseAnswers(raw)
	if wrong != nil {
		return nil, protocolError(wrong)
	}
	if one := t.server.tasks.find(id, p.principal.Subject); one != nil {
		one.deliver(answers)
	} else if _, bad = t.recall(ctx, p, id); bad != nil {
		return nil, bad
	}
	return t.server.envelope(p, false), nil
}

// cancel handles tasks/cancel. A task that has ended stays as it is.
func (t taskRequests) cancel(ctx context.Context, m message, p peer) (any, *rpcError) {
	id, bad := t.admit(m, p)
	if bad != nil {
		return nil, bad
	}
	if one := t.server.tasks.find(id, p.principal.Subject); one != nil {
		one.cancel()
	} else if _, bad = t.recall(ctx, p, id); bad != nil {
		return nil, bad
	}
	return t.server.envelope(p, false), nil
}
