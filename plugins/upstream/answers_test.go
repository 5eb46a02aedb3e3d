package upstream_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/koantest"
)

// answering is a server over HTTP whose answers to calls are what a function writes.
func answering(t *testing.T, call http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m message
		_ = json.NewDecoder(r.Body).Decode(&m)
		if m.Method == "tools/call" {
			call(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		switch m.Method {
		case "initialize":
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"","version":""}}}`, m.ID)
		case "tools/list":
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, oneTool)
		case "notifications/initialized", "notifications/cancelled":
			w.WriteHeader(http.StatusAccepted)
		default:
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`, m.ID)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// What a failure says is about what failed: the server, a folder, the credentials; not the
// call, and not how Koan is built.
func TestFailuresSayWhatFailed(t *testing.T) {
	t.Parallel()
	cut := answering(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, ": hello\n\n")
	})
	page := answering(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<html>Sign in to the network</html>")
	})
	read := func(more map[string]string) map[string]string {
		out := map[string]string{"effects.work": "read"}
		for k, v := range more {
			out[k] = v
		}
		return out
	}
	token := map[string]string{"headers.Authorization": "Bearer of-a-kind"}
	for name, c := range map[string]struct {
		row
		hint string
	}{
		"a stream that ends early":            {row{url: cut, code: fault.OutcomeUnknown, says: "its response ended before the result"}, ""},
		"a stream that ends early, reading":   {row{url: cut, settings: read(nil), code: fault.ServiceUnavailable, retry: fault.Safe, says: "its response ended before the result"}, ""},
		"a page":                              {row{url: page, code: fault.UpstreamError, retry: fault.Never, says: "text/html"}, "may have taken effect"},
		"a page, reading":                     {row{url: page, settings: read(nil), code: fault.UpstreamError, retry: fault.Safe, says: "text/html"}, "The server's answer is wrong, not the call"},
		"a deep result":                       {row{mode: "nests deeply", code: fault.UpstreamError, retry: fault.Never, says: "nested more than 10000 levels deep"}, ""},
		"no JSON":                             {row{mode: "sends NaN", settings: read(nil), code: fault.UpstreamError, says: "it sent a message that is not JSON"}, ""},
		"no answer, reading":                  {row{mode: "hangs", settings: read(map[string]string{"timeoutMs": "500"}), code: fault.ToolTimeout, says: "did not answer in 500ms"}, "raise upstreams.x.timeoutMs"},
		"a list":                              {row{mode: "sends a result that is none", code: fault.UpstreamError, says: "its result cannot be read: it must be an object, not an array"}, ""},
		"a failing server":                    {row{url: refusing(t, http.StatusInternalServerError, nil), settings: read(nil), code: fault.ServiceUnavailable, says: "the server x cannot be used now: it answered with HTTP status 500"}, ""},
		"credentials that are of no use":      {row{url: refusing(t, http.StatusUnauthorized, nil), settings: token, code: fault.Unauthorized, says: "does not accept the credentials"}, "Correct the header Authorization"},
		"credentials that may do too little":  {row{url: refusing(t, http.StatusForbidden, nil), settings: token, code: fault.Forbidden, says: "does not allow work"}, "Check what the credentials in the headers of upstreams.x may do"},
		"nobody who may do it":                {row{url: refusing(t, http.StatusForbidden, nil), code: fault.Forbidden, says: "does not allow work"}, "sign in as somebody who has it"},
		"a working directory that is missing": {row{mode: "counts", settings: map[string]string{"cwd": "/no/such/folder"}, code: fault.ServiceUnavailable, says: "its cwd /no/such/folder is not a folder that is there"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.id = "x"
			kit := koantest.New(t, framework.App{Name: "answers"}, settingsOf(t, []row{c.row})...)
			start := time.Now()
			got := kit.Try(callsWork, koantest.Input{})
			require.False(t, got.Success)
			require.Equal(t, c.code, got.Error.Code, got.Error)
			require.Contains(t, got.Error.Message, c.says)
			require.Contains(t, got.Error.Hint, c.hint)
			if c.retry != "" {
				require.Equal(t, c.retry, got.Error.Retry)
			}
			require.Less(t, time.Since(start), 20*time.Second, "it waited for the end of the time")
		})
	}
}

// A run whose time ends while it waits for a server says which.
func TestRunsSayWhatTheyWaitedFor(t *testing.T) {
	t.Parallel()
	kit := koantest.New(t, framework.App{Name: "waits"}, append(settingsOf(t, []row{{id: "x", mode: "hangs", settings: map[string]string{"effects.*": "read"}}}),
		koantest.Setting{Key: "sandbox.timeoutMs", Value: "1000"})...)
	for name, code := range map[string]string{
		"SDK.Servers": `SDK.Servers.x.work({})`,
		"a module":    `import { work } from "@codemode/servers/x"; export default await Promise.all([work({}), work({})])`,
	} {
		got := kit.Try(code, koantest.Input{})
		require.Equal(t, fault.Timeout, got.Error.Code, name)
		require.Contains(t, got.Error.Message, "took longer than 1000 ms of wall-clock time, waiting for x", name)
		require.Contains(t, got.Error.Hint, "sandbox.timeoutMs", name)
	}
}
