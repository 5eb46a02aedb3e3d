package console

import (
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/tests/pgtest"
)

// signedIn returns the status of a request of the console's page with the session of a cookie that
// any site of the same app has set.
func (s *site) signedIn(cookie string) int {
	s.t.Helper()
	_, value, _ := strings.Cut(cookie, "=")
	_, port, _ := strings.Cut(strings.TrimPrefix(s.url, "http://"), ":")
	resp, _ := s.do("GET", "/api/console/overview", "", own, "1", "Cookie", "koan-console-"+port+"="+value)
	return resp.StatusCode
}

// Sessions are kept with the data: they outlive the process, hold on each replica, and end on each. What was opened by a
// link counts only where people sign in by links, and a token is asked again each time.
func TestSignInsOutliveTheProcess(t *testing.T) {
	if pgtest.ForEach(t, TestSignInsOutliveTheProcess) {
		return
	}
	dir, place := t.TempDir(), ""
	if place = "sqlite://" + dir; pgtest.Here(t) {
		place = pgtest.Place(t)
	}
	good := true
	byToken := func(r *http.Request) (framework.Principal, error) {
		if !good || r.Header.Get("Authorization") != "Bearer secret-of-ann" {
			return framework.Principal{}, errors.New("refused")
		}
		return framework.Principal{Subject: "ann", Scopes: []string{"*"}, Sets: []string{"default"}}, nil
	}
	open := func(authenticate func(*http.Request) (framework.Principal, error)) *site {
		return mount(t, authenticate, koantest.Setting{Key: "database", Value: place})
	}
	first := open(nil)
	link := first.signIn()
	second := open(nil)
	require.Equal(t, http.StatusOK, second.signedIn(link))
	require.Equal(t, http.StatusUnauthorized, second.signedIn(link[:len(link)-1]+"!"))

	tokens := open(byToken)
	require.Equal(t, http.StatusUnauthorized, tokens.signedIn(link), "a server that demands tokens takes no link of before")
	resp, _ := tokens.do("POST", "/console/session", `{"token":"secret-of-ann"}`, own, "1")
	require.Equal(t, http.StatusNoContent, resp.StatusCode)
	require.Contains(t, resp.Header.Get("Set-Cookie"), "Max-Age=34560000")
	cookie, _, _ := strings.Cut(resp.Header.Get("Set-Cookie"), ";")
	again := open(byToken)
	require.Equal(t, http.StatusOK, again.signedIn(cookie))
	require.Equal(t, http.StatusUnauthorized, second.signedIn(cookie), "nobody becomes the local operator by a token")
	good = false
	require.GreaterOrEqual(t, again.signedIn(cookie), 400, "the token was taken back")
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		require.NoError(t, err)
		if d.Type().IsRegular() {
			raw, err := os.ReadFile(path)
			require.NoError(t, err)
			require.NotContains(t, string(raw), "secret-of-ann", path)
		}
		return nil
	})

	_, value, _ := strings.Cut(link, "=")
	_, port, _ := strings.Cut(strings.TrimPrefix(second.url, "http://"), ":")
	resp, _ = second.do("DELETE", "/console/session", "", own, "1", "Cookie", "koan-console-"+port+"="+value)
	require.Equal(t, http.StatusNoContent, resp.StatusCode)
	require.Equal(t, http.StatusUnauthorized, second.signedIn(link))
	require.Equal(t, http.StatusUnauthorized, first.signedIn(link), "signing out ends the session everywhere")
}
