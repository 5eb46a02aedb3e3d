package upstream

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/plugins/internal/queue"
	"github.com/koan-go/koan/plugins/upstream/internal/authtest"
	"github.com/koan-go/koan/plugins/upstream/internal/signin"
)

// callBy is a call of a user.
type callBy struct {
	catalog.Call
	user string
}

func (c callBy) Principal() auth.Principal { return auth.Principal{Subject: c.user} }

func (callBy) Progress(float64, float64, string) {}

func (callBy) Emit(int, json.RawMessage) {}

func (callBy) Run() string { return "run" }

// guarded is a server that wants a sign-in, and what this app logs about it.
type guarded struct {
	t   *testing.T
	as  *authtest.Server
	s   *server
	log *bytes.Buffer
}

func newGuarded(t *testing.T) *guarded {
	as, dir := authtest.New(t), t.TempDir()
	g := &guarded{t: t, as: as, log: &bytes.Buffer{}}
	c := Config{ID: "guarded", URL: as.MCP, Place: "upstreams.guarded"}
	require.NoError(t, c.complete())
	c.MaxParallel = 100
	life, cancel := context.WithCancel(context.Background())
	g.s = &server{
		version: "1", cache: &cache{}, queue: queue.New(c.MaxParallel), changed: func() {}, life: lifetime{ctx: life, stop: cancel},
		sessions: map[string]*session{},
		results: results{log: slog.New(slog.NewTextHandler(g.log, nil)), faults: faults{
			cfg: c, people: &people{command: "koan gateway", known: map[[2]string]*signin.Credentials{}},
		}},
	}
	g.s.people.keepIn(signin.NewStore(filepath.Join(dir, "sign-ins"), filepath.Join(dir, "key"), nil), &catalog.SecretList{})
	t.Cleanup(g.s.close)
	return g
}

func (g *guarded) signIn(user string) *signin.Record {
	g.t.Helper()
	up, err := g.s.cfg.upstream()
	require.NoError(g.t, err)
	l := signin.Login{Store: g.s.people.store, Upstream: *up, User: user, Show: func(link string) { go authtest.Browse(link) }, Wait: 20 * time.Second}
	r, err := l.Run(g.t.Context())
	require.NoError(g.t, err)
	return r
}

// call makes a call and returns its text.
func (g *guarded) call(user string) (string, error) {
	raw, err := g.s.call(g.t.Context(), &request{tool: "work", input: json.RawMessage("{}"), effects: catalog.Effects{Outside: true, Destructive: true}, call: callBy{user: user}})
	var text string
	_ = json.Unmarshal(raw, &text)
	return text, err
}

func TestCallsHaveTheCallersToken(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	_, err := g.call(localUser)
	require.Equal(t, fault.Unauthorized, fault.CodeOf(err))
	require.Equal(t, "Sign in: `koan gateway upstream login guarded`.", fault.From(err).Hint)
	ann, bob := g.signIn("ann"), g.signIn("bob o'brien")
	for user, r := range map[string]*signin.Record{"ann": ann, "bob o'brien": bob} {
		text, err := g.call(user)
		require.NoError(t, err)
		require.Equal(t, "done with "+r.Access, text)
	}
	for _, user := range []string{localUser, "eve", ""} {
		_, err = g.call(user)
		require.Equal(t, fault.Unauthorized, fault.CodeOf(err), user)
	}
	_, err = g.call("eve | rm")
	require.Contains(t, fault.From(err).Hint, "`koan gateway upstream login guarded --user 'eve | rm'`")
	g.signIn(localUser)
	_, err = g.call(localUser)
	require.NoError(t, err, "without waiting for the next attempt")
	require.NotContains(t, g.log.String(), "access-")
	for _, r := range []*signin.Record{ann, bob} {
		require.Subset(t, g.s.people.tokens.Secrets(), []string{r.Access, r.Refresh}, "no text of the app shows them")
	}
}

// That nobody else can list a server's tools does not keep a user who is signed in from it, and what
// has failed once is tried again without waiting for it.
func TestToolsAreListedForWhoIsSignedIn(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	for range 2 {
		require.Equal(t, fault.Unauthorized, fault.CodeOf(g.s.awaitListing(t.Context(), localUser)))
	}
	require.Nil(t, g.s.current())
	g.signIn("ann")
	require.NoError(t, g.s.awaitListing(t.Context(), "ann"))
	require.NotNil(t, g.s.current())
	require.Equal(t, fault.Unauthorized, fault.CodeOf(g.s.awaitListing(t.Context(), localUser)))
	g.signIn(localUser)
	require.NoError(t, g.s.awaitListing(t.Context(), localUser))
}

// A list counts as the server's only if no change was announced since it was asked for.
func TestListsAreOutdatedWhileTheyAreListed(t *testing.T) {
	conn := &connection{}
	conn.about.lists = true
	change := mcp.JSONRPCNotification{Notification: mcp.Notification{Method: string(mcp.MethodNotificationToolsListChanged)}}
	conn.listed.keep(nil, conn.listed.ask())
	require.True(t, conn.listed.isNewest())
	conn.notified(change, func() {})
	at := conn.listed.ask()
	require.False(t, conn.listed.isNewest(), "while it is listed again")
	conn.notified(change, func() {})
	conn.listed.keep(nil, at)
	require.False(t, conn.listed.isNewest(), "another change was announced meanwhile")
	conn.listed.keep(nil, conn.listed.ask())
	require.True(t, conn.listed.isNewest())
}

// TestServerForgetsTokens: calls that are rejected are made again with one refreshed token.
func TestServerForgetsTokens(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	g.signIn("ann")
	_, err := g.call("ann")
	require.NoError(t, err)
	time.Sleep(5 * time.Second) // a new token is not refreshed
	g.as.EndAccess()
	var all sync.WaitGroup
	errs := make([]error, 100)
	for i := range errs {
		all.Go(func() { _, errs[i] = g.call("ann") })
	}
	all.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	require.Equal(t, 1, g.as.Count("refresh_token"))
	now, err := g.s.people.store.Credentials(signin.Upstream{ID: "guarded", URL: g.as.MCP}, "ann").Current()
	require.NoError(t, err)
	require.Contains(t, g.s.people.tokens.Secrets(), now.Access)
	require.Equal(t, 101, g.as.Count("call"), "none twice")
	require.Zero(t, g.as.Count("reuse"))

	g.as.EndSignIns()
	_, err = g.call("ann")
	require.Equal(t, fault.Unauthorized, fault.CodeOf(err))
	require.Contains(t, fault.From(err).Hint, "The operator of this app signs ann in: `koan gateway upstream login guarded --user ann`.")
	g.signIn("ann")
	_, err = g.call("ann")
	require.NoError(t, err)
}

func TestServerWantsMoreScopes(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	r := g.signIn(localUser)
	_, err := g.call(localUser)
	require.NoError(t, err)
	g.as.Change(func(s *authtest.Server) {
		s.Take = func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path != "/mcp" {
				return false
			}
			w.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope", scope="issues:write $(reboot)"`)
			http.Error(w, "not with "+r.Header.Get("Authorization"), http.StatusForbidden)
			return true
		}
	})
	_, err = g.call(localUser)
	f := fault.From(err)
	require.Equal(t, fault.Forbidden, f.Code)
	require.Equal(t, "Sign in: `koan gateway upstream login guarded --scope issues:write --scope '$(reboot)'`.", f.Hint)
	require.Equal(t, map[string]any{"upstream": "guarded", "scopes": []string{"issues:write", "$(reboot)"}}, f.Details)
	require.NotContains(t, fmt.Sprint(f, f.Details, g.log), r.Access)
}

func TestServerRepeatsTheToken(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	r := g.signIn(localUser)
	for status, code := range map[int]fault.Code{http.StatusForbidden: fault.Forbidden, http.StatusInternalServerError: fault.OutcomeUnknown, http.StatusTooManyRequests: fault.RateLimited} {
		g.as.Change(func(s *authtest.Server) { s.Take = nil })
		_, err := g.call(localUser)
		require.NoError(t, err)
		g.as.Change(func(s *authtest.Server) {
			s.Take = func(w http.ResponseWriter, r *http.Request) bool {
				if strings.HasPrefix(r.URL.Path, "/mcp") {
					http.Error(w, "not with "+r.Header.Get("Authorization"), status)
					return true
				}
				return false
			}
		})
		_, err = g.call(localUser)
		require.Equal(t, code, fault.CodeOf(err))
		require.ErrorContains(t, err, "[redacted]")
		require.NotContains(t, err.Error(), r.Access)
	}
}

func TestOtherUsersSeeMoreTools(t *testing.T) {
	t.Parallel()
	tool := func(name, text string) json.RawMessage {
		return json.RawMessage(fmt.Sprintf(`{"name":%q,"description":%q}`, name, text))
	}
	operators := &listing{Operator: true, Tools: []json.RawMessage{tool("a", "operator"), tool("b", "operator")}}
	ann := &listing{Tools: []json.RawMessage{tool("b", "ann"), tool("c", "ann")}}
	require.Equal(t, []json.RawMessage{tool("a", "operator"), tool("b", "operator"), tool("c", "ann")}, operators.with(ann).Tools)
	require.Equal(t, []json.RawMessage{tool("b", "ann"), tool("c", "bob")}, ann.with(&listing{Tools: []json.RawMessage{tool("c", "bob")}}).Tools)
	require.Len(t, operators.Tools, 2)
}

func TestOAuthKeys(t *testing.T) {
	t.Parallel()
	got, err := parsed(map[string]string{
		"a.url": "https://x/mcp", "a.oauth.scopes": "[read, write]", "a.oauth.clientId": "koan", "a.oauth.clientSecret": "${env:SECRET}", "a.oauth.redirectPort": "8917",
		"b.url": "https://x/mcp", "b.oauth.clientMetadataUrl": "https://example.org/koan.json",
	})
	require.NoError(t, err)
	require.Equal(t, OAuth{Scopes: []string{"read", "write"}, ClientID: "koan", ClientSecret: "${env:SECRET}", RedirectPort: 8917}, got[0].OAuth)
	require.Equal(t, OAuth{MetadataURL: "https://example.org/koan.json"}, got[1].OAuth)

	_, err = parsed(map[string]string{
		"a.command": "x", "a.oauth.scopes": "read", "b.url": "https://x", "b.oauth.scopes": "read", "b.headers.authorization": "Bearer x", "c.url": "https://x", "c.oauth.clientSecret": "inline", "d.url": "https://x", "d.oauth.clientSecret": "${env:X}",
		"e.url": "https://x", "e.oauth.clientId": "x", "e.oauth.clientMetadataUrl": "https://x/y", "f.url": "https://x", "f.oauth.clientMetadataUrl": "http://x/y", "g.url": "https://x", "g.oauth.scopes": `a"b`, "h.url": "https://x", "h.oauth.redirectPort": "0",
		"i.url": "https://x", "i.oauth.scope": "read",
	})
	for _, want := range []string{
		"upstreams.a: oauth goes with a url", "upstreams.b: has both oauth and a header Authorization", "upstreams.c.oauth.clientSecret must be a reference", "upstreams.d: oauth.clientSecret goes with oauth.clientId",
		"upstreams.e: has both oauth.clientId and oauth.clientMetadataUrl", "upstreams.f.oauth.clientMetadataUrl must be the https URL", `upstreams.g.oauth.scopes has "a\"b", which cannot be a scope`, "upstreams.h.oauth.redirectPort must be a port",
		`did you mean "oauth.scopes"?`,
	} {
		require.ErrorContains(t, err, want)
	}
	require.NotContains(t, err.Error(), "inline")
}
