package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
)

// A schema that another program has changed is served after a look at it: what is new, what is gone, and
// columns of another type. Keys and undo of runs from before go on.
func TestRefreshTakesAnotherSchema(t *testing.T) {
	for name, inData := range map[string]string{"beside": "false", "inside": "true"} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, s store) {
				i, err := start(t, map[string]string{"database": s.place, "readOnly": "false", "approval.mode": "never", "ledger.inData": inData})
				require.NoError(t, err)
				changes := 0
				i.OnChange(func() { changes++ })
				code := `return SDK.Entities.Customer.patch("1", { rating: 8 }).rating`
				key := map[string]any{"idempotencyKey": "before"}
				did := script(t, i, code, key)
				does(t, i, "koan::Note.collection", `{}`)

				_, err = s.db.Exec(`ALTER TABLE customers ADD COLUMN phone TEXT; DROP TABLE notes; CREATE TABLE notes (id INTEGER PRIMARY KEY, body INTEGER, by VARCHAR(20) NOT NULL);
INSERT INTO notes VALUES (1, 5, 'x'); DROP TABLE lines; CREATE TABLE parcels (id INTEGER PRIMARY KEY, order_id INTEGER REFERENCES orders)`)
				require.NoError(t, err)
				require.Equal(t, fault.ToolNotFound, refused(t, i, "koan::Parcel.count", `{}`).Code)
				require.Contains(t, refused(t, i, "koan::Line.collection", `{}`).Hint, "SIGHUP")
				require.NoError(t, i.Refresh(t.Context()))
				require.Equal(t, 1, changes)

				require.Equal(t, "7", does(t, i, "koan::Parcel.upsert", `{"model":{"id":"1","orderId":"7"}}`)["orderId"])
				require.Equal(t, map[string]any{"id": "1", "body": 5.0, "by": "x"}, does(t, i, "koan::Note.get-by-id", `{"id":"1"}`))
				require.Equal(t, "0", does(t, i, "koan::Customer.patch", `{"id":"2","changes":{"phone":"0"}}`)["phone"])
				require.Equal(t, fault.ToolNotFound, refused(t, i, "koan::Line.collection", `{}`).Code)
				require.Equal(t, did["runId"], script(t, i, code, key)["runId"], "the key is known")
				again := map[string]any{"idempotencyKey": "after"}
				made := script(t, i, `return SDK.Entities.Tag.upsert({ id: "late" }).id`, again)
				require.Equal(t, made["runId"], script(t, i, `return SDK.Entities.Tag.upsert({ id: "late" }).id`, again)["runId"])
				_, err = call(t, i, "code::koan.undo", map[string]any{"runId": did["runId"]})
				require.NoError(t, err)
				require.Equal(t, []string{"2", "4"}, s.list(t, "SELECT rating FROM customers ORDER BY customer_id"))
				require.Contains(t, strings.Join(i.Report(), "\n"), "entities=")
			})
		})
	}
}

// What cannot be looked at leaves what is served.
func TestRefreshThatFailsChangesNothing(t *testing.T) {
	path := shopFile(t)
	i, err := start(t, map[string]string{"database": "sqlite:" + path})
	require.NoError(t, err)
	require.NoError(t, os.Rename(path, path+".old"))
	require.ErrorContains(t, i.Refresh(t.Context()), "no such file")
	require.NoError(t, os.WriteFile(path, []byte(strings.Repeat("no database ", 100)), 0o600))
	require.ErrorContains(t, i.Refresh(t.Context()), "not a database")
	raw, err := os.ReadFile(path + ".old")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, raw, 0o600))
	require.ErrorContains(t, i.Refresh(t.Context()), "another file than the one that is served")
	require.Equal(t, 2.0, does(t, i, "koan::Customer.count", `{}`)["count"])
	require.NoError(t, os.Rename(path+".old", path))
	require.NoError(t, i.Refresh(t.Context()))
}

// served is `koan serve` in a process of its own.
func served(t *testing.T, args ...string) (*exec.Cmd, io.Writer, *bufio.Reader) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Args = append([]string{"koan", "serve"}, args...) // by whose name TestMain knows that this is koan
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "HOME="+cmd.Dir, "XDG_DATA_HOME="+filepath.Join(cmd.Dir, "data"))
	cmd.Stderr = t.Output()
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = in.Close(); _ = cmd.Process.Signal(os.Interrupt); _ = cmd.Wait() })
	return cmd, in, bufio.NewReaderSize(out, 1<<20)
}

// until reads lines up to one that has a text.
func until(t *testing.T, lines *bufio.Reader, want string) string {
	t.Helper()
	for {
		line, err := lines.ReadString('\n')
		require.NoError(t, err, want)
		if strings.Contains(line, want) {
			return line
		}
	}
}

// SIGHUP has plain `koan serve` take a schema that has changed, while its client stays connected.
func TestSignalTakesAnotherSchema(t *testing.T) {
	each(t, func(t *testing.T, s store) {
		cmd, in, out := served(t, "--database", s.place, "--exposure", "full")
		say := func(text string) {
			t.Helper()
			_, err := io.WriteString(in, text+"\n")
			require.NoError(t, err)
		}
		say(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`)
		until(t, out, `"id":1`)
		say(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		_, err := s.db.Exec("CREATE TABLE parcels (id INTEGER PRIMARY KEY, weight INTEGER); INSERT INTO parcels VALUES (1, 5), (2, 6)")
		require.NoError(t, err)
		say(`{"jsonrpc":"2.0","id":2,"method":"ping"}`)
		until(t, out, `"id":2`)
		require.NoError(t, cmd.Process.Signal(syscall.SIGHUP))
		until(t, out, "notifications/tools/list_changed")
		say(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"koan_code_execute","arguments":{"code":"SDK.Entities.Parcel.aggregate({sum: 'weight'})"}}}`)
		require.Contains(t, until(t, out, `"id":3`), "11")
	})
}

func TestSignalTakesAnotherSchemaOverHTTP(t *testing.T) {
	each(t, func(t *testing.T, s store) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		address := l.Addr().String()
		require.NoError(t, l.Close())
		cmd, _, _ := served(t, "--database", s.place, "--exposure", "full", "--http", address)
		ask := func(path string) string {
			resp, err := http.Get("http://" + address + path)
			if err != nil {
				return err.Error()
			}
			defer func() { _ = resp.Body.Close() }()
			body, err := io.ReadAll(resp.Body)
			require.NoError(t, err)
			return fmt.Sprint(resp.StatusCode, " ", string(body))
		}
		within := func(path, want string) {
			t.Helper()
			require.Eventually(t, func() bool { return strings.Contains(ask(path), want) }, 20*time.Second, 20*time.Millisecond, "%s", ask(path))
		}
		within("/readyz", "200 ")
		within("/api/parcel", "404 ")
		_, err = s.db.Exec("CREATE TABLE parcels (id INTEGER PRIMARY KEY, weight INTEGER); INSERT INTO parcels VALUES (1, 5)")
		require.NoError(t, err)
		require.NoError(t, cmd.Process.Signal(syscall.SIGHUP))
		within("/api/parcel", `"weight":5`)
	})
}

// koanIn runs a command of koan in a folder.
func koanIn(t *testing.T, dir string, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Args = append([]string{"koan"}, args...) // by whose name TestMain knows that this is koan
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "HOME="+dir, "XDG_DATA_HOME="+filepath.Join(dir, "data"))
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		require.NotNil(t, cmd.ProcessState, "%v", err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}
