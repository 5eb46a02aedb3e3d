package egress

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestParse(t *testing.T) {
	t.Parallel()
	hosts, err := Parse([]string{"API.weather.example:443", "[::1]:80", "127.0.0.1:8080"})
	require.NoError(t, err)
	require.Equal(t, Hosts{"api.weather.example:443": true, "[::1]:80": true, "127.0.0.1:8080": true}, hosts)
	for _, wrong := range []string{"", "weather.example", ":443", "weather.example:", "weather.example:0", "weather.example:65536", "https://weather.example:443", "*.example:443", "a b:1"} {
		_, err := Parse([]string{wrong})
		require.ErrorContains(t, err, fmt.Sprintf("%q", wrong))
	}
}

// serving starts a proxy for some hosts, and returns a client that goes through it, and its log.
func serving(t *testing.T, hosts ...string) (*Proxy, *http.Client, func() string) {
	t.Helper()
	list, err := Parse(hosts)
	require.NoError(t, err)
	var log lines
	p := New("weather", list, slog.New(slog.NewTextHandler(&log, nil)))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	served := make(chan error, 1)
	go func() { served <- p.Serve(l) }()
	t.Cleanup(func() {
		require.NoError(t, p.Close())
		require.NoError(t, <-served)
	})
	proxy := &url.URL{Scheme: "http", Host: l.Addr().String()}
	return p, &http.Client{Transport: &http.Transport{Proxy: func(*http.Request) (*url.URL, error) { return proxy, nil }}}, log.String
}

// address is where a client finds its proxy.
func address(t *testing.T, c *http.Client) string {
	t.Helper()
	proxy, err := c.Transport.(*http.Transport).Proxy(nil)
	require.NoError(t, err)
	return proxy.Host
}

type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func echo(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	fmt.Fprintf(w, "%s %s %s %q", r.Method, r.Host, body, r.Header["X-Forwarded-For"])
}

func TestHostsOfTheListAreReached(t *testing.T) {
	t.Parallel()
	plain, secure := httptest.NewServer(http.HandlerFunc(echo)), httptest.NewTLSServer(http.HandlerFunc(echo))
	defer plain.Close()
	defer secure.Close()
	_, client, _ := serving(t, plain.Listener.Addr().String(), secure.Listener.Addr().String())
	client.Transport.(*http.Transport).TLSClientConfig = secure.Client().Transport.(*http.Transport).TLSClientConfig
	for _, s := range []*httptest.Server{plain, secure} {
		r, err := client.Post(s.URL+"/x", "text/plain", strings.NewReader("hello"))
		require.NoError(t, err)
		body, err := io.ReadAll(r.Body)
		require.NoError(t, err)
		require.NoError(t, r.Body.Close())
		require.Equal(t, fmt.Sprintf("POST %s hello []", s.Listener.Addr()), string(body))
	}
}

func TestOtherHostsAreRefused(t *testing.T) {
	t.Parallel()
	var reached bool
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
	defer other.Close()
	secure := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
	defer secure.Close()
	address := other.Listener.Addr().String()
	_, port, _ := net.SplitHostPort(address)
	_, client, log := serving(t, "127.0.0.1:1", "localhost:"+port)
	for range 2 {
		r, err := client.Get(other.URL)
		require.NoError(t, err)
		body, err := io.ReadAll(r.Body)
		require.NoError(t, err)
		require.NoError(t, r.Body.Close())
		require.Equal(t, http.StatusForbidden, r.StatusCode)
		require.Equal(t, address+" is not in plugins.weather.hosts of the app's configuration\n", string(body))
	}
	_, err := client.Get(secure.URL)
	require.ErrorContains(t, err, "Forbidden")
	require.False(t, reached)
	require.Equal(t, 1, strings.Count(log(), "host="+address), log())
}

// A request that names one host in its line and another in its header goes where its line says, or nowhere.
func TestTheLineOfARequestDecides(t *testing.T) {
	t.Parallel()
	named := httptest.NewServer(http.HandlerFunc(echo))
	defer named.Close()
	other := httptest.NewServer(http.HandlerFunc(echo))
	defer other.Close()
	_, client, _ := serving(t, named.Listener.Addr().String())
	for _, first := range []string{
		"GET " + other.URL + "/ HTTP/1.1\r\nHost: " + named.Listener.Addr().String(),
		"GET / HTTP/1.1\r\nHost: " + named.Listener.Addr().String(),
		"CONNECT " + other.Listener.Addr().String() + " HTTP/1.1\r\nHost: " + named.Listener.Addr().String(),
		"CONNECT nonsense HTTP/1.1\r\nHost: " + named.Listener.Addr().String(),
		"GET ftp://" + named.Listener.Addr().String() + "/ HTTP/1.1\r\nHost: x",
	} {
		c, err := net.Dial("tcp", address(t, client))
		require.NoError(t, err)
		require.NoError(t, c.SetDeadline(time.Now().Add(10*time.Second)))
		_, err = io.WriteString(c, first+"\r\nConnection: close\r\n\r\n")
		require.NoError(t, err)
		answer, err := io.ReadAll(c)
		require.NoError(t, err)
		require.NoError(t, c.Close())
		require.Regexp(t, "^HTTP/1.1 40[03] ", string(answer), first)
	}
}

func TestCloseEndsWhatIsCarried(t *testing.T) {
	t.Parallel()
	host, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer host.Close()
	p, client, _ := serving(t, host.Addr().String())
	c, err := net.Dial("tcp", address(t, client))
	require.NoError(t, err)
	defer c.Close()
	require.NoError(t, c.SetDeadline(time.Now().Add(10*time.Second)))
	_, err = fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\n\r\n", host.Addr())
	require.NoError(t, err)
	answer := make([]byte, len("HTTP/1.1 200 Connection established\r\n\r\n"))
	_, err = io.ReadFull(c, answer)
	require.NoError(t, err)
	far, err := host.Accept()
	require.NoError(t, err)
	defer far.Close()
	require.NoError(t, p.Close())
	_, err = c.Read(answer)
	require.Error(t, err)
	require.NotErrorIs(t, err, os.ErrDeadlineExceeded)
	require.NoError(t, far.SetDeadline(time.Now().Add(10*time.Second)))
	_, err = far.Read(answer)
	require.Error(t, err)
	require.NotErrorIs(t, err, os.ErrDeadlineExceeded)
}

// FuzzHosts: what is read as a host is reached by no other name.
func FuzzHosts(f *testing.F) {
	for _, s := range []string{"a:1", "[::1]:443", "A.b.:80", ":1", "a:b:c", "a@b:1", "*:1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		hosts, err := Parse([]string{text})
		if err != nil {
			return
		}
		require.Len(t, hosts, 1)
		for h := range hosts {
			again, err := Parse([]string{h})
			require.NoError(t, err)
			require.Equal(t, hosts, again)
		}
	})
}
