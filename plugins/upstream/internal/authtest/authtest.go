// Package authtest is an authorization server together with an MCP server that wants its
// tokens, for tests of how they may misbehave. Tests against a real one are in tests/callers.
package authtest

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
)

// Server is both servers. Its fields are set before it is used, or with Change.
type Server struct {
	URL string // of both; the MCP server is at MCP
	MCP string

	mu sync.Mutex
	// Edit changes a metadata document, the answer to a registration or to a request for
	// tokens before it is sent. The path is that of the request.
	Edit func(path string, doc map[string]any)
	// Take answers a request itself, and returns true, or leaves it.
	Take func(w http.ResponseWriter, r *http.Request) bool
	TTL  time.Duration // of an access token

	counts  map[string]int
	codes   map[string]url.Values // the authorization request, by code
	access  map[string]bool       // valid tokens
	refresh map[string]string     // access tokens by unused refresh token
	used    map[string]bool       // used refresh tokens
	last    url.Values
}

// New starts the servers.
func New(t testing.TB) *Server {
	s := &Server{TTL: time.Hour, counts: map[string]int{}, codes: map[string]url.Values{}, access: map[string]bool{}, refresh: map[string]string{}, used: map[string]bool{}}
	listener := httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(func() { listener.CloseClientConnections(); listener.Close() })
	s.URL, s.MCP = listener.URL, listener.URL+"/mcp"
	return s
}

// Change changes the servers while they are in use.
func (s *Server) Change(f func(s *Server)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(s)
}

// Count returns how often something has happened: register, authorization_code,
// refresh_token, reuse, revoke, call, rejected.
func (s *Server) Count(what string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts[what]
}

// Last returns the last request for tokens.
func (s *Server) Last() url.Values {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

// EndAccess makes the access tokens invalid, as a server does that has lost them.
func (s *Server) EndAccess() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.access)
}

// EndSignIns makes all tokens invalid.
func (s *Server) EndSignIns() {
	s.EndAccess()
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.refresh)
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	take := s.Take
	s.mu.Unlock()
	if take != nil && take(w, r) {
		return
	}
	switch r.URL.Path {
	case "/.well-known/oauth-protected-resource/mcp":
		s.send(w, r, map[string]any{"resource": s.MCP, "authorization_servers": []string{s.URL}, "scopes_supported": []string{"read", "write"}})
	case "/.well-known/oauth-authorization-server":
		s.send(w, r, map[string]any{
			"issuer": s.URL, "authorization_endpoint": s.URL + "/authorize", "token_endpoint": s.URL + "/token", "registration_endpoint": s.URL + "/register",
			"revocation_endpoint": s.URL + "/revoke", "response_types_supported": []string{"code"}, "code_challenge_methods_supported": []string{"S256"},
			"authorization_response_iss_parameter_supported": true,
		})
	case "/register":
		s.count("register")
		var doc map[string]any
		_ = json.NewDecoder(r.Body).Decode(&doc)
		doc["client_id"] = "client-" + rand.Text()
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		s.send(w, r, doc)
	case "/authorize":
		s.authorize(w, r)
	case "/token":
		s.token(w, r)
	case "/revoke":
		s.count("revoke")
	case "/mcp":
		s.mcp(w, r)
	default:
		http.NotFound(w, r)
	}
}

func (s *Server) count(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts[what]++
}

func (s *Server) send(w http.ResponseWriter, r *http.Request, doc map[string]any) {
	s.mu.Lock()
	edit := s.Edit
	s.mu.Unlock()
	if edit != nil {
		edit(r.URL.Path, doc)
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(doc)
}

// authorize sends the browser back at once, as for a person who has agreed before.
func (s *Server) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	code := rand.Text()
	s.mu.Lock()
	s.codes[code] = q
	s.mu.Unlock()
	answer := map[string]any{"code": code, "state": q.Get("state"), "iss": s.URL}
	s.mu.Lock()
	edit := s.Edit
	s.mu.Unlock()
	if edit != nil {
		edit(r.URL.Path, answer)
	}
	back := url.Values{}
	for name, value := range answer {
		back.Set(name, fmt.Sprint(value))
	}
	http.Redirect(w, r, q.Get("redirect_uri")+"?"+back.Encode(), http.StatusFound)
}

func (s *Server) token(w http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm()
	refuse := func(code string) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"error":%q,"error_description":"because"}`, code)
	}
	s.mu.Lock()
	s.last = r.PostForm
	s.counts[r.PostForm.Get("grant_type")]++
	s.mu.Unlock()
	scope := ""
	switch r.PostForm.Get("grant_type") {
	case "authorization_code":
		s.mu.Lock()
		asked, ok := s.codes[r.PostForm.Get("code")]
		delete(s.codes, r.PostForm.Get("code"))
		s.mu.Unlock()
		sum := sha256.Sum256([]byte(r.PostForm.Get("code_verifier")))
		if !ok || asked.Get("code_challenge") != base64.RawURLEncoding.EncodeToString(sum[:]) || asked.Get("resource") != r.PostForm.Get("resource") || asked.Get("redirect_uri") != r.PostForm.Get("redirect_uri") {
			refuse("invalid_grant")
			return
		}
		scope = asked.Get("scope")
	case "refresh_token":
		old := r.PostForm.Get("refresh_token")
		s.mu.Lock()
		_, ok := s.refresh[old]
		delete(s.refresh, old)
		if s.used[old] {
			s.counts["reuse"]++
		}
		s.used[old] = true
		s.mu.Unlock()
		if !ok {
			refuse("invalid_grant")
			return
		}
	default:
		refuse("unsupported_grant_type")
		return
	}
	doc := map[string]any{"access_token": "access-" + rand.Text(), "refresh_token": "refresh-" + rand.Text(), "token_type": "Bearer", "expires_in": s.TTL.Seconds()}
	if scope != "" {
		doc["scope"] = scope
	}
	s.mu.Lock()
	s.access[doc["access_token"].(string)] = true
	s.refresh[doc["refresh_token"].(string)] = doc["access_token"].(string)
	s.mu.Unlock()
	s.send(w, r, doc)
}

// mcp has one tool, `work`, which says what its token was.
func (s *Server) mcp(w http.ResponseWriter, r *http.Request) {
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	s.mu.Lock()
	ok := s.access[token]
	s.mu.Unlock()
	if !ok {
		s.count("rejected")
		w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer resource_metadata="%s/.well-known/oauth-protected-resource/mcp", scope="read"`, s.URL))
		http.Error(w, "who are you with "+token, http.StatusUnauthorized)
		return
	}
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	_ = json.NewDecoder(r.Body).Decode(&m)
	w.Header().Set("Content-Type", "application/json")
	switch m.Method {
	case "initialize":
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"guarded","version":"1"}}}`, m.ID)
	case "tools/list":
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"work","inputSchema":{"type":"object"}}]}}`, m.ID)
	case "tools/call":
		s.count("call")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"done with %s"}]}}`, m.ID, token)
	case "notifications/initialized":
		w.WriteHeader(http.StatusAccepted)
	default:
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`, m.ID)
	}
}

// Browse is a browser in which a person has agreed before: it follows the link to its end.
func Browse(link string) {
	resp, err := http.Get(link)
	if err == nil {
		_ = resp.Body.Close()
	}
}
