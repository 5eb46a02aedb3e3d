package events

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/tests/soak"
)

// raw opens a stream on a connection that is read by nobody but the test.
func (s *server) raw(id string) net.Conn {
	host := strings.TrimPrefix(s.url, "http://")
	c, err := net.Dial("tcp", host)
	require.NoError(s.t, err)
	s.t.Cleanup(func() { _ = c.Close() })
	header := ""
	if id != "" {
		header = "Last-Event-ID: " + id + "\r\n"
	}
	_, err = fmt.Fprintf(c, "GET /api/events HTTP/1.1\r\nHost: %s\r\n%s\r\n", host, header)
	require.NoError(s.t, err)
	return c
}

// A thousand listeners cost little while nothing happens, and get what happens; those that
// never read cost no more, are cut, and can go on from where they were.
func TestThousandListeners(t *testing.T) {
	soak.Proof(t)
	t.Setenv("GOGC", "50") // what listeners hold counts, not what was thrown away when they came
	s := process(t, "fixture", "sqlite://"+t.TempDir())
	s.do(http.StatusCreated, "POST", "/api/todo", `{"id":"warm","title":"x"}`)
	s.follow(nil).stop()
	const most = 1000
	before := residentKB(t, s.cmd.Process.Pid)
	streams := make([]*bufio.Reader, most)
	conns := make([]net.Conn, most)
	const together = 20 // what listeners take while they come is gone by the time that the next ones do
	for first := 0; first < most; first += together {
		for i := first; i < first+together; i++ {
			conns[i] = s.raw("")
			streams[i] = bufio.NewReaderSize(conns[i], 512)
		}
		for i := first; i < first+together; i++ {
			readUntil(t, conns[i], streams[i], "id: ")
		}
	}
	idle := residentKB(t, s.cmd.Process.Pid)
	t.Logf("%.1f KB for an idle listener (%d KB before, %d KB with %d)", float64(idle-before)/most, before, idle, most)
	require.Less(t, float64(idle-before)/most, 30.0)

	began := time.Now()
	s.do(http.StatusCreated, "POST", "/api/todo", `{"id":"one","title":"x"}`)
	var last time.Duration
	for i := range streams {
		require.Contains(t, readUntil(t, conns[i], streams[i], "data: "), `"id":"one"`)
		last = time.Since(began)
	}
	t.Logf("a change was with all %d after %s", most, last.Round(time.Millisecond))

	// Megabytes for each of them, which nobody reads.
	large := strings.Repeat("x", 100_000)
	var writing sync.WaitGroup
	for w := range 4 {
		writing.Go(func() {
			for i := range 25 {
				_, _ = s.try("POST", "/api/todo", fmt.Sprintf(`{"id":"l%d-%d","title":"x","notes":%q}`, w, i, large))
			}
		})
	}
	writing.Wait()
	time.Sleep(time.Second) // what is being sent to all of them is in memory now, if anywhere
	full := residentKB(t, s.cmd.Process.Pid)
	t.Logf("%d KB after %d MB for each listener were not read", full, 10)
	require.Less(t, full-idle, 300_000, "10 GB were not read")
}

// readUntil returns the next line that begins so.
func readUntil(t testing.TB, c net.Conn, r *bufio.Reader, prefix string) string {
	t.Helper()
	require.NoError(t, c.SetReadDeadline(time.Now().Add(30*time.Second)))
	for {
		line, err := r.ReadString('\n')
		require.NoError(t, err)
		if strings.HasPrefix(line, prefix) {
			return strings.TrimSpace(line)
		}
	}
}

// A listener that does not read is cut with a fault behind what it was sent, and goes on from
// there.
func TestSlowListenerIsCut(t *testing.T) {
	t.Parallel()
	s := process(t, "fixture", "sqlite://"+t.TempDir())
	c := s.raw("")
	fast := s.follow(nil)
	large := strings.Repeat("x", 60_000)
	const changes = 320
	for n := range changes / 40 { // more than sockets take
		s.do(http.StatusOK, "POST", "/tools/koan.code.execute", fmt.Sprintf(`{"code":"for (let i = 0; i < 40; i++) SDK.Entities.Todo.upsert({id: 'n%d-' + i, title: 't', notes: SDK.args})","args":%q,"atomic":false}`, n, large))
	}
	time.Sleep(11 * time.Second) // longer than a listener may take, shorter than the connection waits for it
	require.NoError(t, c.SetReadDeadline(time.Now().Add(60*time.Second)))
	all, err := io.ReadAll(untilEnd(c))
	require.NoError(t, err)
	events := bytes.Split(all, []byte("\n\n"))
	var sent int
	id, failed := "", ""
	for _, e := range events {
		for _, line := range strings.Split(string(e), "\n") {
			if value, ok := strings.CutPrefix(line, "id: "); ok {
				id = value
			}
		}
		if bytes.Contains(e, []byte("event: change")) {
			sent++
		}
		if bytes.Contains(e, []byte("event: error")) {
			failed = string(e)
		}
	}
	require.Contains(t, failed, `"code":"queue_overloaded"`)
	require.Contains(t, failed, "too slow")
	require.Less(t, sent, changes)
	for range changes {
		fast.next()
	}
	again := s.follow(nil, "Last-Event-ID", id)
	for range changes - sent {
		again.next()
	}
	s.do(http.StatusCreated, "POST", "/api/todo", `{"id":"after","title":"x"}`)
	require.Equal(t, "create Todo default/after", again.next().brief(), "each came once")
}

// untilEnd reads the body of a response in chunks.
func untilEnd(c net.Conn) io.Reader {
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return strings.NewReader("")
	}
	return resp.Body
}
