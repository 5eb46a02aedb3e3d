package console

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/tests/fixture"
)

// Pages of an app are served to callers whom REST admits, and to those who signed in to the console.
func TestPagesAreBehindTheDoorOfREST(t *testing.T) {
	t.Parallel()
	app := fixture.App()
	app.Pages = func(*framework.Instance) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, r.Method+" as "+auth.From(r.Context()).Subject)
		})
	}
	i := koantest.New(t, app).Instance()
	authenticate := func(r *http.Request) (framework.Principal, error) {
		p := auth.Local()
		p.Subject = "ann"
		if r.Header.Get("Authorization") != "Bearer right" {
			return p, fault.New(fault.Unauthorized, "no token")
		}
		return p, nil
	}
	server := httptest.NewUnstartedServer(nil)
	handler, err := i.HTTPHandler(framework.HTTPOptions{URL: "http://" + server.Listener.Addr().String(), Authenticate: authenticate, Console: true})
	require.NoError(t, err)
	server.Config.Handler = handler
	server.Start()
	t.Cleanup(func() { handler.Shutdown(context.Background()); server.Close() })
	at, err := url.Parse(server.URL)
	require.NoError(t, err)

	ask := func(method string, header ...string) (int, string) {
		r, err := http.NewRequestWithContext(t.Context(), method, server.URL+"/any/page", nil)
		require.NoError(t, err)
		for n := 0; n < len(header); n += 2 {
			r.Header.Set(header[n], header[n+1])
		}
		got, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		defer got.Body.Close()
		text, err := io.ReadAll(got.Body)
		require.NoError(t, err)
		return got.StatusCode, string(text)
	}
	status, text := ask("GET")
	require.Equal(t, http.StatusUnauthorized, status, text)
	require.Contains(t, text, `"code":"unauthorized"`, "a program gets a problem")
	for method, says := range map[string]string{"GET": "for people who have signed in", "POST": "Nothing was done"} {
		status, text = ask(method, "Accept", "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8", "Sec-Fetch-Site", "same-origin")
		require.Equal(t, http.StatusUnauthorized, status)
		require.Contains(t, text, "<h1>Sign in to ", "a person is told how")
		require.Contains(t, text, `href="/console/sign-in"`)
		require.Contains(t, text, says)
	}
	status, text = ask("GET", "Accept", "text/html", "Authorization", "Bearer wrong")
	require.Equal(t, http.StatusUnauthorized, status)
	require.Contains(t, text, `"code":"unauthorized"`)
	_, text = ask("GET", "Authorization", "Bearer right")
	require.Equal(t, "GET as ann", text)

	s := &site{t: t, url: server.URL}
	got, _ := s.do("POST", "/console/session", `{"token":"right"}`, "Koan-Console", "1", "Content-Type", "application/json")
	require.Equal(t, http.StatusNoContent, got.StatusCode)
	cookie := got.Cookies()[0]
	session := []string{"Cookie", cookie.Name + "=" + cookie.Value}
	_, text = ask("GET", session...)
	require.Equal(t, "GET as ann", text)
	_, text = ask("POST", append(session, "Origin", server.URL, "Sec-Fetch-Site", "same-origin")...)
	require.Equal(t, "POST as ann", text)
	for _, header := range [][]string{{"Origin", "https://evil.example"}, {"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site", "Origin", "http://" + at.Hostname() + ":1"}} {
		status, text = ask("POST", append(session, header...)...)
		require.Equal(t, http.StatusForbidden, status, text)
	}
	status, _ = ask("GET", "Cookie", cookie.Name+"=guessed")
	require.Equal(t, http.StatusUnauthorized, status)
}
