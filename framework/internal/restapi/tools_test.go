package restapi

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWantsEvents(t *testing.T) {
	for accept, want := range map[string]bool{
		"": false, "*/*": false, "application/json": false, "text/event-stream": true, "Text/Event-Stream": true,
		"application/json, text/event-stream": true, "text/event-stream, application/json": true,
		"application/json, text/event-stream;q=0": false, "text/event-stream; Q=0.000": false, "text/event-stream;q=0, */*": false,
		"application/json;q=0.5, text/event-stream": true, "application/json, text/event-stream;q=0.5": false, "text/event-stream;q=0.001": true,
		"text/event-stream;charset=utf-8": true, "text/event-stream;": true, "text/event-stream;q=x": true,
	} {
		require.Equal(t, want, wantsEvents(&http.Request{Header: http.Header{"Accept": {accept}}}), accept)
	}
	require.True(t, wantsEvents(&http.Request{Header: http.Header{"Accept": {"application/json", "text/event-stream"}}}))
}

// FuzzAccept: a client that excludes events gets none, whatever else it accepts.
func FuzzAccept(f *testing.F) {
	for _, seed := range []string{"", "application/json", "text/event-stream;q=0", "a/b;q=\"", ",;,", "*/*;q=1;x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, accept string) {
		require.False(t, wantsEvents(&http.Request{Header: http.Header{"Accept": {accept, "text/event-stream;q=0"}}}))
	})
}
