package upstream_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/koantest"
)

// proxied is a proxy before an odd server over the older HTTP transport. It serves that below a prefix, and
// changes what the server says in its first event.
func proxied(t *testing.T, prefix string, named func(proxy *httptest.Server, said string) string) *httptest.Server {
	t.Helper()
	to, err := url.Parse(overSSE(t, &oddServer{way: oddWays["its id is a string"]}, http.StatusMethodNotAllowed))
	require.NoError(t, err)
	var front *httptest.Server
	proxy := &httputil.ReverseProxy{
		FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(to)
			r.Out.URL.Path = strings.TrimPrefix(r.In.URL.Path, prefix)
		},
		ModifyResponse: func(resp *http.Response) error {
			if resp.Request.Method == http.MethodGet {
				resp.Body = &firstEvent{ReadCloser: resp.Body, change: func(said string) string { return named(front, said) }}
			}
			return nil
		},
	}
	front = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, prefix+"/") {
			http.NotFound(w, r)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(func() { front.CloseClientConnections(); front.Close() })
	return front
}

// firstEvent is a stream whose first part is changed.
type firstEvent struct {
	io.ReadCloser
	change func(string) string
	done   bool
}

func (f *firstEvent) Read(b []byte) (int, error) {
	if f.done {
		return f.ReadCloser.Read(b)
	}
	f.done = true
	n, err := f.ReadCloser.Read(b)
	return copy(b, f.change(string(b[:n]))), err
}

// Servers behind proxies do not know the addresses that they have there.
func TestMessagesGoToTheConfiguredServer(t *testing.T) {
	t.Parallel()
	var stolen atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { stolen.Add(1) }))
	t.Cleanup(other.Close)
	for name, c := range map[string]struct {
		prefix string
		named  func(proxy *httptest.Server, said string) string
	}{
		"below a prefix that it does not know": {"/mcp/odd", func(_ *httptest.Server, said string) string { return said }},
		"below a prefix that it knows": {"/mcp/odd", func(_ *httptest.Server, said string) string {
			return strings.Replace(said, "/messages", "/mcp/odd/messages", 1)
		}},
		"with a relative address": {"/mcp/odd", func(_ *httptest.Server, said string) string { return strings.Replace(said, "/messages", "messages", 1) }},
		"with its own name in the house": {"", func(_ *httptest.Server, said string) string {
			return strings.Replace(said, "/messages", "http://mcp.internal:8000/messages", 1)
		}},
		"with a name of somebody else": {"", func(_ *httptest.Server, said string) string {
			return strings.Replace(said, "/messages", other.URL+"/messages", 1)
		}},
		"with another scheme": {"", func(p *httptest.Server, said string) string {
			return strings.Replace(said, "/messages", strings.Replace(p.URL, "http:", "https:", 1)+"/messages", 1)
		}},
		"with a name in the house and a prefix": {"/odd", func(_ *httptest.Server, said string) string {
			return strings.Replace(said, "/messages", "http://mcp.internal:8000/messages", 1)
		}},
		"with an address that has no scheme": {"", func(_ *httptest.Server, said string) string {
			return strings.Replace(said, "/messages", "//mcp.internal:8000/messages", 1)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kit := koantest.New(t, framework.App{Name: "proxied"}, settingsOf(t, []row{{id: "x", url: proxied(t, c.prefix, c.named).URL + c.prefix + "/sse", settings: map[string]string{"headers.Authorization": "Bearer blue-parrot", "transport": "sse"}}})...)
			require.JSONEq(t, `"done"`, string(kit.Run(callsWork, koantest.Input{}).Result))
		})
	}
	t.Run("that do not take them there", func(t *testing.T) {
		t.Parallel()
		front := proxied(t, "", func(_ *httptest.Server, said string) string {
			return strings.Replace(said, "/messages", other.URL+"/elsewhere", 1)
		})
		kit := koantest.New(t, framework.App{Name: "proxied"}, settingsOf(t, []row{{id: "x", url: front.URL + "/sse", settings: map[string]string{"headers.Authorization": "Bearer blue-parrot", "transport": "sse"}}})...)
		got := kit.Try(callsWork, koantest.Input{}).Error
		require.Equal(t, fault.ServiceUnavailable, got.Code)
		require.Contains(t, got.Message, "it wants messages to be sent to "+other.URL+", which is another server than its url")
	})
	t.Cleanup(func() { require.Zero(t, stolen.Load(), "nothing is sent to another server") })
}

// Redirects are followed on the same server, with the message, and to no other.
func TestRedirectsOfServers(t *testing.T) {
	t.Parallel()
	var stolen atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { stolen.Add(1) }))
	t.Cleanup(other.Close)
	for name, serve := range map[string]func(*testing.T, *oddServer) string{
		"Streamable HTTP": overHTTP,
		"the older transport": func(t *testing.T, s *oddServer) string {
			t.Helper()
			return overSSE(t, s, http.StatusMethodNotAllowed)
		},
	} {
		for _, status := range []int{http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
			t.Run(name+", "+http.StatusText(status), func(t *testing.T) {
				t.Parallel()
				to, err := url.Parse(serve(t, &oddServer{way: oddWays["its id is a string"]}))
				require.NoError(t, err)
				proxy := &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
					r.SetURL(to)
					r.Out.URL.Path = strings.TrimSuffix(r.In.URL.Path, "/")
				}}
				front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					switch {
					case strings.HasPrefix(r.URL.Path, "/away"):
						http.Redirect(w, r, other.URL, status)
					case !strings.HasSuffix(r.URL.Path, "/"): // as many frameworks do
						http.Redirect(w, r, r.URL.Path+"/?"+r.URL.RawQuery, status)
					default:
						proxy.ServeHTTP(w, r)
					}
				}))
				t.Cleanup(func() { front.CloseClientConnections(); front.Close() })
				settings := map[string]string{"headers.Authorization": "Bearer blue-parrot"}
				kit := koantest.New(t, framework.App{Name: "redirected"}, settingsOf(t, []row{{id: "x", url: front.URL + "/sse", settings: settings}, {id: "y", url: front.URL + "/away", settings: settings}})...)
				require.JSONEq(t, `"done"`, string(kit.Run(callsWork, koantest.Input{}).Result))
				got := kit.Try(`SDK.Servers.y.work({})`, koantest.Input{}).Error
				require.Contains(t, got.Message, "it redirects to another server, "+other.URL+": give that as its url")
			})
		}
	}
	t.Cleanup(func() { require.Zero(t, stolen.Load(), "nothing is sent to another server") })
}
