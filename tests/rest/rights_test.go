package rest

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/tests/pgtest"
)

// bySubject takes a caller's own word for who it is, and has these principals.
func bySubject(known ...auth.Principal) func(*http.Request) (auth.Principal, error) {
	return func(r *http.Request) (auth.Principal, error) {
		for _, p := range known {
			if r.Header.Get("Authorization") == "Bearer "+p.Subject {
				return p, nil
			}
		}
		return auth.Principal{}, fault.New(fault.Unauthorized, "")
	}
}

func TestRights(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestRights) {
		return
	}
	who := bySubject(
		auth.Principal{Subject: "reader", Sets: []string{"default"}},
		auth.Principal{Subject: "writer", Scopes: []string{auth.All}, Sets: []string{"default"}},
	)
	s := serve(t, fixtureApp(), framework.HTTPOptions{Authenticate: who, StepUp: func(_ *http.Request, scopes []string) string {
		return `Bearer error="insufficient_scope", scope="` + strings.Join(scopes, " ") + `"`
	}})
	for _, path := range []string{"/api/todo", "/status", "/openapi.json", "/docs"} {
		code, _ := s.do("GET", path, "").problem(http.StatusUnauthorized)
		require.Equal(t, "unauthorized", code, path)
	}
	for status, headers := range map[int][]string{
		http.StatusUnauthorized: nil, http.StatusForbidden: {"Authorization", "Bearer writer", "Origin", "https://evil.example"},
	} {
		said := s.do("POST", "/tools/todo.count", `{}`, headers...).object(status)
		require.Equal(t, false, said["ok"], "an envelope")
		require.NotEmpty(t, said["error"].(map[string]any)["code"])
	}
	require.Equal(t, false, s.do("GET", "/tools/todo.count", "", "Authorization", "Bearer writer").object(http.StatusMethodNotAllowed)["ok"])
	require.Equal(t, http.StatusOK, s.do("GET", "/health", "").status)
	reader, writer := []string{"Authorization", "Bearer reader"}, []string{"Authorization", "Bearer writer"}
	require.Equal(t, http.StatusOK, s.do("GET", "/api/todo/1", "", reader...).status)
	refused := s.do("POST", "/api/todo", `{"title":"x"}`, reader...)
	code, _ := refused.problem(http.StatusForbidden)
	require.Equal(t, "tool_not_found", code, "as by tool")
	require.Contains(t, refused.header.Get("WWW-Authenticate"), `scope="entities:write"`)
	require.Equal(t, http.StatusForbidden, s.do("DELETE", "/api/todo/1", "", reader...).status)
	require.Equal(t, http.StatusForbidden, s.do("POST", "/tools/todo.delete", `{"id":"1"}`, reader...).status)
	require.Equal(t, http.StatusForbidden, s.do("POST", "/api/actions/greet", `{"name":"x"}`, reader...).status)
	require.Equal(t, http.StatusCreated, s.do("POST", "/api/todo", `{"title":"x","secret":"s3cret"}`, writer...).status)
	code, _ = s.do("GET", "/api/todo?set=archive", "", writer...).problem(http.StatusNotFound)
	require.Equal(t, "unknown_set", code)
	seen := string(s.do("GET", "/openapi.json", "", reader...).body)
	require.NotContains(t, seen, `"post":{"description":"Creates`)
	require.NotContains(t, seen, "archive")
	require.NotContains(t, seen, "s3cret")
	require.NotContains(t, string(s.do("GET", "/api/todo", "", writer...).body), "s3cret")
	code, at := s.do("GET", `/api/todo?filter={"secret":"s3cret"}`, "", writer...).problem(http.StatusBadRequest)
	require.Equal(t, []string{"invalid_payload", "/filter/secret"}, []string{code, at})
	require.NotEqual(t, s.do("GET", "/openapi.json", "", reader...).header.Get("ETag"), s.do("GET", "/openapi.json", "", writer...).header.Get("ETag"))
}

// Modes choose what models are shown; routes are there for what can be reached in any form.
func TestExposure(t *testing.T) {
	t.Parallel()
	s := serve(t, fixtureApp(), framework.HTTPOptions{}, koantest.Setting{Key: "exposure", Value: "code"})
	require.Equal(t, http.StatusOK, s.do("GET", "/api/todo/1", "").status)
	require.Equal(t, http.StatusOK, s.do("POST", "/api/actions/greet", `{"name":"x"}`).status)
	require.EqualValues(t, false, s.do("POST", "/tools/todo.count", `{}`).object(http.StatusNotFound)["ok"])
	s = serve(t, fixtureApp(), framework.HTTPOptions{}, koantest.Setting{Key: "exposure", Value: "tools"})
	require.Equal(t, http.StatusOK, s.do("GET", "/api/todo/1", "").status)
	require.Equal(t, http.StatusNotFound, s.do("POST", "/tools/koan.code.execute", `{"code":"1"}`).status)
}

// What a person has to agree to is kept as a plan, which is applied once.
func TestApproval(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestApproval) {
		return
	}
	who := bySubject(auth.Principal{Subject: "agent", Scopes: []string{auth.All}, Sets: []string{auth.All}}, auth.Principal{Subject: "boss", Scopes: []string{auth.All, "koan:approve"}, Sets: []string{auth.All}})
	s := serve(t, fixtureApp(), framework.HTTPOptions{Authenticate: who}, koantest.Setting{Key: "approval.mode", Value: "destructive"})
	agent, boss := []string{"Authorization", "Bearer agent", "Idempotency-Key", "k"}, []string{"Authorization", "Bearer boss"}
	waits := s.do("DELETE", "/api/todo/1", "", agent...)
	p := waits.object(http.StatusForbidden)
	require.Equal(t, "approval_required", p["code"])
	plan := p["details"].(map[string]any)["planId"].(string)
	require.Equal(t, http.StatusOK, s.do("GET", "/api/todo/1", "", boss...).status, "nothing is committed")
	applied := s.do("POST", "/tools/koan.code.execute", `{"planId":"`+plan+`"}`, boss...)
	applied.object(http.StatusOK)
	require.Equal(t, http.StatusNotFound, s.do("GET", "/api/todo/1", "", boss...).status)
	require.EqualValues(t, 1, s.do("DELETE", "/api/todo/1", "", agent...).object(http.StatusOK)["deleted"], "the key has what the plan's run returned")
}

func TestForeignPages(t *testing.T) {
	t.Parallel()
	s := serve(t, fixtureApp(), framework.HTTPOptions{AllowedOrigins: []string{"https://app.example.org"}})
	for name, header := range map[string][]string{
		"origin": {"Origin", "https://evil.example"}, "null origin": {"Origin", "null"}, "rebound name": {"Host", "evil.example"},
		"rebound name with its origin": {"Host", "evil.example", "Origin", "http://evil.example"},
	} {
		for _, path := range []string{"/api/todo", "/tools/todo.count", "/health", "/status", "/openapi.json", "/docs"} {
			method, body := "GET", ""
			if strings.HasPrefix(path, "/tools") {
				method, body = "POST", "{}"
			}
			r := s.do(method, path, body, header...)
			code := ""
			if method == "POST" { // in the envelope
				code, _ = r.object(http.StatusForbidden)["error"].(map[string]any)["code"].(string)
			} else {
				code, _ = r.problem(http.StatusForbidden)
			}
			require.Equal(t, "forbidden", code, "%s %s", name, path)
			require.Empty(t, r.header.Get("Access-Control-Allow-Origin"))
		}
	}
	preflight := s.do("OPTIONS", "/api/todo/1", "", "Origin", "https://app.example.org", "Access-Control-Request-Method", "PATCH")
	require.Equal(t, http.StatusNoContent, preflight.status)
	require.Contains(t, preflight.header.Get("Access-Control-Allow-Methods"), "PATCH")
	require.Contains(t, preflight.header.Get("Access-Control-Allow-Headers"), "If-Match")
	allowed := s.do("GET", "/api/todo/1", "", "Origin", "https://app.example.org")
	require.Equal(t, "https://app.example.org", allowed.header.Get("Access-Control-Allow-Origin"))
	for _, media := range []string{"application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/plain", "text/plain; x=application/json", "", "application/json, text/plain", "application/json; charset=latin1"} {
		for _, path := range []string{"/api/todo", "/api/todo:delete-by-query", "/api/actions/greet", "/tools/todo.upsert"} {
			require.Equal(t, http.StatusUnsupportedMediaType, s.do("POST", path, `{"all":true,"filter":{}}`, "Content-Type", media).status, "%s %q", path, media)
		}
	}
	require.Equal(t, http.StatusUnsupportedMediaType, s.do("POST", "/api/todo", `{}`, "Content-Type", "application/json", "Content-Encoding", "gzip").status)
	code, _ := s.do("POST", "/api/todo", "{\"title\":\"\xff\"}", "Content-Type", "application/json").problem(http.StatusBadRequest)
	require.Equal(t, "parse_error", code, "no other character is kept in its place")
	for _, path := range []string{"/api/todo/1", "/api/nope", "/openapi.json", "/docs", "/health"} {
		r := s.do("GET", path, "")
		require.Equal(t, "nosniff", r.header.Get("X-Content-Type-Options"), path)
		require.Contains(t, r.header.Get("Content-Security-Policy"), "default-src 'none'", path)
		require.Contains(t, r.header.Get("Content-Security-Policy"), "frame-ancestors 'none'", path)
	}
}

// No spelling of a path gets around what a route demands.
func TestPathTricks(t *testing.T) {
	t.Parallel()
	s := serve(t, fixtureApp(), framework.HTTPOptions{})
	require.Equal(t, http.StatusOK, s.do("POST", "/api/todo%3Aquery", `{}`).status, "clients that encode the colon")
	for _, path := range []string{"/api/todo/%2e%2e", "/api/../api/todo/1", "//api/todo/1", "/api/./todo/1", "/api/todo/1/", "/api/todo%2F1", "/api/Todo/1", "/API/todo/1", "/api/todo/1%00", "/api/todo/1:query", "/api/todo/..%2f1", "/api/actions/..%2fx", "/api/plugins/a%2fb/c"} {
		r := s.do("GET", path, "")
		require.NotEqual(t, http.StatusOK, r.status, path)
		require.Less(t, r.status, 500, "%s: %s", path, r.body)
	}
}

// A slow or huge request holds nobody up and ends.
func TestHostileRequests(t *testing.T) {
	t.Parallel()
	s := serve(t, fixtureApp(), framework.HTTPOptions{BodyTime: 200 * time.Millisecond, RequestsPerMinute: 1000})
	c, err := net.Dial("tcp", s.http.Listener.Addr().String())
	require.NoError(t, err)
	defer c.Close()
	require.NoError(t, c.SetReadDeadline(time.Now().Add(20*time.Second)))
	fmt.Fprintf(c, "POST /api/todo HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{")
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	require.NoError(t, err)
	defer resp.Body.Close()
	require.Equal(t, http.StatusBadRequest, resp.StatusCode)
	deep := strings.Repeat(`{"$and":[`, 20000) + strings.Repeat(`]}`, 20000)
	for _, body := range []string{`{"filter":` + deep + `}`, `{"filter":{"title":"` + strings.Repeat("x", 1<<20) + `"}}`, strings.Repeat(" ", 1<<20), `{"a":` + strings.Repeat("9", 1<<16) + `}`} {
		r := s.do("POST", "/api/todo:query", body)
		require.True(t, r.status == http.StatusBadRequest || r.status == http.StatusOK, "%d %.200s", r.status, r.body)
	}
	limited := serve(t, fixtureApp(), framework.HTTPOptions{RequestsPerMinute: 2})
	for range 2 {
		require.Equal(t, http.StatusOK, limited.do("GET", "/api/todo/1", "").status)
	}
	r := limited.do("GET", "/api/todo/1", "")
	code, _ := r.problem(http.StatusTooManyRequests)
	require.Equal(t, "rate_limited", code)
	require.NotEmpty(t, r.header.Get("Retry-After"))
}

func TestMergePatchMergesObjects(t *testing.T) {
	t.Parallel()
	s := serve(t, pantryPal(), framework.HTTPOptions{})
	photo := s.do("POST", "/api/pantry-photo", `{"fileName":"x.png","sha256":"`+strings.Repeat("a", 64)+`","width":1,"height":1}`).object(http.StatusCreated)
	detection := s.do("POST", "/api/detection", `{"kind":"ean13","value":"1","confidence":1,"box":{"x":1,"y":2,"width":3,"height":4},"photo":"`+photo["id"].(string)+`"}`)
	detection.object(http.StatusCreated)
	at := detection.header.Get("Location")
	merged := s.do("PATCH", at, `{"box":{"x":9}}`, "Content-Type", "application/merge-patch+json").object(http.StatusOK)
	require.Equal(t, map[string]any{"x": 9.0, "y": 2.0, "width": 3.0, "height": 4.0}, merged["box"])
	whole := s.do("PATCH", at, `{"box":{"x":9,"y":0,"width":0,"height":0}}`).object(http.StatusOK)
	require.Equal(t, map[string]any{"x": 9.0, "y": 0.0, "width": 0.0, "height": 0.0}, whole["box"])
}
