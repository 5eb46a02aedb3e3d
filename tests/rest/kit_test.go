// Package rest tests the REST API of whole apps: its routes, what it has in common with tools,
// scripts and the command line, its OpenAPI document, and attacks.
package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	_ "github.com/koan-go/koan/codemode/languages"
	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/plugins/kit"
	"github.com/koan-go/koan/sample-pantrypal/app"
	"github.com/koan-go/koan/tests/fixture"
	"github.com/koan-go/koan/tests/pgtest"
	"github.com/koan-go/koan/tests/shop"
)

// as makes this test binary an app.
const as = "KOANTEST_REST"

var apps = map[string]func() framework.App{"fixture": fixtureApp, "pantrypal": pantryPal}

// described are apps whose OpenAPI documents are looked at.
var described = map[string]func() framework.App{"fixture": fixtureApp, "pantrypal": pantryPal, "shop": shop.App}

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == chorus {
		kit.Serve(chorusPlugin())
	}
	for _, known := range []map[string]func() framework.App{described, withFunctions, {"words": wordsApp}} {
		if app := known[os.Getenv(as)]; app != nil {
			framework.Main(app())
		}
	}
	os.Exit(m.Run())
}

// fixtureApp is the fixture with an action in Go.
func fixtureApp() framework.App {
	a := fixture.App()
	a.GoActions = append(a.GoActions, framework.Action("greet", "Greets somebody.", greet))
	return a
}

func pantryPal() framework.App {
	return framework.App{Name: "pantrypal", Description: "What is in the house.", Entities: app.New().Entities}
}

// server is an app that serves HTTP in this process.
type server struct {
	t      testing.TB
	kit    *koantest.Kit
	url    string
	http   *httptest.Server
	routes *framework.HTTP
}

func serve(t testing.TB, app framework.App, o framework.HTTPOptions, settings ...koantest.Setting) *server {
	t.Helper()
	if pgtest.Here(t) {
		settings = append([]koantest.Setting{{Key: "database", Value: pgtest.Place(t)}, {Key: "files.dir", Value: t.TempDir()}}, settings...)
	}
	return mount(t, koantest.New(t, app, settings...), o)
}

// mount serves an app that runs.
func mount(t testing.TB, kit *koantest.Kit, o framework.HTTPOptions) *server {
	t.Helper()
	routes, err := kit.Instance().HTTPHandler(o)
	require.NoError(t, err)
	s := httptest.NewServer(routes)
	t.Cleanup(func() { routes.Shutdown(context.Background()); s.Close() })
	return &server{t: t, kit: kit, url: s.URL, http: s, routes: routes}
}

// reply is a response.
type reply struct {
	t      testing.TB
	status int
	header http.Header
	body   []byte
}

// do sends a request; a body is JSON unless a header says otherwise.
func (s *server) do(method, path, body string, header ...string) reply {
	s.t.Helper()
	var sent io.Reader
	if body != "" {
		sent = strings.NewReader(body)
	}
	r, err := http.NewRequest(method, s.url+path, sent)
	require.NoError(s.t, err)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			r.Host = header[i+1]
		} else {
			r.Header.Set(header[i], header[i+1])
		}
	}
	resp, err := http.DefaultTransport.RoundTrip(r) // no redirects
	require.NoError(s.t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(s.t, err)
	return reply{s.t, resp.StatusCode, resp.Header, text}
}

// object is the body of a response with this status.
func (r reply) object(status int) map[string]any {
	r.t.Helper()
	require.Equal(r.t, status, r.status, "%s", r.body)
	var out map[string]any
	d := json.NewDecoder(bytes.NewReader(r.body))
	require.NoError(r.t, d.Decode(&out), "%s", r.body)
	return out
}

// problem checks that a response is one, and returns its code and path.
func (r reply) problem(status int) (code, path string) {
	r.t.Helper()
	p := r.object(status)
	require.Equal(r.t, "application/problem+json", r.header.Get("Content-Type"))
	require.EqualValues(r.t, status, p["status"])
	for _, member := range []string{"type", "title", "detail", "code", "message", "hint", "retry"} {
		require.NotEmpty(r.t, p[member], "%s: %s", member, r.body)
	}
	path, _ = p["path"].(string)
	return p["code"].(string), path
}
