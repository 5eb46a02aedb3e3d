package restapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/internal/admission"
	"github.com/koan-go/koan/framework/internal/feed"
	"github.com/koan-go/koan/framework/run/follow"
)

// EventOptions are those of streams of changes. The zero value is right.
type EventOptions struct {
	// Slow is after how long a write that the client does not take makes it a slow one, which is
	// cut; 0 is 10 s. One that is more than Behind commits behind, 0 is 1000, is cut after a
	// tenth of that.
	Slow   time.Duration
	Behind int64
	// GiveUp is when a client that takes nothing is disconnected without a word; 0 is 60 s.
	GiveUp time.Duration
	// Heartbeat is how long a stream says nothing, 0 is 15 s; Reaffirm how long a token counts
	// without a look at it, 0 is 5 s, and a fifth of that before something is sent.
	Heartbeat, Reaffirm time.Duration
}

func (o *EventOptions) fill() {
	for _, d := range []struct {
		at    *time.Duration
		value time.Duration
	}{{&o.Slow, 10 * time.Second}, {&o.GiveUp, time.Minute}, {&o.Heartbeat, keepAlive}, {&o.Reaffirm, 5 * time.Second}} {
		if *d.at == 0 {
			*d.at = d.value
		}
	}
	if o.Behind == 0 {
		o.Behind = 1000
	}
}

const (
	lastIDHeader    = "Last-Event-ID"
	lastIDParameter = "lastEventId" // pages cannot set the header of an EventSource
)

// eventParameters are the query parameters of /api/events.
var eventParameters = []string{"entity", "set", "filter", lastIDParameter}

// serveEvents serves GET /api/events: committed changes, as they happen.
func (h *Handler) serveEvents(w http.ResponseWriter, r *http.Request) {
	if !h.allows(w, r, http.MethodGet) {
		return
	}
	p := auth.From(r.Context())
	v := h.view(p)
	filter, lastID, err := eventRequest(r, v, p)
	if err != nil {
		h.rejectAs(w, r, asRejection(err))
		return
	}
	if r.Method == http.MethodHead {
		describeStream(w.Header())
		return
	}
	ids, err := h.eventIDs(r.Context())
	if err != nil {
		h.rejectAs(w, r, asRejection(err))
		return
	}
	leave, f := h.takeListener(r, p)
	if f != nil {
		h.reject(w, r, f)
		return
	}
	follower, err := h.opts.Feed.Follow(r.Context(), follow.Reader{View: v, Principal: p}, filter, ids.read(lastID))
	if err != nil {
		leave()
		j := asRejection(err)
		if errors.As(err, new(feed.Gone)) {
			j.status = http.StatusGone
		}
		h.rejectAs(w, r, j)
		return
	}
	l := &listener{h: h, r: r, follower: follower, ids: ids, principal: p, affirmed: time.Now(), leave: leave}
	var conn net.Conn
	var taken bool
	if r.ProtoMajor == 1 {
		l.stream, conn, taken = takeOver(w)
	}
	if !taken {
		l.stream = h.stream(w)
		l.run(r.Context())
		return
	}
	h.open.Add(1) // beside the request, which has entered and is about to end
	go func() {
		defer h.open.Done()
		ctx, stop := context.WithCancel(context.WithoutCancel(r.Context()))
		go func() { // until the client leaves: it has nothing more to say
			defer stop()
			var said [16]byte
			for {
				if _, err := conn.Read(said[:]); err != nil {
					return
				}
			}
		}()
		l.run(ctx)
		stop()
		_ = conn.Close()
	}()
}

// takeListener takes a place of a caller's streams of changes, in place of that of its requests.
func (h *Handler) takeListener(r *http.Request, p auth.Principal) (leave func(), f *fault.Fault) {
	c, most := h.opts.Admission.Join(p.Subject), h.now().MaxListeners
	if open, ok := c.Listeners.Enter(most); !ok {
		h.opts.Admission.Quit(p.Subject)
		return nil, fault.Newf(fault.QueueOverloaded, "%d streams of changes are open, which is the limit (events.maxListeners)", open).
			WithDetails(map[string]any{"queue": map[string]any{"max": most, "size": open}})
	}
	r.Context().Value(placeKey{}).(*admission.Place).Leave()
	return func() {
		c.Listeners.Leave()
		h.opts.Admission.Quit(p.Subject)
	}, nil
}

// eventRequest reads what a request asks to follow, and from where.
func eventRequest(r *http.Request, v *catalog.View, p auth.Principal) (filter feed.Filter, lastID string, err error) {
	query, err := decodeQuery(r.URL.RawQuery, eventParameters)
	if err != nil {
		return filter, "", err
	}
	given := func(name string) string {
		var s string
		_ = json.Unmarshal(query[name], &s) // decodeQuery makes strings of them
		return s
	}
	lastID = given(lastIDParameter)
	switch headers := r.Header.Values(lastIDHeader); {
	case len(headers) > 1:
		return filter, "", fault.Newf(fault.InvalidPayload, "the header %s is there more than once", lastIDHeader)
	case len(headers) == 1 && headers[0] != "": // the newer one: that of a client that reconnects
		lastID = headers[0]
	}
	if _, asked := query["entity"]; asked {
		if filter.Entities, err = entitiesNamed(given("entity"), v); err != nil {
			return filter, "", err
		}
	}
	if _, asked := query["set"]; asked {
		if filter.Sets, err = setsNamed(given("set"), v, p, filter.Entities); err != nil {
			return filter, "", err
		}
	}
	if _, asked := query["filter"]; asked {
		if len(filter.Entities) != 1 {
			return filter, "", fault.New(fault.InvalidPayload, "a filter is about the rows of one entity").
				WithHint("Name it with `entity`. Follow other entities with requests of their own.").WithPath("/filter")
		}
		filter.Condition = &follow.Condition{Entity: filter.Entities[0], Filter: string(query["filter"])} // decodeQuery has checked that it is JSON
	}
	return filter, lastID, nil
}

// list splits a parameter at its commas.
func list(value string) []string {
	var out []string
	for _, name := range strings.Split(value, ",") {
		if name = strings.TrimSpace(name); !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// entitiesNamed reads the names of entities, as in the SDK or in paths.
func entitiesNamed(value string, v *catalog.View) ([]string, error) {
	t := tableOf(v)
	var out, known []string
	for _, e := range t.entities {
		if e.Shown() {
			known = append(known, e.Name)
		}
	}
	slices.Sort(known)
	var wrong []fault.Detail
	for _, name := range list(value) {
		if e := t.entities[name]; e != nil {
			name = e.Name
		}
		if !slices.Contains(known, name) {
			wrong = append(wrong, fault.Detail{Path: "/entity", Message: "there is no entity " + catalog.Quote(fault.Clip(name, 64)) + " to follow" + fault.DidYouMean(name, known)})
			continue
		}
		out = append(out, name)
	}
	if len(wrong) > 0 {
		return nil, fault.Invalid(wrong...).WithHint("Name entities as in the SDK, separated by commas, or leave `entity` out to follow all.")
	}
	return out, nil
}

// setsNamed reads names of sets in which some entities live, or any if there are none.
func setsNamed(value string, v *catalog.View, p auth.Principal, entities []string) ([]string, error) {
	out := list(value)
	if len(out) > feed.MaxSets {
		return nil, fault.Newf(fault.InvalidPayload, "%d sets are named, and one stream follows at most %d", len(out), feed.MaxSets).WithPath("/set")
	}
	for _, set := range out {
		lives := false
		for _, e := range tableOf(v).entities {
			if len(entities) > 0 && !slices.Contains(entities, e.Name) {
				continue
			}
			lives = lives || feed.ValidSet(set) && e.LivesIn(set)
		}
		if !lives || !p.MayName(set) { // whichever it is, there is none for this caller
			return nil, fault.Newf(fault.UnknownSet, "there is no set %s of what is followed", catalog.Quote(fault.Clip(set, 64))).WithPath("/set")
		}
	}
	return out, nil
}

// listener is a client that follows changes.
type listener struct {
	h         *Handler
	r         *http.Request
	follower  *feed.Follower
	stream    *stream
	principal auth.Principal
	affirmed  time.Time
	ids       *eventIDs
	leave     func()
}

// run serves the listener to its end.
func (l *listener) run(ctx context.Context) {
	defer l.leave()
	defer l.follower.Close()
	defer l.stream.close()
	defer func() {
		if v := recover(); v != nil {
			l.h.opts.Log.Error("panic while serving a stream of changes", "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
		}
	}()
	l.stream.timeout = l.h.opts.Events.GiveUp
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(l.h.ending, stop)()
	l.serve(ctx)
}

// retryMs is when a client should connect again.
const retryMs = "1000"

// serve sends events until the client, its token or the server ends.
func (l *listener) serve(ctx context.Context) {
	o := &l.h.opts.Events
	// The id from which to go on is there before anything has happened.
	l.stream.put(": following\nretry: " + retryMs + "\nid: " + l.ids.write(l.follower.ID()) + "\n\n")
	quiet := time.Now()
	for {
		wait := time.Until(quiet.Add(o.Heartbeat))
		if l.h.opts.Admission.Known() {
			wait = min(wait, o.Reaffirm)
		}
		next, cancel := context.WithTimeout(ctx, max(wait, time.Millisecond))
		events, err := l.follower.Next(next, l.reader)
		waited := next.Err() != nil && ctx.Err() == nil
		cancel()
		began := time.Now()
		if len(events) > 0 {
			quiet = began
			if !l.stream.putAll(l.texts(events)) {
				return
			}
		}
		switch took := time.Since(began); {
		case ctx.Err() != nil && l.h.ending.Err() == nil: // the client has left
			return
		case ctx.Err() != nil:
			l.end(fault.New(fault.ServiceUnavailable, "the server is shutting down"))
			return
		case err != nil && !waited:
			l.end(fault.From(err))
			return
		case took > o.Slow, took > o.Slow/10 && l.follower.Behind() > o.Behind:
			l.end(fault.Newf(fault.QueueOverloaded, "this listener is too slow: it took %s to take what was sent", took.Round(time.Millisecond)))
			return
		case err != nil:
			if _, err := l.reader(); err != nil {
				l.end(fault.From(err))
				return
			}
		}
		if time.Since(quiet) >= o.Heartbeat {
			quiet = time.Now()
			if !l.stream.put(l.heartbeat()) {
				return
			}
		}
	}
}

// heartbeat is a comment, and the id behind what the client was not sent because it is none of its
// business: another one each time, so that nobody sees whether there was something.
func (l *listener) heartbeat() string {
	return ": heartbeat\nid: " + l.ids.vary(l.follower.ID()) + "\n\n"
}

// texts are events as they are sent.
func (l *listener) texts(events []feed.Event) net.Buffers {
	out := make(net.Buffers, 0, 3*len(events))
	for i := range events {
		out = append(out, []byte("id: "+l.ids.write(events[i].ID())+"\nevent: change\ndata: "), events[i].Data, []byte("\n\n"))
	}
	return out
}

// end sends why the stream ends, with the id from which the client can go on.
func (l *listener) end(f *fault.Fault) {
	l.stream.put("id: " + l.ids.write(l.follower.ID()) + "\nevent: error\ndata: " + string(problem(f, f.HTTPStatus())) + "\n\n")
}

// reader is who listens, with the rights that it has now.
func (l *listener) reader() (follow.Reader, error) {
	if time.Since(l.affirmed) > l.h.opts.Events.Reaffirm/5 {
		p, f := l.h.reaffirm(l.r, l.principal)
		switch {
		case f != nil:
			return follow.Reader{}, f
		case p.Subject != l.principal.Subject:
			return follow.Reader{}, fault.New(fault.Unauthorized, "the token is another caller's now")
		}
		l.principal, l.affirmed = p, time.Now()
	}
	return follow.Reader{View: l.h.view(l.principal), Principal: l.principal}, nil
}
