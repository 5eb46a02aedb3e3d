package worker

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/koan-go/koan/codemode/wire"
)

// usual is a module as models write them, plain a script that compiles as it stands.
//
//go:embed usual.ts
var usual string

const plain = `SDK.Entities.Row.getById(SDK.args.id).name`

// rehearsals is what a worker runs before it is ready, each once: another time costs
// 4 ms of a start and saves nothing that can be measured. The first goes through the
// compiler.
var rehearsals = []string{usual, plain}

// rehearse runs jobs as hosts send them, against a host that has the answers ready:
// a script does not pay for the pages of code, the tables and the pages of the heap
// that every job needs. It comes before the confinement: what the compilers read
// from the system they have read then. What it leaves behind is collected here, and
// its pages stay.
func rehearse() error {
	for _, code := range rehearsals {
		r, err := rehearsal(code)
		if err == nil && r.Fault != nil {
			err = r.Fault
		}
		if err != nil {
			return fmt.Errorf("worker: the rehearsal failed: %w", err)
		}
	}
	runtime.GC()
	return nil
}

// rehearsal runs one job over a host's frames.
func rehearsal(code string) (*wire.Result, error) {
	s, err := prepare()
	if err != nil {
		return nil, err
	}
	j := usualJob(code)
	if err := s.prebind(j.Bindings.JSON()); err != nil {
		return nil, err
	}
	j.Bindings = wire.Bindings{}
	job, err := wire.Marshal(j)
	if err != nil {
		return nil, err
	}
	answers, said := usualAnswers(), &bytes.Buffer{}
	h := &host{r: wire.NewReader(answers, maxJob), w: wire.NewWriter(said), spin: &Spin{}}
	if err := h.job(s, job); err != nil {
		return nil, err
	}
	for heard := wire.NewReader(said, maxJob); ; {
		f, err := heard.Read()
		if err != nil {
			return nil, err
		}
		if f.Kind == wire.KindResult {
			var r wire.Result
			return &r, json.Unmarshal(f.Payload, &r)
		}
	}
}

// usualRows is how many rows the host of a rehearsal gives for a page.
const usualRows = 20

// usualJob is a job over an app of a few entities.
func usualJob(code string) *wire.Job {
	job := &wire.Job{
		Task: wire.Execute, Code: code, Args: json.RawMessage(`{"id":"1","names":["milk","eggs"],"most":10}`),
		Limits: wire.Limits{
			CPUMs: 2000, MemoryBytes: 64 << 20, MaxRecursion: 512, MaxLogEntries: 200, MaxLogBytes: 64 << 10, MaxLogMessageBytes: 16 << 10,
			MaxStackFrames: 10, MaxResultBytes: 256 << 10, MaxCallBytes: 8 << 20, MaxParallelCalls: 64,
		},
		Bindings: wire.Bindings{Version: "rehearsal", Domains: []wire.Domain{{Name: "Things", Functions: []wire.Function{{Name: "find", ID: "plugin::things.find"}}}}},
	}
	ops := []string{"collection", "get-by-id", "aggregate", "upsert", "upsert-many", "patch", "delete", "delete-many"}
	for _, name := range []string{"Row", "Column", "Table", "Sheet"} {
		job.Bindings.Entities = append(job.Bindings.Entities, wire.Entity{
			Name: name, Ops: ops, Fields: []string{"id", "name", "tags", "done"}, Kinds: "otle", Edges: []string{"columns"},
			Targets: map[string]string{"columns": "Column"}, Many: []string{"columns"}, Sets: []string{"default"}, Searchable: true,
		})
	}
	return job
}

// usualAnswers are the frames of a host that gives a page of rows, and then the same
// row for each call: as many as the rehearsals make.
func usualAnswers() *bytes.Buffer {
	const row = `{"id":"1","name":"milk","tags":["dairy","cold"],"done":false,"price":1.25,"note":null,"at":"2026-01-01T00:00:00Z"}`
	var frames bytes.Buffer
	w := wire.NewWriter(&frames)
	// A buffer takes everything.
	_ = w.WriteJSON(wire.KindBegin, 0, wire.Occasion{RunID: "run_rehearsal", Set: "default", NowMs: 1, Seed: 1})
	page := `{"items":[` + strings.Repeat(row+",", usualRows-1) + row + `],"totalCount":20}`
	for call, out := range append([]string{page}, slices.Repeat([]string{row}, usualRows)...) {
		_ = w.Write(wire.KindReturn, uint32(call+1), wire.EncodeReturn(wire.StatusOK, int64(call)), []byte(out))
	}
	return &frames
}
