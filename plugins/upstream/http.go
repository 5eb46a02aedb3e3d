package upstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"time"

	"github.com/koan-go/koan/plugins/upstream/internal/signin"
)

// statusError is an HTTP response that rejects a request.
type statusError struct {
	status     int
	retryAfter time.Duration // 0 is unknown
	body       string        // its beginning
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
	next    http.RoundTripper
}

func newHTTPClient(headers map[string]string, hidden secrets) *http.Client {
	next := http.DefaultTransport.(*http.Transport).Clone()
	next.MaxResponseHeaderBytes = 64 << 10
	return &http.Client{
		Transport: &roundTripper{headers: headers, secrets: hidden, next: next},
		// The headers are only for the configured server.
		CheckRedirect: func(to *http.Request, via []*http.Request) error {
			if first := via[0].URL; to.URL.Scheme != first.Scheme || to.URL.Host != first.Host {
				return fmt.Errorf("it redirects to another server, %s", to.URL.Host)
			}
			if len(via) >= 5 {
				return errors.New("it redirects in circles")
			}
			return nil
		},
	}
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
	if !errors.As(err, &status) || status.status != http.StatusUnauthorized || req.Body != nil && req.GetBody == nil {
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
	resp, err := t.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	switch s := resp.StatusCode; {
	case s == http.StatusUnauthorized, s == http.StatusForbidden, s == http.StatusTooManyRequests, s >= http.StatusInternalServerError:
		defer resp.Body.Close()
		const most = 2 << 10
		raw, _ := io.ReadAll(io.LimitReader(resp.Body, most))
		return nil, &statusError{
			status: s, retryAfter: retryAfter(resp.Header.Get("Retry-After")), body: plainText(t.secrets.redact(string(raw)), 300), challenge: signin.ParseChallenge(resp.Header),
		}
	}
	resp.Body = bounded(req.Context(), resp)
	return resp, nil
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

// body is a response's body that can be closed and is bounded.
type body struct {
	io.Reader
	io.Closer
}

// bounded bounds a body as a whole, and a stream of events line by line.
func bounded(ctx context.Context, resp *http.Response) io.ReadCloser {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if kind == "text/event-stream" {
		return body{&limitedBody{ctx, &lineReader{from: resp.Body, done: make(chan struct{})}}, resp.Body}
	}
	return body{&limitedBody{ctx, http.MaxBytesReader(nil, resp.Body, maxMessage)}, resp.Body}
}

// limitedBody records in the answer of a call that the body was too long or too deep, since the client
// library ignores such errors.
type limitedBody struct {
	ctx  context.Context
	from io.Reader
}

func (l *limitedBody) Read(b []byte) (int, error) {
	got, err := l.from.Read(b)
	var tooLong *http.MaxBytesError
	lines, _ := l.from.(*lineReader)
	switch {
	case errors.As(err, &tooLong) || err != nil && lines != nil && errors.Is(lines.err, errMessageTooLong):
		err = errMessageTooLong
	case err != nil && lines != nil && errors.Is(lines.err, errTooDeep):
		err = errTooDeep
	default:
		return got, err
	}
	if a := answerOf(l.ctx); a != nil {
		a.fail(err)
	}
	return got, err
}
