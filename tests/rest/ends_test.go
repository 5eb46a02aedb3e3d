package rest

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/koantest"
)

// A call that the end of the server cuts off is answered so that a client comes back: it was not
// the client that ended it.
func TestCallsAtTheEndOfTheServer(t *testing.T) {
	t.Parallel()
	app := fixtureApp()
	started := make(chan struct{}, 2)
	app.GoActions = append(app.GoActions, framework.Action("wait", "Waits until it is cut off.", func(ctx context.Context, _ framework.Call, _ struct{}) (greeting, error) {
		started <- struct{}{}
		<-ctx.Done()
		return greeting{}, context.Cause(ctx)
	}))
	s := serve(t, app, framework.HTTPOptions{})
	replies := make(chan reply, 2)
	for _, path := range []string{"/api/actions/wait", "/tools/wait"} {
		go func() { replies <- s.do("POST", path, `{}`) }()
		<-started
	}
	now, cancel := context.WithCancel(t.Context())
	cancel()
	s.routes.Shutdown(now)
	for range 2 {
		r := <-replies
		require.Equal(t, http.StatusServiceUnavailable, r.status, "%s", r.body)
		require.NotEmpty(t, r.header.Get("Retry-After"))
		require.Contains(t, string(r.body), "the server is shutting down")
		require.Contains(t, string(r.body), `"retry":"safe"`)
	}
}

// 408 says that the request did not arrive in time, and that it can be sent again as it is. A script
// that takes too long has to be changed first.
func TestStatusOfASlowScript(t *testing.T) {
	t.Parallel()
	s := serve(t, fixtureApp(), framework.HTTPOptions{}, koantest.Setting{Key: "sandbox.cpuMs", Value: "100"})
	got := s.do("POST", "/tools/koan.code.execute", `{"code":"for (;;);"}`).object(http.StatusUnprocessableEntity)
	require.Equal(t, "timeout", got["error"].(map[string]any)["code"])
}
