package upstream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/koan-go/koan/plugins/upstream/internal/signin"
)

// sessionGone says that the server does not know the session of a request, which has had no effect.
type sessionGone struct{ err error }

func (e *sessionGone) Error() string { return e.err.Error() }

func (e *sessionGone) Unwrap() error { return e.err }

// aboutSession matches what servers say of a session that they do not know, or of a client that has
// not introduced itself to them.
var aboutSession = regexp.MustCompile(`(?i)\bsession\b.{0,80}\b(not found|not exist|not valid|invalid|expired|unknown|terminated|closed|missing|required|no longer)|\b(no|in ?valid|unknown|expired|missing|bad|find|recogni[sz]e|no transport found for)( \w+)? session|not (been )?initiali[sz]ed|initialize (request|first)|before initiali[sz]ation`)

// asked is the request that a response is for.
type asked struct {
	id, method string
	session    bool // it is one of a session that the server may have forgotten
}

// askedBy returns what an HTTP request asks for. It is empty for one that is not a JSON-RPC request.
func (t *roundTripper) askedBy(req *http.Request) (a asked) {
	a.session = req.Header.Get("Mcp-Session-Id") != ""
	if req.Method != http.MethodPost || req.GetBody == nil {
		return a
	}
	body, err := req.GetBody()
	if err != nil {
		return a
	}
	defer body.Close()
	var e struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	if json.NewDecoder(body).Decode(&e) == nil && e.Method != "" {
		a.id, a.method = string(e.ID), e.Method
		a.session = (a.session || t.events) && e.Method != string(mcp.MethodInitialize)
	}
	return a
}

// receive returns a response as the client library reads it, or why it is none.
func (t *roundTripper) receive(req *http.Request, resp *http.Response) (*http.Response, error) {
	a := t.askedBy(req)
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch {
	case resp.StatusCode >= http.StatusBadRequest && (req.Method == http.MethodPost || rejects(resp.StatusCode)):
		return t.rejected(a, resp)
	case resp.StatusCode >= http.StatusMultipleChoices || req.Method == http.MethodDelete:
		return resp, nil
	case kind == "text/event-stream":
		events := &eventReader{lines: newLines(resp.Body), from: resp.Body, ctx: req.Context(), owner: t.waiting, unread: t.unread, request: t.request, stray: t.stray}
		if t.events {
			events.endpoint = func(said string) string { return t.endpoint.named(req.URL, said) }
		}
		if a.id != "" {
			events.owner = func([]byte) string { return a.id }
			events.stray = func(message []byte) bool {
				why := misdirected(message, a.id)
				if why != nil {
					t.unread(a.id, why)
				}
				return why != nil
			}
		}
		resp.Body = events
		return resp, nil
	case a.id == "" || t.events: // a notification, or a request whose answer comes as an event
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(resp.Body, maxMessage), resp.Body}
		return resp, nil
	}
	return t.answered(req, a, resp, kind)
}

// rejects reports whether a status is an error of every request, also of one for a stream that a server
// need not have.
func rejects(status int) bool {
	return status == http.StatusUnauthorized || status == http.StatusForbidden || status == http.StatusTooManyRequests || status >= http.StatusInternalServerError
}

// rejected makes an error, or the answer of JSON-RPC, from a response with a status of an error.
func (t *roundTripper) rejected(a asked, resp *http.Response) (*http.Response, error) {
	defer resp.Body.Close()
	const most = 64 << 10
	raw, _ := io.ReadAll(io.LimitReader(resp.Body, most)) // what came of it is enough
	s := resp.StatusCode
	e := &statusError{status: s, retryAfter: retryAfter(resp.Header.Get("Retry-After")), challenge: signin.ParseChallenge(resp.Header)}
	words := string(raw)
	found := readMessages(raw, a.id)
	if found != nil {
		var m struct {
			Error struct{ Message string }
		}
		if json.Unmarshal(found[0], &m) == nil && m.Error.Message != "" {
			words = m.Error.Message
		}
	} else if json.Valid(raw) {
		words = wordsOf(raw)
	}
	e.body = plainText(t.secrets.redact(words), 300)
	switch {
	case a.session && (s == http.StatusBadRequest || s == http.StatusNotFound || s == http.StatusGone || aboutSession.MatchString(words)):
		return nil, &sessionGone{e}
	case found == nil, a.id == "", a.method == string(mcp.MethodInitialize), rejects(s):
		return nil, e
	}
	return t.with(resp, "application/json", found[0]), nil
}

// answered is the response to a request that came in one piece.
func (t *roundTripper) answered(req *http.Request, a asked, resp *http.Response, kind string) (*http.Response, error) {
	defer resp.Body.Close()
	raw, err := io.ReadAll(http.MaxBytesReader(nil, resp.Body, maxMessage))
	if errors.As(err, new(*http.MaxBytesError)) {
		return nil, fail(req.Context(), errMessageTooLong)
	}
	if err != nil {
		return nil, fail(req.Context(), &explained{text: errResponseCut.Error(), err: errors.Join(errResponseCut, err)})
	}
	found := readMessages(raw, a.id)
	if found == nil {
		found, _, _ = messagesWithin(raw, a.id)
	}
	for i := 0; i < len(found); {
		if why := misdirected(found[i], a.id); why == nil {
			i++
		} else if found = slices.Delete(found, i, i+1); len(found) == 0 {
			return nil, fail(req.Context(), why)
		}
	}
	if len(found) == 1 {
		return t.with(resp, "application/json", found[0]), nil
	}
	if len(found) > 1 { // a batch
		var events bytes.Buffer
		for _, m := range found {
			fmt.Fprintf(&events, "data: %s\n\n", m)
		}
		return t.with(resp, "text/event-stream", events.Bytes()), nil
	}
	return nil, fail(req.Context(), t.unlike(resp, kind, raw))
}

// unlike says what an answer is that has no message.
func (t *roundTripper) unlike(resp *http.Response, kind string, raw []byte) error {
	text := bytes.TrimSpace(raw)
	var s shape
	s.take(text)
	switch {
	case len(text) == 0:
		return fmt.Errorf("it answered with HTTP status %d and nothing else, in place of JSON or a stream of events", resp.StatusCode)
	case json.Valid(text) && len(s.id) > 0 && bytes.Contains(text, []byte(`"jsonrpc"`)):
		return errNoResult
	case json.Valid(text):
		return errors.New("it answered with something that is not a message: " + plainText(t.secrets.redact(wordsOf(text)), 300))
	case s.deepest > maxNested:
		return errTooDeep
	case kind == "application/json" || text[0] == '{':
		return errNotJSON
	case kind == "":
		return errors.New("it answered without a content type, in place of JSON or a stream of events")
	case strings.HasPrefix(kind, "text/") && kind != "text/html":
		return errors.New("it answered with " + plainText(kind, 100) + ", in place of JSON or a stream of events: " + plainText(t.secrets.redact(string(raw)), 300))
	}
	return errors.New("it answered with " + plainText(kind, 100) + ", in place of JSON or a stream of events")
}

// fail records why there is no answer in the call that waits for it, since the client library passes
// on other words.
func fail(ctx context.Context, err error) error {
	if a := answerOf(ctx); a != nil {
		a.fail(err)
	}
	return err
}

// with returns a response with another body.
func (t *roundTripper) with(resp *http.Response, kind string, body []byte) *http.Response {
	out := *resp
	out.StatusCode, out.Status = http.StatusOK, ""
	out.Header = resp.Header.Clone()
	out.Header.Set("Content-Type", kind)
	out.Header.Del("Content-Length")
	out.ContentLength = int64(len(body))
	out.Body = io.NopCloser(bytes.NewReader(body))
	return &out
}

// eventReader is a stream of events whose messages are in the form that the client library reads. It
// ends where an event is too long or too deep, and the call that waits for it learns why.
type eventReader struct {
	lines *lineReader
	from  io.Closer
	ctx   context.Context
	owner func(text []byte) string
	// unread is called with the id of a message that cannot be read, and why.
	unread func(id string, why error)
	// endpoint returns the address for messages that the server names as one that is used; nil leaves it.
	endpoint func(said string) string
	// stray reports whether a message is an answer to something else, which is skipped; nil for none.
	stray func(message []byte) bool
	// request takes a message if it is a request of the server; nil takes none.
	request func(ctx context.Context, message []byte) bool

	fields []byte // of the event under way, but its data
	data   []byte
	name   string
	any    bool // it has data
	ready  []byte
	err    error
}

// Close implements io.Closer.
func (r *eventReader) Close() error { return r.from.Close() }

// Read implements io.Reader.
func (r *eventReader) Read(b []byte) (int, error) {
	for len(r.ready) == 0 {
		if r.err != nil {
			return 0, r.err
		}
		line, err := r.lines.next()
		switch {
		case err == nil && len(line) > 0:
			err = r.take(line)
		case err == nil, r.any && errors.Is(err, io.EOF):
			if wrong := r.end(); wrong != nil {
				err = wrong
			}
		}
		if r.err = err; errors.Is(err, errMessageTooLong) || errors.Is(err, errTooDeep) {
			r.err = io.EOF // the client library would log it
			_ = fail(r.ctx, err)
		}
	}
	n := copy(b, r.ready)
	r.ready = r.ready[n:]
	return n, nil
}

// take reads a line of an event.
func (r *eventReader) take(line []byte) error {
	line = bytes.TrimPrefix(line, byteOrderMark)
	value, isData := bytes.CutPrefix(line, []byte("data:"))
	if !isData {
		if name, ok := bytes.CutPrefix(line, []byte("event:")); ok {
			r.name = string(bytes.TrimSpace(name))
		}
		r.fields = append(append(r.fields, line...), '\n')
		return nil
	}
	if r.any {
		r.data = append(r.data, '\n')
	}
	if r.data = append(r.data, bytes.TrimPrefix(value, []byte(" "))...); len(r.data) > maxMessage {
		return errMessageTooLong
	}
	r.any = true
	return nil
}

// end passes the event on that the lines have made.
func (r *eventReader) end() error {
	defer func() { r.fields, r.data, r.name, r.any = r.fields[:0], r.data[:0], "", false }()
	var found [][]byte
	if r.any && r.name == "endpoint" && r.endpoint != nil {
		r.data = []byte(r.endpoint(string(r.data)))
	}
	if r.any && r.name != "endpoint" {
		if found = readMessages(r.data, r.owner(r.data)); found == nil {
			found, _, _ = messagesWithin(r.data, r.owner(r.data))
		}
		if found == nil {
			var s shape
			s.take(r.data)
			switch {
			case s.deepest > maxNested:
				return errTooDeep
			case len(s.id) > 0 && !json.Valid(r.data):
				r.unread(string(s.id), errNotJSON)
			}
		}
	}
	if r.stray != nil && len(found) > 0 {
		if found = slices.DeleteFunc(found, r.stray); len(found) == 0 {
			return nil
		}
	}
	if r.request != nil && len(found) > 0 {
		if found = slices.DeleteFunc(found, func(m []byte) bool { return r.request(r.ctx, m) }); len(found) == 0 {
			return nil
		}
	}
	r.ready = append(r.ready, r.fields...)
	if len(found) == 0 && r.any {
		found = [][]byte{bytes.ReplaceAll(r.data, []byte("\n"), []byte("\ndata: "))}
	}
	for i, m := range found {
		if i > 0 {
			r.ready = append(r.ready, "\n\n"...)
		}
		r.ready = append(append(r.ready, "data: "...), m...)
	}
	if len(found) > 0 {
		r.ready = append(r.ready, '\n')
	}
	r.ready = append(r.ready, '\n')
	return nil
}
