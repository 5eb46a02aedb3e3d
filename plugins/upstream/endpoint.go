package upstream

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strings"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
)

// endpoint is where messages go over the older HTTP transport: the address that the server's stream names,
// always of the configured origin, since what is sent there has the token. A server behind a proxy may name the
// address that it has itself.
type endpoint struct {
	mu      sync.Mutex
	foreign string // the origin of the address that it names, if it is another one
	prefix  string // what a proxy has before its paths, once that is known
}

// named returns the address that a stream names as one of the stream's own origin.
func (e *endpoint) named(stream *url.URL, said string) string {
	u, err := stream.Parse(strings.TrimSpace(said))
	if err != nil || !strings.Contains(said, "//") {
		return said
	}
	if u.Scheme != stream.Scheme || u.Host != stream.Host {
		e.mu.Lock()
		e.foreign = u.Scheme + "://" + u.Host
		e.mu.Unlock()
	}
	return u.RequestURI()
}

// found returns the address of a message, and others that it may have, if the server does not know that
// one: below the folders of the stream's own path.
func (e *endpoint) found(u *url.URL, stream string) (at *url.URL, others []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.prefix != "" {
		moved := *u
		moved.Path, moved.RawPath = e.prefix+u.Path, ""
		return &moved, nil
	}
	for dir := path.Dir(stream); dir != "/" && dir != "."; dir = path.Dir(dir) {
		if !strings.HasPrefix(u.Path, dir+"/") {
			others = append(others, dir)
		}
	}
	return u, others
}

// why adds to the reason why the server does not take messages that it has named another one for them.
func (e *endpoint) why(err error, origin *url.URL) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	var status *statusError
	if e.foreign == "" || errors.As(err, new(*sessionGone)) || !errors.As(err, &status) {
		return err
	}
	noted := *status
	noted.note = fmt.Sprintf("it wants messages to be sent to %s, which is another server than its url, and they are sent to %s://%s alone: give the address at which it can be reached as its url", plainText(e.foreign, 200), origin.Scheme, origin.Host)
	return &noted
}

// message sends a message over the older HTTP transport.
func (t *roundTripper) message(req *http.Request) (*http.Response, error) {
	at, others := t.endpoint.found(req.URL, t.stream())
	req.URL = at
	resp, err := t.next.RoundTrip(req)
	if err != nil || !unknownPath(resp) || len(others) == 0 || t.askedBy(req).method != string(mcp.MethodInitialize) {
		return resp, err
	}
	for _, prefix := range others {
		body, err := req.GetBody()
		if err != nil {
			return resp, nil //nolint:nilerr // what the server said counts
		}
		again := req.Clone(req.Context())
		again.Body = body
		again.URL.Path, again.URL.RawPath = prefix+req.URL.Path, ""
		other, err := t.next.RoundTrip(again)
		if err != nil {
			continue
		}
		if unknownPath(other) {
			_ = other.Body.Close()
			continue
		}
		_ = resp.Body.Close()
		t.endpoint.mu.Lock()
		t.endpoint.prefix = prefix
		t.endpoint.mu.Unlock()
		return other, nil
	}
	return resp, nil
}

// unknownPath reports whether nobody takes messages at an address.
func unknownPath(resp *http.Response) bool {
	return resp.StatusCode == http.StatusNotFound || resp.StatusCode == http.StatusMethodNotAllowed
}

// stream returns the path of the stream of events.
func (t *roundTripper) stream() string {
	p, _ := t.streamPath.Load().(string)
	return p
}

// checkRedirect follows redirects on the configured server only: the headers and the token are for it. One to
// the same host without TLS, as a server sends that does not know of the proxy before it, stays with TLS.
func checkRedirect(to *http.Request, via []*http.Request) error {
	first := via[0].URL
	if first.Scheme == "https" && to.URL.Scheme == "http" && first.Hostname() == to.URL.Hostname() && (to.URL.Port() == "" || to.URL.Port() == "80" || to.URL.Port() == first.Port()) {
		to.URL.Scheme, to.URL.Host = first.Scheme, first.Host
		to.Host = ""
	}
	if to.URL.Scheme != first.Scheme || to.URL.Host != first.Host {
		return fmt.Errorf("it redirects to another server, %s: give that as its url, if it is the one that is meant", plainText(to.URL.Scheme+"://"+to.URL.Host, 200))
	}
	if len(via) >= 5 {
		return errors.New("it redirects in circles")
	}
	return nil
}
