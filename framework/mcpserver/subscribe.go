package mcpserver

import (
	"encoding/json"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/koan-go/koan/framework/fault"
)

// subscription is one subscriptions/listen of the modern era: it stays open, and
// ends with an answer when the server ends it.
type subscription struct {
	id     json.RawMessage
	filter mcp.SubscriptionFilter
	to     sink
	end    func(result any, failed *rpcError)
	peer   peer
}

// listen opens a subscription. Its acknowledgement says what was granted: lists
// may change, single resources do not.
func (s *session) listen(m message, p peer, to sink, answer func(any, *rpcError)) {
	var params struct {
		Notifications mcp.SubscriptionFilter `json:"notifications"`
	}
	if len(m.params) > 0 && json.Unmarshal(m.params, &params) != nil {
		answer(nil, protocolError(fault.Invalid(fault.Detail{Path: "/notifications", Message: "this is no filter of notifications", Expected: "object"})))
		return
	}
	sub := &subscription{id: m.id, to: to, end: answer, peer: p, filter: mcp.SubscriptionFilter{
		ToolsListChanged: params.Notifications.ToolsListChanged, ResourcesListChanged: params.Notifications.ResourcesListChanged,
	}}
	if bad := s.addSubscription(sub); bad != nil {
		answer(nil, bad)
		return
	}
	s.notify(mcp.MethodNotificationSubscriptionsAcknowledged, sub, map[string]any{"notifications": sub.filter})
	if sub.filter.IsEmpty() {
		s.cancel(m.id)
		s.endSubscription(sub)
	}
}

func (s *session) addSubscription(sub *subscription) *rpcError {
	key, _ := idKey(sub.id)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch limit := s.server.opts.QueueMax; {
	case s.ended:
		return protocolError(fault.New(fault.Cancelled, "the connection is ending"))
	case s.calls[key] != nil || s.listening[key] != nil:
		return protocolError(fault.Newf(fault.InvalidRequest, "a request with the id %s is in flight", sub.id))
	case len(s.listening) >= limit:
		f := fault.Newf(fault.QueueOverloaded, "%d subscriptions are open, which is the limit", limit)
		return protocolError(f.WithDetails(map[string]any{"queue": map[string]any{"max": limit, "size": len(s.listening)}}))
	}
	s.listening[key] = sub
	return nil
}

func (s *session) endSubscription(sub *subscription) {
	result := s.server.envelope(sub.peer, false)
	result.Meta[mcp.MetaKeySubscriptionID] = sub.id
	sub.end(result, nil)
}

func (s *session) closeSubscriptions() {
	s.mu.Lock()
	open := s.listening
	s.listening = map[string]*subscription{}
	s.mu.Unlock()
	for _, sub := range open {
		s.endSubscription(sub)
	}
}

// listsChanged tells the client: an older one once it is ready, a modern one
// where it asked for it.
func (s *session) listsChanged() {
	s.mu.Lock()
	ready := s.ready && !s.ended
	var subs []*subscription
	for _, sub := range s.listening {
		subs = append(subs, sub)
	}
	s.mu.Unlock()
	if ready {
		s.notify(mcp.MethodNotificationToolsListChanged, nil, nil)
		s.notify(mcp.MethodNotificationResourcesListChanged, nil, nil)
	}
	for _, sub := range subs {
		if sub.filter.ToolsListChanged {
			s.notify(mcp.MethodNotificationToolsListChanged, sub, nil)
		}
		if sub.filter.ResourcesListChanged {
			s.notify(mcp.MethodNotificationResourcesListChanged, sub, nil)
		}
	}
}

// notify sends a notification, on behalf of a subscription where there is one.
func (s *session) notify(method string, sub *subscription, params map[string]any) {
	to := s.out
	if sub != nil {
		to = sub.to
		if params == nil {
			params = map[string]any{}
		}
		params["_meta"] = map[string]any{mcp.MetaKeySubscriptionID: sub.id}
	}
	text, err := encode(notification{JSONRPC: mcp.JSONRPC_VERSION, Method: method, Params: params})
	if err != nil { // all of it is ours, or was JSON when it came
		panic("mcpserver: a notification cannot be encoded: " + err.Error())
	}
	to.offer(outgoing{text: text})
}
