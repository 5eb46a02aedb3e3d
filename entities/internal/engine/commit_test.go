package engine_test

import (
	"bytes"
	"net"
	"net/url"
	"os"
	"path/filepath"
	flags "sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/tests/fixture/ent"
	"github.com/koan-go/koan/tests/pgtest"
	"github.com/koan-go/koan/tests/race"
)

// wire is a network between the app and PostgreSQL that can break.
type wire struct {
	lose   flags.Bool // the server's answer to the next COMMIT, and the connection
	cut    flags.Bool // before the server hears of it
	silent flags.Bool // nothing is passed on any more, and nothing is closed
}

// between puts a wire between an app and a place, and returns the place's new URL.
func between(t *testing.T, place string) (*wire, string) {
	t.Helper()
	at, err := url.Parse(place)
	require.NoError(t, err)
	query := at.Query()
	real := query.Get("host")
	folder, err := os.MkdirTemp("", "wire") // the path of a socket must be short
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
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
	query.Set("connect_timeout", "1")
	at.RawQuery = query.Encode()
	return w, at.String()
}

func (w *wire) carry(client, server net.Conn) {
	var deaf flags.Bool
	go func() {
		buf := make([]byte, 1<<16)
		for {
			n, err := server.Read(buf)
			if w.silent.Load() {
				return
			}
			if err == nil && !deaf.Load() {
				_, err = client.Write(buf[:n])
			}
			if err != nil || deaf.Load() {
				_ = client.Close()
				return
			}
		}
	}()
	buf := make([]byte, 1<<16)
	for {
		n, err := client.Read(buf)
		if w.silent.Load() {
			return
		}
		if err != nil {
			_ = server.Close()
			return
		}
		if bytes.Contains(buf[:n], []byte("COMMIT\x00")) {
			if w.cut.CompareAndSwap(true, false) {
				_, _ = server.Close(), client.Close()
				return
			}
			deaf.Store(w.lose.CompareAndSwap(true, false))
		}
		if _, err := server.Write(buf[:n]); err != nil {
			_ = client.Close()
			return
		}
	}
}

// When nobody hears how a commit ended, its receipt tells.
func TestTheReceiptTellsHowACommitEnded(t *testing.T) {
	race.Detect(t)
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
