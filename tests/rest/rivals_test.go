package rest

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/koantest"
)

// pocketBase starts PocketBase with the same rows, in a process of its own, and returns its
// address.
func pocketBase(b *testing.B) string {
	b.Helper()
	program := filepath.Join(b.TempDir(), "pocketbase")
	build := exec.CommandContext(b.Context(), "go", "build", "-o", program, ".")
	build.Dir = "../bench/pocketbase" // a module of its own: the app's does not know its dependencies
	said, err := build.CombinedOutput()
	require.NoError(b, err, "%s", said)
	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(b, err)
	address := free.Addr().String()
	require.NoError(b, free.Close())
	cmd := exec.CommandContext(b.Context(), program, b.TempDir(), address)
	out, err := cmd.StdoutPipe()
	require.NoError(b, err)
	require.NoError(b, cmd.Start())
	b.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(b, err, line)
	go func() { _, _ = io.Copy(io.Discard, out) }()
	require.Eventually(b, func() bool {
		resp, err := http.Get("http://" + address + "/ready")
		return err == nil && resp.Body.Close() == nil && resp.StatusCode == http.StatusOK
	}, 10*time.Second, 10*time.Millisecond)
	return "http://" + address
}

// BenchmarkRESTRivals measures reads over REST beside PocketBase, which has a process of its
// own while the app has that of the clients. The app keeps its journal.
func BenchmarkRESTRivals(b *testing.B) {
	kit := koantest.NewConfined(b, fixtureApp(), koantest.Setting{Key: "database", Value: "sqlite://" + b.TempDir()})
	s := mount(b, kit, framework.HTTPOptions{})
	for i := range 100 {
		require.Equal(b, http.StatusCreated, s.do("PUT", fmt.Sprintf("/api/todo/t%03d", i), `{"title":"Buy milk"}`).status)
	}
	rival := pocketBase(b) + "/api/collections/todo/records"
	for _, c := range []struct{ name, path, theirs string }{
		{"get", "/api/todo/t007", "/t00000000000007"}, {"page", "/api/todo?pageSize=20&count=false", "?perPage=20&skipTotal=true"},
	} {
		for _, clients := range []int{1, 16} {
			b.Run(fmt.Sprintf("%s/clients=%d", c.name, clients), func(b *testing.B) {
				ours, many := load(b, b.N, clients, s.url+c.path)
				theirs, manyTheirs := load(b, b.N, clients, rival+c.theirs)
				b.ReportMetric(float64(ours.Microseconds()), "p50-µs")
				b.ReportMetric(float64(theirs.Microseconds()), "rival-p50-µs")
				b.ReportMetric(many, "requests/s")
				b.ReportMetric(manyTheirs, "rival-requests/s")
				b.ReportMetric(float64(ours)/float64(theirs), "x-rival")
			})
		}
	}
}
