//go:build unix

package engine_test

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	syncatomic "sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/tests/fixture/ent"
	"github.com/koan-go/koan/tests/pgtest"
)

// relay stands between an app and a PostgreSQL server. Once it is cut it passes nothing on and
// closes nothing, as a network does of which a part has gone.
type relay struct{ cut syncatomic.Bool }

// relayed returns the address of a place as it is reached through a relay.
func relayed(t *testing.T, place string) (string, *relay) {
	t.Helper()
	u, err := url.Parse(place)
	require.NoError(t, err)
	query := u.Query()
	const socket = ".s.PGSQL.5432"
	server := filepath.Join(query.Get("host"), socket)
	folder, err := os.MkdirTemp("", "relay") // a socket's path is short
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	l, err := net.Listen("unix", filepath.Join(folder, socket))
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	r := &relay{}
	go func() {
		for {
			app, err := l.Accept()
			if err != nil {
				return
			}
			there, err := net.Dial("unix", server)
			if err != nil {
				_ = app.Close()
				continue
			}
			go r.pass(there, app)
			go r.pass(app, there)
		}
	}()
	query.Set("host", folder)
	query.Set("connect_timeout", "1")
	u.RawQuery = query.Encode()
	return u.String(), r
}

func (r *relay) pass(to, from net.Conn) {
	b := make([]byte, 64<<10)
	for {
		n, err := from.Read(b)
		if r.cut.Load() {
			return
		}
		if _, werr := to.Write(b[:n]); err == io.EOF || werr != nil {
			_, _ = to.Close(), from.Close()
			return
		}
	}
}

// A server that no longer answers ends a call at its time, also one about a single row.
func TestSilentServerEndsACallAtItsTime(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ op, input string }{
		{"Todo.upsert", `{"model":{"title":"y"}}`},
		{"Todo.patch", `{"id":"1","changes":{"title":"y"}}`},
		{"Todo.get-by-id", `{"id":"1"}`},
	} {
		t.Run(c.op, func(t *testing.T) {
			t.Parallel()
			place, r := relayed(t, pgtest.Place(t))
			a := startIn(t, place, ent.Entities())
			a.call("Todo.upsert", `{"model":{"id":"1","title":"x"}}`)
			r.cut.Store(true)
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			id, err := catalog.ParseID("koan::" + c.op)
			require.NoError(t, err)
			ended := make(chan error, 1)
			go func() {
				_, _, err := a.engine.Invoke(ctx, run.Request{View: a.view, Principal: a.as, ID: id, Input: json.RawMessage(c.input), Surface: "app"})
				ended <- err
			}()
			select {
			case err := <-ended:
				require.Error(t, err)
			case <-time.After(20 * time.Second):
				require.Fail(t, "the call goes on")
			}
		})
	}
}
