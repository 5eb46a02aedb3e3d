package console

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/internal/admission"
)

// clock is a time that tests move.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

func (c *clock) pass(d time.Duration) { c.at = c.at.Add(d) }

func console(t *testing.T) (h *Handler, c *clock, printed *string) {
	t.Helper()
	c, printed = &clock{time.Unix(1_800_000_000, 0)}, new(string)
	h = New(Options{
		Site: Site{URL: "https://tools.example.org:8443", Print: func(line string) { *printed = line }},
		Name: "todo", Person: auth.Local(), Admission: admission.New(admission.Options{}), Clock: c.now, Log: slog.New(slog.DiscardHandler),
	})
	return h, c, printed
}

var key = regexp.MustCompile(`/console/sign-in\?key=\w+`)

func get(h http.Handler, at string, header ...string) *http.Response {
	r := httptest.NewRequest(http.MethodGet, "https://tools.example.org:8443"+at, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func TestLinkIsUsedInTime(t *testing.T) {
	h, c, printed := console(t)
	h.Announce()
	first := key.FindString(*printed)
	c.pass(linkTime - time.Second)
	h.Announce()
	require.Equal(t, first, key.FindString(*printed), "whoever asks for a link makes no other invalid")
	c.pass(time.Second)
	require.Equal(t, http.StatusForbidden, get(h, first).StatusCode, "late")
	h.Announce()
	second := key.FindString(*printed)
	require.NotEqual(t, first, second)
	for _, ahead := range []string{"Sec-Purpose", "Purpose", "X-Moz"} {
		require.Equal(t, http.StatusNoContent, get(h, second, ahead, "prefetch").StatusCode, ahead)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodHead, "https://tools.example.org:8443"+second, nil))
	require.Empty(t, w.Result().Cookies(), "a preview of the link in a chat uses it up no more than a prefetch")
	resp := get(h, second)
	require.Equal(t, http.StatusSeeOther, resp.StatusCode)
	require.True(t, resp.Cookies()[0].Secure)
	require.Equal(t, "koan-console-8443", resp.Cookies()[0].Name, "browsers send cookies to all ports of a host")
	require.Equal(t, http.StatusForbidden, get(h, second).StatusCode, "twice")
}

func TestSessionEndsWhenIdle(t *testing.T) {
	h, c, printed := console(t)
	h.Announce()
	cookie := get(h, key.FindString(*printed)).Cookies()[0]
	caller := func() bool {
		r := httptest.NewRequest(http.MethodGet, "/api/todo", nil)
		r.AddCookie(cookie)
		r.Header.Set(header, "1")
		_, ok, _ := h.Caller(r)
		return ok
	}
	for range 3 {
		c.pass(sessionIdle - time.Minute)
		require.True(t, caller())
	}
	c.pass(sessionIdle + time.Minute)
	require.False(t, caller())
	c.pass(-2 * time.Minute)
	require.False(t, caller(), "it is gone")
}

// full has sessions, and keeps nothing new of them.
type full struct{ SignIns }

func (full) Find(context.Context, string, time.Time) (string, time.Time, bool, error) {
	return byLink, time.Unix(0, 0), true, nil
}

func (full) Use(context.Context, string, time.Time) error {
	return fault.New(fault.ServiceUnavailable, "the disk is full")
}

func (full) Keep(context.Context, string, string, string, time.Time, time.Time, int) error {
	return fault.New(fault.SetBusy, "somebody else writes")
}

// A session is valid though its use cannot be noted.
func TestSessionOutlivesAFullDisk(t *testing.T) {
	h, _, _ := console(t)
	h.sessions.kept = full{}
	r := httptest.NewRequest(http.MethodGet, "/api/todo", nil)
	r.AddCookie(&http.Cookie{Name: h.cookieName(), Value: strings.Repeat("x", keptSecret)})
	r.Header.Set(header, "1")
	p, ok, err := h.Caller(r)
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, auth.Local().Subject, p.Subject)
}

// A link that could not open a session can be used again.
func TestLinkOutlivesAFailedSignIn(t *testing.T) {
	h, _, printed := console(t)
	h.sessions.kept = full{}
	h.Announce()
	link := key.FindString(*printed)
	require.Equal(t, http.StatusServiceUnavailable, get(h, link).StatusCode)
	h.sessions.kept = nil
	require.Equal(t, http.StatusSeeOther, get(h, link).StatusCode)
	require.Equal(t, http.StatusForbidden, get(h, link).StatusCode)
}

func TestSessionsAreBounded(t *testing.T) {
	c := &clock{time.Unix(1_800_000_000, 0)}
	s := newBySecret[session](c.now, sessionIdle, maxSessions)
	oldest := s.add(session{})
	c.pass(time.Second)
	last := ""
	for range maxSessions {
		last = s.add(session{})
	}
	require.Len(t, s.kept, maxSessions)
	_, ok := s.use(oldest)
	require.False(t, ok, "the one that was unused for longest makes room")
	_, ok = s.use(last)
	require.True(t, ok)
}

func TestFilesAreCompressedForWhoTakesThat(t *testing.T) {
	for accepted, want := range map[string]bool{"gzip": true, "br, gzip;q=0.5": true, "*": true, "GZIP": true, "": false, "identity": false, "gzip;q=0": false, "gzip; q=0.0": false, "gzip;q=x": false, "gzipped": false} {
		r := httptest.NewRequest(http.MethodGet, "/console", nil)
		r.Header.Set("Accept-Encoding", accepted)
		require.Equal(t, want, acceptsGzip(r), accepted)
	}
}
