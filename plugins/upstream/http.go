package upstream

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/koan-go/koan/plugins/upstream/internal/signin"
)

// statusError is an HTTP response that rejects a request.
type statusError struct {
	status     int
	retryAfter time.Duration // 0 is unknown
	body       string        // its words, or its beginning
	note       string        // what else is known of it
	challenge  signin.Challenge
}

func (e *statusError) Error() string {
	text := fmt.Sprintf("it answered with HTTP status %d", e.status)
	if name := http.StatusText(e.status); name != "" {
		text += " (" + name + ")"
	}
	if e.body != "" {
		text += ": " + e.body
	}
	if e.note != "" {
		text += "; " + e.note
	}
	return text
}

// tokenError says that there is no token for a request, which was not sent.
type tokenError struct{ err error }

func (e *tokenError) Error() string { return e.err.Error() }

func (e *tokenError) Unwrap() error { return e.err }

// roundTripper adds the configured headers and the token, turns rejections into errors with
// their reason, and bounds responses.
type roundTripper struct {
	headers map[string]string
	secrets secrets
	events  bool                     // answers come as events of a stream that the client opened before
	waiting func(text []byte) string // the id of the request that an error without one is about, "" if that is not known
	unread  func(id string, why error)
	stray   func(message []byte) bool                      // reports whether an answer on a stream of all requests is none of theirs; nil: none is
	request func(ctx context.Context, message []byte) bool // takes a request of the server; nil leaves them to the client library
	opened  func()                                         // is told that the stream of the server's notifications is open
	next    http.RoundTripper

	endpoint   endpoint     // of messages over the older HTTP transport
	streamPath atomic.Value // of its stream of events, a string
}

// newHTTPClient makes the client of a connection; nil is for a single request.
func newHTTPClient(headers map[string]string, hidden secrets, conn *connection) *http.Client {
	next := http.DefaultTransport.(*http.Transport).Clone()
	next.MaxResponseHeaderBytes = 64 << 10
	t := &roundTripper{headers: headers, secrets: hidden, waiting: func([]byte) string { return "" }, unread: func(string, error) {}, opened: func() {}, next: next}
	if conn != nil {
		t.events, t.waiting, t.unread, t.stray = conn.way.events, conn.requests.ownerOf, conn.requests.unreadable, conn.stray
		t.opened = conn.subscribed
		if t.events {
			t.request = conn.takeRequest
		}
	}
	return &http.Client{Transport: t, CheckRedirect: checkRedirect}
}

// RoundTrip implements http.RoundTripper. If the server rejects the token, the request is
// repeated with a refreshed one: it has had no effect.
func (t *roundTripper) RoundTrip(req *http.Request) (*http.Response, error) {
	if t.secrets.tokens == nil {
		return t.send(req, "")
	}
	token, err := t.secrets.tokens.Token(req.Context())
	if err != nil {
		if req.Body != nil {
			_ = req.Body.Close()
		}
		return nil, &tokenError{err}
	}
	resp, err := t.send(req, token)
	var status *statusError
	if errors.As(err, new(*sessionGone)) || !errors.As(err, &status) || status.status != http.StatusUnauthorized || req.Body != nil && req.GetBody == nil {
		return resp, err
	}
	fresh, err := t.secrets.tokens.Renew(req.Context(), token)
	if err != nil {
		return nil, &tokenError{err}
	}
	again := req.Clone(req.Context())
	if req.GetBody != nil {
		if again.Body, err = req.GetBody(); err != nil {
			return nil, err
		}
	}
	return t.send(again, fresh)
}

// send sends a request with a token, "" for none.
func (t *roundTripper) send(req *http.Request, token string) (*http.Response, error) {
	req = req.Clone(req.Context())
	for name, value := range t.headers {
		req.Header.Set(name, value)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	if t.events && req.Method == http.MethodPost {
		resp, err := t.message(req)
		if err == nil {
			resp, err = t.receive(req, resp)
		}
		return resp, t.endpoint.why(err, req.URL)
	}
	if t.events {
		t.streamPath.Store(req.URL.Path)
	}
	resp, err := t.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if req.Method == http.MethodGet && !t.events && resp.StatusCode == http.StatusOK {
		t.opened()
	}
	return t.receive(req, resp)
}

// retryAfter reads seconds or a date.
func retryAfter(text string) time.Duration {
	if n, err := strconv.Atoi(text); err == nil && n >= 0 && n < 1<<31 {
		return time.Duration(n) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, time.Until(at).Round(time.Second))
	}
	return 0
}
