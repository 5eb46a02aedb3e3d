package mcpserver

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/internal/invoke"
)

// subscription is one subscriptions/listen of the modern era: it stays open, and ends
// with a response when the server ends it.
type subscription struct {
	id     json.RawMessage
	key    string // the id, comparable
	filter mcp.SubscriptionFilter
	tasks  []*task
	to     sink
	end    func(result any, failed *rpcError)
	peer   peer
}

// subscriptions notify a client of changes of the lists, of resources and of tasks: in the modern
// era what it subscribed to, in the older one the lists and the resources that its session watches.
type subscriptions struct {
	server   *Server
	out      sink      // of the session
	requests *requests // among which are the subscriptions of the modern era
	rows     rowFollower

	mu      sync.Mutex
	ready   bool // the client said notifications/initialized, and its session has not ended
	ended   bool
	watched map[string]struct{} // by URI, of resources/subscribe
}

// open lets the client of a session hear of changes.
func (s *subscriptions) open() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ready = !s.ended
}

// state returns whether the session hears of changes, and the resources that it watches.
func (s *subscriptions) state() (ready bool, watched []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ready, slices.Sorted(maps.Keys(s.watched))
}

// listen opens a subscription. Its acknowledgement lists what was granted: of resources,
// those that exist.
func (s *subscriptions) listen(m message, p peer, to sink, answer func(any, *rpcError)) {
	var params struct {
		Notifications struct {
			mcp.SubscriptionFilter
			TaskIDs []string `json:"taskIds,omitempty"`
		} `json:"notifications"`
	}
	if len(m.params) > 0 && json.Unmarshal(m.params, &params) != nil {
		answer(nil, protocolError(fault.Invalid(fault.Detail{Path: "/notifications", Message: "this is not a filter of notifications", Expected: "object"})))
		return
	}
	if len(params.Notifications.TaskIDs) > 0 && !p.tasks {
		answer(nil, noTasks())
		return
	}
	sub := &subscription{id: m.id, key: m.key, to: to, end: answer, peer: p, filter: mcp.SubscriptionFilter{
		ToolsListChanged: params.Notifications.ToolsListChanged, ResourcesListChanged: params.Notifications.ResourcesListChanged,
		PromptsListChanged: params.Notifications.PromptsListChanged, ResourceSubscriptions: s.existingURIs(p, params.Notifications.ResourceSubscriptions),
	}}
	granted := params.Notifications
	granted.SubscriptionFilter, granted.TaskIDs = sub.filter, nil
	for _, id := range params.Notifications.TaskIDs[:min(len(params.Notifications.TaskIDs), maxWatched)] {
		if t := s.server.tasks.find(id, p.principal.Subject); t != nil && !slices.Contains(sub.tasks, t) {
			sub.tasks, granted.TaskIDs = append(sub.tasks, t), append(granted.TaskIDs, id)
		}
	}
	for _, uri := range sub.filter.ResourceSubscriptions {
		if err := s.rows.follow(p, uri, s.notifyRows); err != nil {
			answer(nil, protocolError(fault.From(err)))
			return
		}
	}
	if bad := s.requests.subscribe(sub); bad != nil {
		answer(nil, bad)
		return
	}
	s.notify(mcp.MethodNotificationSubscriptionsAcknowledged, sub, map[string]any{"notifications": granted})
	if sub.filter.IsEmpty() && len(sub.tasks) == 0 {
		s.requests.cancel(m.id)
		s.end(sub)
	}
	for _, t := range sub.tasks {
		t.watchBy(sub, func(state taskState) bool { return s.notifyTask(sub, state) })
	}
}

// notifyTask sends the state of a task to a subscription, and reports whether that is open.
func (s *subscriptions) notifyTask(sub *subscription, state taskState) bool {
	if !s.requests.isOpen(sub) {
		return false
	}
	var params map[string]any
	raw, err := invoke.Encode(state)
	if err == nil {
		err = json.Unmarshal(raw, &params)
	}
	if err != nil { // all of it is ours, or was encoded before
		panic("mcpserver: a task cannot be encoded: " + err.Error())
	}
	s.notify(notificationTasks, sub, params)
	return true
}

func (s *subscriptions) end(sub *subscription) {
	result := s.server.envelope(sub.peer, false)
	result.Meta[mcp.MetaKeySubscriptionID] = sub.id
	sub.end(result, nil)
}

// close ends the subscriptions that are still open, and all notifications with them.
func (s *subscriptions) close(open map[string]*subscription) {
	s.mu.Lock()
	s.ready, s.ended = false, true
	s.mu.Unlock()
	s.rows.close()
	for _, sub := range open {
		s.end(sub)
	}
}

// notifyListsChanged notifies the client that lists have changed, and with them every resource,
// since all of them are made from the catalog: an older client once it is ready, a modern one if
// it has subscribed to it.
func (s *subscriptions) notifyListsChanged() {
	ready, watched := s.state()
	if ready {
		s.notify(mcp.MethodNotificationToolsListChanged, nil, nil)
		s.notify(mcp.MethodNotificationResourcesListChanged, nil, nil)
		s.notify(mcp.MethodNotificationPromptsListChanged, nil, nil)
		s.notifyUpdated(nil, watched)
	}
	for _, sub := range s.requests.subscribed() {
		if sub.filter.ToolsListChanged {
			s.notify(mcp.MethodNotificationToolsListChanged, sub, nil)
		}
		if sub.filter.ResourcesListChanged {
			s.notify(mcp.MethodNotificationResourcesListChanged, sub, nil)
		}
		if sub.filter.PromptsListChanged {
			s.notify(mcp.MethodNotificationPromptsListChanged, sub, nil)
		}
		s.notifyUpdated(sub, sub.filter.ResourceSubscriptions)
	}
}

// notifyUpdated notifies the client that resources may have changed.
func (s *subscriptions) notifyUpdated(sub *subscription, uris []string) {
	for _, uri := range uris {
		s.notify(mcp.MethodNotificationResourceUpdated, sub, map[string]any{"uri": uri})
	}
}

// maxWatched bounds the resources that one session or subscription watches.
const maxWatched = 1000

// existingURIs are those of some URIs that the client can read, each once.
func (s *subscriptions) existingURIs(p peer, uris []string) []string {
	v := p.view(s.server)
	var out []string
	for _, uri := range uris[:min(len(uris), maxWatched)] {
		if d, _ := find(v, uri); d != nil && !slices.Contains(out, uri) {
			out = append(out, uri)
		}
	}
	return out
}

// watch handles resources/subscribe of the older era, unwatch resources/unsubscribe.
func (s *subscriptions) watch(_ context.Context, m message, p peer) (any, *rpcError) {
	uri, bad := uriOf(m)
	if bad != nil {
		return nil, bad
	}
	if len(s.existingURIs(p, []string{uri})) == 0 {
		return nil, noResource(p, uri)
	}
	if err := s.rows.follow(p, uri, s.notifyRows); err != nil {
		return nil, protocolError(fault.From(err))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.watched[uri]; !known && len(s.watched) >= maxWatched {
		return nil, protocolError(fault.Newf(fault.QueueOverloaded, "%d resources are watched, which is the limit", maxWatched))
	}
	if s.watched == nil {
		s.watched = map[string]struct{}{}
	}
	s.watched[uri] = struct{}{}
	return struct{}{}, nil
}

func (s *subscriptions) unwatch(_ context.Context, m message, _ peer) (any, *rpcError) {
	uri, bad := uriOf(m)
	if bad != nil {
		return nil, bad
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.watched, uri)
	return struct{}{}, nil
}

// notify sends a notification, on behalf of a subscription if it is not nil.
func (s *subscriptions) notify(method string, sub *subscription, params map[string]any) {
	to := s.out
	if sub != nil {
		to = sub.to
		if params == nil {
			params = map[string]any{}
		}
		params["_meta"] = map[string]any{mcp.MetaKeySubscriptionID: sub.id}
	}
	text, err := invoke.Encode(notification{JSONRPC: mcp.JSONRPC_VERSION, Method: method, Params: params})
	if err != nil { // all of it is ours, or was JSON when it came
		panic("mcpserver: a notification cannot be encoded: " + err.Error())
	}
	to.offer(outgoing{text: text})
}
