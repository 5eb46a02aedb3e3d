package office

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/tests/pgtest"
)

// serve has Ann reach her world over HTTP, too, and remembers where its changes stand.
func (w *twinWorld) serve() {
	w.t.Helper()
	handler, err := w.Instance().HTTPHandler(framework.HTTPOptions{Authenticate: func(*http.Request) (auth.Principal, error) { return w.who, nil }})
	require.NoError(w.t, err)
	s := httptest.NewServer(handler)
	w.t.Cleanup(func() { handler.Shutdown(context.Background()); s.Close() })
	w.url = s.URL
	w.follow(func(field, _ string) bool { return field == "id" })
}

// request sends a request as Ann. The response ends with the test at the latest.
func (w *twinWorld) request(ctx context.Context, method, path, body string, header ...string) *http.Response {
	w.t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, w.url+path, strings.NewReader(body))
	require.NoError(w.t, err)
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
	require.NoError(w.t, err)
	w.t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

// follow reads Ann's stream of changes from where she left it, until enough reports that a line
// was the last one.
func (w *twinWorld) follow(enough func(field, value string) bool) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	defer cancel()
	resp := w.request(ctx, http.MethodGet, "/api/events", "", "Last-Event-ID", w.lastID)
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		field, value, _ := strings.Cut(lines.Text(), ": ")
		if field == "id" {
			w.lastID = value
		}
		if enough(field, value) {
			return
		}
	}
	require.Fail(w.t, "the stream of changes ended", "status %d: %v", resp.StatusCode, lines.Err())
}

// events returns what Ann's stream of changes has had since she last read it: up to a folder that
// is made now, so that nothing depends on when changes arrive. The ids of events are not compared:
// they have the position of a commit among all of its set.
func (w *twinWorld) events() string {
	w.t.Helper()
	w.marks++
	mark := fmt.Sprintf("mark-%d", w.marks)
	w.Run(fmt.Sprintf(`SDK.Entities.Folder.upsert({id: %q, name: "n"})`, mark), koantest.Input{})
	var seen strings.Builder
	w.follow(func(field, value string) bool {
		if field == "event" || field == "data" {
			seen.WriteString(field + " " + value + "\n")
		}
		return field == "data" && strings.Contains(value, `"`+mark+`"`)
	})
	return seen.String()
}

// replay asks for a replay of a run.
func (w *twinWorld) replay(id string) string {
	w.t.Helper()
	resp := w.request(w.t.Context(), http.MethodPost, "/api/console/runs/"+id+"/replay", "{}")
	text, err := io.ReadAll(resp.Body)
	require.NoError(w.t, err)
	return fmt.Sprint(resp.StatusCode, " ", string(text))
}

// TestWorldsTakeAlike compares how long it takes to look for what the caller may not see. A
// difference that is always there is one between the fastest times too, and a busy machine does
// not hide or make one: the test goes on until both worlds have had a quick moment, and fails only
// if that never comes.
func TestWorldsTakeAlike(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestWorldsTakeAlike) {
		return
	}
	const difference, fewest, most = 50 * time.Millisecond, 3, 100
	var worlds [2]*twinWorld
	for i := range worlds {
		w := newWorld(t, place(t), i, koantest.Setting{Key: "replay.keep", Value: "all"})
		w.serve()
		for _, name := range []string{"guess a key", "touch"} {
			operations[name](w, nil)
		}
		require.Len(t, w.runs, 2)
		if i == 1 {
			w.Run(`SDK.Entities.Badge.patch("k1", {key: "9"}); SDK.Entities.Document.patch("b1", {title: "changed"}); SDK.Entities.Document.delete("b2")`, koantest.Input{})
		}
		worlds[i] = w
	}
	undo := func(w *twinWorld, id string) string {
		return w.see("code::koan.undo", map[string]any{"runId": id, "dryRun": true, "onConflict": "skip"})
	}
	report := func(w *twinWorld, id string) string {
		text, err := w.report(w.who, id)
		return fmt.Sprint(text, err)
	}
	status := func(w *twinWorld, id string) string {
		return w.see("code::koan.status", map[string]any{"runId": id})
	}
	for _, probe := range []struct {
		name string
		look func(w *twinWorld) string
	}{
		{"undo of a guess", func(w *twinWorld) string { return undo(w, w.runs[0]) }},
		{"undo of an action", func(w *twinWorld) string { return undo(w, w.runs[1]) }},
		{"report", func(w *twinWorld) string { return report(w, w.runs[1]) }},
		{"undo of another's run", func(w *twinWorld) string { return undo(w, w.foreign) }},
		{"report of another's run", func(w *twinWorld) string { return report(w, w.foreign) }},
		{"status of another's run", func(w *twinWorld) string { return status(w, w.foreign) }},
		{"replay of another's run", func(w *twinWorld) string { return w.replay(w.foreign) }},
		{"hidden row", func(w *twinWorld) string { return w.see("koan::Document.get-by-id", map[string]any{"id": "b2"}) }},
		{"write to a hidden row", func(w *twinWorld) string {
			return w.see("koan::Document.patch", map[string]any{"id": "b2", "changes": map[string]any{"title": "x"}})
		}},
	} {
		t.Run(probe.name, func(t *testing.T) {
			fastest := [2]time.Duration{time.Hour, time.Hour}
			for n := 1; ; n++ {
				var seen [2]string
				for i, w := range worlds {
					began := time.Now()
					text := probe.look(w)
					fastest[i] = min(fastest[i], time.Since(began))
					seen[i] = w.normal(text, map[string]string{})
				}
				require.Equal(t, seen[0], seen[1])
				apart := (fastest[0] - fastest[1]).Abs()
				if n >= fewest && apart < difference {
					return
				}
				require.Less(t, n, most, "the worlds differ by %s", apart)
			}
		})
	}
}
