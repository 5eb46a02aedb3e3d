package mcpserver

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/koan-go/koan/framework/ask"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/internal/invoke"
)

// task is a call whose client may get its answer later, by asking for it (extension
// io.modelcontextprotocol/tasks). It is the ask.Client of the call: questions wait until the
// client fetches them. Its id is that of the run, so that the journal knows the run under it.
type task struct {
	id      string
	subject string // of who called, and who alone may ask for it
	keeper  *tasks
	peer    peer
	created time.Time
	taskQuestions

	stop context.CancelCauseFunc
	done chan struct{} // closed when the call has ended

	telling sync.Mutex // held while watchers hear of a state

	mu        sync.Mutex
	handed    bool // the client has the id
	cancelled bool // by the client
	watchers  map[*subscription]watch
	taskProgress
}

// taskQuestions are what a call asks its client, and how long for.
type taskQuestions struct {
	asks      context.Context // ends when nobody can answer any more
	limit     time.Duration   // for answers, where the question has none
	asked     chan struct{}   // closed with the first question
	questions []*taskQuestion // all that were asked, in their order, under the task's lock
}

// taskProgress is how far a call has come, under the task's lock.
type taskProgress struct {
	updated  time.Time
	ended    time.Time
	message  string
	reported float64 // the progress that the message says
	emitted  []json.RawMessage
	result   json.RawMessage
	failed   *rpcError
}

// taskQuestion is a question under the key by which the client knows it, which is never used
// for another one.
type taskQuestion struct {
	ask.Question
	wire   string
	open   bool
	answer chan json.RawMessage // has room for the one answer
}

const (
	// taskLife is how long a task is kept after its end.
	taskLife = 15 * time.Minute
	// taskPoll is how long a client should wait before it asks again.
	taskPoll = time.Second
)

var _ ask.Client = (*task)(nil)

// taskState is a task as its client sees it.
type taskState struct {
	envelope
	TaskID         string                  `json:"taskId"`
	Status         mcp.TaskStatus          `json:"status"`
	StatusMessage  string                  `json:"statusMessage,omitempty"`
	CreatedAt      string                  `json:"createdAt"`
	LastUpdatedAt  string                  `json:"lastUpdatedAt"`
	TTLMs          int64                   `json:"ttlMs"`
	PollIntervalMs int64                   `json:"pollIntervalMs"`
	InputRequests  map[string]inputRequest `json:"inputRequests,omitempty"`
	Result         json.RawMessage         `json:"result,omitempty"`
	Error          *rpcError               `json:"error,omitempty"`
}

// wireTime is a time on the wire.
func wireTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z07:00") }

// state returns the task as it is now.
func (t *task) state() taskState {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.stateLocked()
}

func (t *task) stateLocked() taskState {
	life := time.Since(t.created)
	if !t.ended.IsZero() {
		life = t.ended.Sub(t.created)
	}
	s := taskState{
		TaskID: t.id, Status: mcp.TaskStatusWorking, StatusMessage: t.message, CreatedAt: wireTime(t.created), LastUpdatedAt: wireTime(t.updated),
		TTLMs: (life + taskLife).Milliseconds(), PollIntervalMs: taskPoll.Milliseconds(),
	}
	if len(t.emitted) > 0 {
		s.Meta = map[string]any{emittedMeta: slices.Clone(t.emitted)}
	}
	switch {
	case t.ended.IsZero():
		for _, q := range t.questions {
			if q.open {
				if s.InputRequests == nil {
					s.Status, s.InputRequests = mcp.TaskStatusInputRequired, map[string]inputRequest{}
				}
				s.StatusMessage = cmp.Or(q.Status, t.message)
				s.InputRequests[q.wire] = inputRequest{q.Method, q.Params}
			}
		}
	case t.cancelled:
		s.Status = mcp.TaskStatusCancelled
	case t.failed != nil:
		s.Status, s.Error = mcp.TaskStatusFailed, t.failed
	default:
		s.Status, s.Result = mcp.TaskStatusCompleted, t.result
	}
	return s
}

// reportFunc returns the function that takes the call's progress: it is the task's message,
// and what the client reads before it knows that the call is a task.
func (t *task) reportFunc(also func(done, total float64, message string)) func(done, total float64, message string) {
	return func(done, total float64, message string) {
		if also != nil {
			also(done, total, message)
		}
		text := message
		if total > 0 {
			text = fmt.Sprintf("%v of %v", done, total)
			if message != "" {
				text += ": " + message
			}
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.ended.IsZero() && text != "" && (t.message == "" || done > t.reported) {
			t.reported, t.message, t.updated = done, fault.Clip(text, 1000), time.Now()
		}
	}
}

// emitFunc returns the function that takes parts of the call's result: the task has them
// until it has ended, when they are in the result.
func (t *task) emitFunc(also func(index int, value json.RawMessage)) func(index int, value json.RawMessage) {
	return func(index int, value json.RawMessage) {
		if also != nil {
			also(index, value)
		}
		t.mu.Lock()
		if t.ended.IsZero() {
			t.emitted, t.updated = append(t.emitted[:min(index, len(t.emitted)):index], value), time.Now()
		}
		t.mu.Unlock()
		t.changed()
	}
}

// Can implements ask.Client.
func (t *task) Can(q ask.Question) bool { return t.peer.can(q) }

// Ask implements ask.Client. Meanwhile only the time limit for answers counts.
func (t *task) Ask(ctx context.Context, questions ...ask.Question) ([]json.RawMessage, error) {
	limit, expiry, stop, err := beginAsking(ctx, t, t.limit, questions)
	if err != nil {
		return nil, err
	}
	defer stop()
	waits, err := t.put(questions)
	if err != nil {
		return nil, err
	}
	defer t.withdraw(waits)
	answers := make([]json.RawMessage, len(waits))
	for i, q := range waits {
		select {
		case answers[i] = <-q.answer:
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-t.asks.Done():
			return nil, errUnanswered()
		case <-expiry.C:
			return nil, unansweredFault(q.Method, limit)
		}
	}
	return answers, nil
}

// put adds questions to those that the client finds.
func (t *task) put(questions []ask.Question) ([]*taskQuestion, error) {
	t.mu.Lock()
	defer t.changed()
	defer t.mu.Unlock()
	open := 0
	for _, q := range t.questions {
		if q.open {
			open++
		}
	}
	if open+len(questions) > maxQuestions || len(t.questions)+len(questions) > maxTaskQuestions {
		return nil, fault.Newf(fault.QueueOverloaded, "the client has %d unanswered questions, and %d were asked by this call, which is the limit", open, len(t.questions))
	}
	if len(t.questions) == 0 {
		close(t.asked)
	}
	waits := make([]*taskQuestion, len(questions))
	for i, q := range questions {
		key := q.Key
		for n := 2; slices.ContainsFunc(t.questions, func(o *taskQuestion) bool { return o.wire == key }); n++ {
			key = fmt.Sprintf("%s#%d", q.Key, n)
		}
		waits[i] = &taskQuestion{Question: q, wire: key, open: true, answer: make(chan json.RawMessage, 1)}
		t.questions = append(t.questions, waits[i])
	}
	t.updated = time.Now()
	return waits, nil
}

// maxTaskQuestions bounds what one call asks in all.
const maxTaskQuestions = 1000

// withdraw closes questions whose answers nobody waits for any more.
func (t *task) withdraw(waits []*taskQuestion) {
	t.mu.Lock()
	changed := false
	for _, q := range waits {
		changed = changed || q.open
		q.open = false
	}
	if changed {
		t.updated = time.Now()
	}
	t.mu.Unlock()
	if changed {
		t.changed()
	}
}

// deliver hands answers to their questions. Those to questions that are not open are
// ignored, as the extension specifies.
func (t *task) deliver(answers map[string]json.RawMessage) {
	t.mu.Lock()
	changed := false
	for _, q := range t.questions {
		if answer, ok := answers[q.wire]; ok && q.open {
			q.open, changed = false, true
			q.answer <- answer // never waits: there is room
		}
	}
	if changed {
		t.updated = time.Now()
	}
	t.mu.Unlock()
	if changed {
		t.changed()
	}
}

// cancel stops the call, unless it has ended.
func (t *task) cancel() {
	t.mu.Lock()
	live := t.ended.IsZero()
	t.cancelled = t.cancelled || live
	t.mu.Unlock()
	if live {
		t.stop(errByClient)
	}
}

// end keeps what the call came to, once. Work that was done before its cancellation took
// effect is not cancelled.
func (t *task) end(result any, failed *rpcError) {
	t.mu.Lock()
	if !t.ended.IsZero() {
		t.mu.Unlock()
		return
	}
	var body json.RawMessage
	if failed == nil {
		r, ok := result.(callResult)
		if ok {
			t.result, body = r.appendTo(make([]byte, 0, r.size())), r.body
		} else if raw, err := invoke.Encode(result); err == nil {
			t.result = raw
		} else {
			failed = protocolError(fault.New(fault.Internal, "the result is not JSON"))
		}
	}
	t.failed = failed
	t.conclude(body)
	t.ended = time.Now()
	t.updated = t.ended
	t.questions, t.emitted = nil, nil
	t.mu.Unlock()
	t.stop(nil)
	close(t.done)
	t.keeper.ended(t)
	t.changed()
}

// conclude says in the task's message how the call ended. body is that of a tool's result.
func (t *task) conclude(body json.RawMessage) {
	var says struct {
		Error     *fault.Fault `json:"error"`
		Committed bool         `json:"committed"`
	}
	_ = json.Unmarshal(body, &says) // a tool's result need not have them
	t.message = ""
	switch {
	case t.failed != nil:
		t.cancelled, t.message = false, t.failed.Message
	case says.Error == nil:
		t.cancelled = false
	default:
		t.cancelled = t.cancelled && says.Error.Code == fault.Cancelled
		t.message = says.Error.Message
		if t.cancelled && says.Committed {
			t.message += "; what it had committed before stays"
		}
	}
}

// hand reports whether the client is going to get the id, since the call has not ended.
func (t *task) hand() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.handed = t.ended.IsZero()
	return t.handed
}

// watch takes a state of a task, and reports whether it wants the next one.
type watch func(taskState) bool

// watchBy lets a subscription see the state that the task is in, and those to come.
func (t *task) watchBy(sub *subscription, w watch) {
	t.mu.Lock()
	if t.watchers == nil {
		t.watchers = map[*subscription]watch{}
	}
	t.watchers[sub] = w
	t.mu.Unlock()
	t.changed()
}

// changed lets those who watch the task see its state. They see states in their order.
func (t *task) changed() {
	t.telling.Lock()
	defer t.telling.Unlock()
	t.mu.Lock()
	now, all := t.stateLocked(), maps.Clone(t.watchers)
	t.mu.Unlock()
	for sub, w := range all {
		if w(now) && now.Status != mcp.TaskStatusCompleted && now.Status != mcp.TaskStatusFailed && now.Status != mcp.TaskStatusCancelled {
			continue
		}
		t.mu.Lock()
		delete(t.watchers, sub)
		t.mu.Unlock()
	}
}
