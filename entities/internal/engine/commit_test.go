package engine_test

import (
	"bytes"
	"io"
	"net"
	"net/url"
	"path/filepath"
	flags "sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/tests/fixture/ent"
	"github.com/koan-go/koan/tests/pgtest"
)

// wire is a network between the app and PostgreSQL that can break at a commit.
type wire struct {
	lose flags.Bool // the server's answer to the next COMMIT, and the connection
	cut  flags.Bool // before the server hears of it
}

// between puts a wire between an app and a place; it gives the place's new URL.
func between(t *testing.T, place string) (*wire, string) {
	t.Helper()
	at, err := url.Parse(place)
	require.NoError(t, err)
	query := at.Query()
	folder, real := t.TempDir(), query.Get("host")
	l, err := net.Listen("unix", filepath.Join(folder, ".s.PGSQL.5432"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	w := &wire{}
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("unix", filepath.Join(real, ".s.PGSQL.5432"))
			if err != nil {
				_ = client.Close()
				return
			}
			go w.carry(client, server)
		}
	}()
	query.Set("host", folder)
	at.RawQuery = query.Encode()
	return w, at.String()
}

func (w *wire) carry(client, server net.Conn) {
	defer client.Close()
	var deaf flags.Bool
	go func() {
		defer client.Close()
		buf := make([]byte, 1<<16)
		for {
			n, err := server.Read(buf)
			if err != nil || deaf.Load() {
				return
			}
			if _, err := client.Write(buf[:n]); err != nil {
				return
			}
		}
	}()
	buf := make([]byte, 1<<16)
	for {
		n, err := client.Read(buf)
		if err != nil {
			_ = server.Close()
			return
		}
		if bytes.Contains(buf[:n], []byte("COMMIT\x00")) {
			if w.cut.CompareAndSwap(true, false) {
				_ = server.Close()
				return
			}
			deaf.Store(w.lose.CompareAndSwap(true, false))
		}
		if _, err := io.Copy(server, bytes.NewReader(buf[:n])); err != nil {
			return
		}
	}
}

// When nobody hears how a commit ended, its receipt tells.
func TestTheReceiptTellsHowACommitEnded(t *testing.T) {
	t.Parallel()
	w, where := between(t, pgtest.Place(t))
	a := startIn(t, where, ent.Entities())
	w.lose.Store(true)
	_, out, err := a.try("Todo.upsert", `{"model":{"id":"heard","title":"x"}}`)
	require.NoError(t, err)
	require.True(t, out.Committed)
	require.Equal(t, "x", a.call("Todo.get-by-id", `{"id":"heard"}`)["title"])

	w.cut.Store(true)
	a.fails(fault.OutcomeUnknown, "Todo.upsert", `{"model":{"id":"lost","title":"x"}}`)
	a.fails(fault.NotFound, "Todo.get-by-id", `{"id":"lost"}`)
}
