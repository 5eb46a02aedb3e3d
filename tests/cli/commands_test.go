package cli

import (
	"bytes"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	_ "github.com/mattn/go-sqlite3" // makes files that are not an app's
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/koan-go/koan/tests/scripttest"
)

// commands are what the scripts have beside testscript's own commands.
var commands = map[string]func(ts *testscript.TestScript, neg bool, args []string){
	"status":  scripttest.Status,
	"line":    line,
	"mask":    maskOutput,
	"capture": capture,
	"digest":  digest,
	"sqlite":  sqlite,
}

// runLine is what is checked of the line of `APP run` (CONTRACT section 7).
type runLine struct {
	RunID        string                     `json:"run_id"`
	TraceID      string                     `json:"trace_id"`
	InputDigest  string                     `json:"input_digest"`
	OutputDigest string                     `json:"output_digest"`
	DurationMs   *int64                     `json:"duration_ms"`
	Result       map[string]json.RawMessage `json:"result"`
}

// line checks that standard output is the one line of a run, with ids, digests and times
// that are right, and prints it indented and masked. An argument names the file of the
// script.
func line(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 1 {
		ts.Fatalf("usage: line [file]")
	}
	text := ts.ReadFile("stdout")
	if strings.Count(text, "\n") != 1 || !strings.HasSuffix(text, "\n") || len(text) > 64<<10 {
		ts.Fatalf("standard output is not one line of at most 64 KiB: %q", text)
	}
	var l runLine
	ts.Check(json.Unmarshal([]byte(text), &l))
	if !fullMatch(ids, l.RunID) || !fullMatch(traces, l.TraceID) {
		ts.Fatalf("run_id or trace_id is malformed: %q, %q", l.RunID, l.TraceID)
	}
	var metrics struct {
		DurationMs *int64 `json:"duration_ms"`
	}
	ts.Check(json.Unmarshal(l.Result["metrics"], &metrics))
	if l.DurationMs == nil || metrics.DurationMs == nil || *l.DurationMs != *metrics.DurationMs {
		ts.Fatalf("duration_ms is missing or differs from result.metrics")
	}
	if len(args) == 1 {
		if l.InputDigest != digestOf([]byte(ts.ReadFile(args[0]))) {
			ts.Fatalf("input_digest is not that of %s", args[0])
		}
		text = strings.ReplaceAll(text, l.InputDigest, "<digest of "+args[0]+">")
	}
	if want := digestOf(canonical(ts, l.output())); l.OutputDigest != want {
		ts.Fatalf("output_digest is %s, want %s", l.OutputDigest, want)
	}
	text = strings.ReplaceAll(text, l.OutputDigest, "<digest>")
	text = durationMember.ReplaceAllString(text, `"duration_ms":"<n>"`)
	var pretty bytes.Buffer
	ts.Check(json.Indent(&pretty, []byte(text), "", "  "))
	fmt.Fprint(ts.Stdout(), maskOf(ts).apply(pretty.String()))
}

// output is what the output digest is over: data and answer of a run that succeeded, or
// its error.
func (l *runLine) output() any {
	if e, failed := l.Result["error"]; failed {
		return e
	}
	return map[string]json.RawMessage{"data": l.Result["data"], "answer": l.Result["answer"]}
}

// canonical sorts the names of JSON whose names are ASCII and whose numbers are whole.
func canonical(ts *testscript.TestScript, v any) []byte {
	raw, err := json.Marshal(v)
	ts.Check(err)
	var sorted any
	ts.Check(json.Unmarshal(raw, &sorted))
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	ts.Check(enc.Encode(sorted))
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

func digestOf(b []byte) string {
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// digest checks that the output digest of the line on standard output is that of a file,
// without the newline at its end.
func digest(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: digest file")
	}
	var l runLine
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &l))
	if want := digestOf([]byte(strings.TrimSuffix(ts.ReadFile(args[0]), "\n"))); l.OutputDigest != want {
		ts.Fatalf("output_digest is %s, want %s of %s", l.OutputDigest, want, args[0])
	}
}

// capture sets a variable to a member of the JSON on standard output: capture PLAN plan_id.
func capture(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: capture NAME member")
	}
	var members map[string]any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &members))
	value, ok := members[args[1]].(string)
	if !ok {
		ts.Fatalf("there is no text %s in %v", args[1], members)
	}
	ts.Setenv(args[0], value)
}

// sqlite executes statements on a SQLite file: sqlite data/other.db 'CREATE TABLE ...'.
func sqlite(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: sqlite file statements")
	}
	db, err := sql.Open("sqlite3", ts.MkAbs(args[0]))
	ts.Check(err)
	_, err = db.Exec(args[1])
	ts.Check(errors.Join(err, db.Close()))
}

var (
	ids            = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}`)
	traces         = regexp.MustCompile(`\b[0-9a-f]{32}\b`)
	catalogs       = regexp.MustCompile(`\b[0-9a-f]{24}\b`)
	times          = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)`)
	milliseconds   = regexp.MustCompile(`\b\d+ ms\b`)
	durationMember = regexp.MustCompile(`"duration_ms":\d+`)
)

func fullMatch(r *regexp.Regexp, s string) bool { return r.FindString(s) == s && s != "" }

// maskKey is the key of a script's mask among its values.
type maskKey struct{}

func maskOf(ts *testscript.TestScript) *mask { return ts.Value(maskKey{}).(*mask) }

// mask replaces what differs from one execution of a script to the next. An id has one
// name in the whole script, so that what is printed shows where ids are the same.
type mask struct {
	work   string
	names  map[string]string // what stands for an id
	counts map[string]int    // by kind of id
}

func newMask(work string) *mask {
	return &mask{work: work, names: map[string]string{}, counts: map[string]int{}}
}

func (m *mask) apply(text string) string {
	for _, k := range []struct {
		kind    string
		pattern *regexp.Regexp
	}{{"id", ids}, {"trace", traces}, {"catalog", catalogs}} {
		text = k.pattern.ReplaceAllStringFunc(text, func(id string) string { return m.name(id, k.kind) })
	}
	text = times.ReplaceAllString(text, "<time>")
	text = milliseconds.ReplaceAllString(text, "<n> ms")
	return strings.ReplaceAll(text, m.work, "$WORK")
}

func (m *mask) name(id, kind string) string {
	if m.names[id] == "" {
		m.counts[kind]++
		m.names[id] = fmt.Sprintf("<%s %d>", kind, m.counts[kind])
	}
	return m.names[id]
}

// maskOutput prints an output, or a file, masked: mask stderr.
func maskOutput(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: mask stdout|stderr|file")
	}
	fmt.Fprint(ts.Stdout(), maskOf(ts).apply(ts.ReadFile(args[0])))
}
