package recording_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/codemode/internal/recording"
	"github.com/koan-go/koan/codemode/internal/sandbox"
	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/codemode/languages"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run/replay"
)

// world is a host whose answers come in a random order after random times, and
// differ each time.
type world struct {
	most   int // calls, then it ends the script
	calls  int
	onCall func(n int) // gets the number of calls so far, unless it is nil
	flying chan flight
	open   int
	now    int64
}

type flight struct {
	ref uint32
	out json.RawMessage
	err error
}

func newWorld(most int) *world {
	return &world{most: most, flying: make(chan flight, 100), now: time.Now().UnixMilli()}
}

func (w *world) answer(input json.RawMessage) (json.RawMessage, error) {
	w.calls++
	if w.onCall != nil {
		w.onCall(w.calls)
	}
	if w.most > 0 && w.calls > w.most {
		return nil, fault.Newf(fault.SDKCallsExceeded, "the script made more than %d calls", w.most)
	}
	if strings.Contains(string(input), "fail") {
		return nil, fault.Invalid(fault.Detail{Path: "/a", Message: "wrong"}, fault.Detail{Path: "/b", Message: "wrong too"})
	}
	return json.RawMessage(fmt.Sprintf(`{"n":%d,"of":%s,"text":"<é> \\u2028"}`, rand.IntN(1_000_000), input)), nil
}

func (w *world) Call(_ context.Context, _ string, input json.RawMessage) (json.RawMessage, int64, error) {
	out, err := w.answer(input)
	w.now += rand.Int64N(5)
	return out, w.now, err
}

func (w *world) Start(_ context.Context, ref uint32, _ string, input json.RawMessage) {
	out, err := w.answer(input)
	w.open++
	go func() {
		time.Sleep(time.Duration(rand.IntN(3000)) * time.Microsecond)
		w.flying <- flight{ref, out, err}
	}()
}

func (w *world) Next(ctx context.Context, most time.Duration) (uint32, json.RawMessage, int64, error) {
	var late <-chan time.Time
	if most >= 0 {
		late = time.After(most)
	}
	select {
	case f := <-w.flying:
		w.open--
		w.now += rand.Int64N(3)
		return f.ref, f.out, w.now, f.err
	case <-late:
		return 0, nil, 0, nil
	case <-ctx.Done():
		return 0, nil, 0, ctx.Err()
	}
}

func (w *world) Progress(float64, float64, string) {}

func (w *world) Emit(int, json.RawMessage) {}

func (w *world) Log(wire.Log) {}

func job(code string) *wire.Job {
	return &wire.Job{
		Task: wire.Execute, Code: code, Occasion: wire.Occasion{RunID: "run", Set: "default", NowMs: time.Now().UnixMilli(), Seed: rand.Uint64()}, Args: json.RawMessage(`{"x":[1,2]}`),
		Bindings: wire.Bindings{
			Entities: []wire.Entity{{Name: "Note", Ops: []string{"get-by-id", "upsert"}}}, Domains: []wire.Domain{},
			Servers: []wire.Server{{ID: "far", Tools: []wire.Tool{{Name: "go", Export: "go", ID: "plugin::far.go"}}}},
		},
	}
}

// recorded runs a script in a world, and returns what is kept of it, through its bytes.
func recorded(t *testing.T, j *wire.Job, w *world) (*recording.Script, *wire.Result) {
	t.Helper()
	rec := recording.NewRecorder(w, 1<<20)
	res, err := sandbox.NewInProcess(languages.All).Execute(t.Context(), j, rec)
	s, serr := rec.Script(*j, res, err)
	require.NoError(t, serr)
	raw, serr := s.Encode()
	require.NoError(t, serr)
	require.LessOrEqual(t, rec.Size(), 1<<20)
	s, serr = recording.Decode(raw, j.Code, j.Args)
	require.NoError(t, serr)
	return s, res
}

func played(t *testing.T, s *recording.Script) *replay.Replayed {
	t.Helper()
	p := recording.NewPlayer(s, nil)
	j := s.Job
	res, _ := sandbox.NewInProcess(languages.All).Execute(t.Context(), &j, p)
	return p.Compare(res)
}

var scripts = map[string]string{
	"a value":     `const a = [1,2]; ({ a, x: SDK.args.x })`,
	"nothing":     ``,
	"clock":       `[Date.now(), new Date().toISOString(), Math.random(), Math.random(), performance?.now?.()]`,
	"calls":       `const n = SDK.Entities.Note.upsert({ text: "a" }); console.log(n, Date.now()); SDK.Out.answer(SDK.Entities.Note.getById("1").n)`,
	"caught":      `try { SDK.Entities.Note.upsert({ text: "fail" }) } catch (e) { console.warn(e.code, e.details, e.hint); } 7`,
	"uncaught":    "1;\nSDK.Entities.Note.upsert({ text: \"fail\" })",
	"thrown":      "const a = 1;\nfunction f() {\n  throw new TypeError('no ' + Math.random());\n}\nf()",
	"syntax":      "const a = 1;\nlet b = ;",
	"quota":       "for (;;)\n  SDK.Entities.Note.getById('1')",
	"not settled": `await new Promise(() => {})`,
	"recursion":   `function f() { return f() + 1 } f()`,
	"timers":      `const t = []; for (let i = 0; i < 5; i++) setTimeout(() => t.push(i, Date.now()), Math.random() * 50); await new Promise((r) => setTimeout(r, 100)); t`,
	"parallel": `import { go } from "@codemode/servers/far";
const order = [];
const timers = [1, 2, 3].map((ms) => new Promise((r) => setTimeout(() => { order.push("timer " + ms); r() }, ms)));
await Promise.all([...timers, ...Array.from({ length: 12 }, async (_, lane) => { const r = await go({ lane }); order.push([lane, r.n, Math.random(), Date.now()]); if (lane % 3 === 0) order.push((await go({ lane, again: true })).n); })]);
export default order;`,
	"race":            `import { go } from "@codemode/servers/far"; const first = await Promise.race([go({ a: 1 }), go({ a: 2 }), go({ a: 3 })]); console.log(first); throw new Error("lost: " + first.n);`,
	"parallel faults": `import { go } from "@codemode/servers/far"; (await Promise.allSettled([go({ a: "fail" }), go({ a: 1 }), go({ a: "fail" })])).map((r) => r.reason?.message ?? r.value.n)`,
	"parallel quota":  "import { go } from \"@codemode/servers/far\";\nfor (;;)\n  await Promise.all([go({ a: 1 }), go({ a: 2 })]);",
}

func TestReplayIsIdentical(t *testing.T) {
	for name, code := range scripts {
		t.Run(name, func(t *testing.T) {
			for range 5 {
				s, res := recorded(t, job(code), newWorld(30))
				got := played(t, s)
				require.Nil(t, got.Difference, "%+v\n%+v", got.Difference, res)
				if name == "thrown" {
					require.Equal(t, 3, res.Fault.Line)
				}
			}
		})
	}
}

// change returns what is kept after an edit of its bytes, or of the code.
func change(t *testing.T, s *recording.Script, code, from, to string) *recording.Script {
	t.Helper()
	raw, err := s.Encode()
	require.NoError(t, err)
	edited := strings.Replace(string(raw), from, to, 1)
	if from != "" {
		require.NotEqual(t, string(raw), edited)
	}
	out, err := recording.Decode([]byte(edited), code, s.Job.Args)
	require.NoError(t, err)
	out.Job.Args = json.RawMessage(`{"x":[1,2]}`)
	return out
}

// A runtime that makes another call, more or fewer of them, another result, other
// logs: the first of these is told, with the line.
func TestReplayReportsFirstDifference(t *testing.T) {
	code := "const a = SDK.Entities.Note.getById('1');\nconsole.log('one');\nSDK.Entities.Note.upsert({ text: 'x' });\nSDK.Out.answer('yes');\n({ v: 1 })"
	s, res := recorded(t, job(code), newWorld(0))
	require.Nil(t, res.Fault)
	cases := []struct {
		name, code, from, to string
		want                 replay.Difference
	}{
		{"another input", strings.Replace(code, "'x'", "'y'", 1), "", "", replay.Difference{In: replay.InCall, Call: 2, Operation: "koan::Note.upsert", Line: 3, Recorded: `koan::Note.upsert {"model":{"text":"x"}}`, Now: `koan::Note.upsert {"model":{"text":"y"}}`}},
		{"another call", strings.Replace(code, "upsert({ text: 'x' })", "getById('2')", 1), "", "", replay.Difference{In: replay.InCall, Call: 2, Operation: "koan::Note.get-by-id", Line: 3}},
		{"one call more", code + "\nSDK.Entities.Note.getById('3')", "", "", replay.Difference{In: replay.InCall, Call: 3, Operation: "koan::Note.get-by-id", Line: 6, Recorded: "the script made no more calls"}},
		{"one call fewer", strings.Replace(code, "SDK.Entities.Note.upsert({ text: 'x' })", "", 1), "", "", replay.Difference{In: replay.InCall, Call: 2, Operation: "koan::Note.upsert", Now: "the script ended"}},
		{"it throws before", strings.Replace(code, "console.log('one')", "throw new Error('x')", 1), "", "", replay.Difference{In: replay.InCall, Call: 2, Operation: "koan::Note.upsert", Line: 2, Now: "javascript_error: x (line 2, column 7)"}},
		{"it throws after", code + "\nthrow new Error('x')", "", "", replay.Difference{In: replay.InError, Line: 6, Recorded: "the script ended well"}},
		{"another result", strings.Replace(code, "v: 1", "v: 2", 1), "", "", replay.Difference{In: replay.InResult, Recorded: `{"v":1}`, Now: `{"v":2}`}},
		{"another answer", strings.Replace(code, "'yes'", "'no'", 1), "", "", replay.Difference{In: replay.InAnswer, Recorded: `"yes"`, Now: `"no"`}},
		{"another log", strings.Replace(code, "'one'", "'two'", 1), "", "", replay.Difference{In: replay.InLogs}},
		{"a result by another runtime", code, `"result":{"v":1}`, `"result":{"v":1.0}`, replay.Difference{In: replay.InResult, Recorded: `{"v":1.0}`, Now: `{"v":1}`}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := played(t, change(t, s, c.code, c.from, c.to)).Difference
			require.NotNil(t, got)
			require.Equal(t, c.want.In, got.In, "%+v", got)
			require.Equal(t, c.want.Call, got.Call, "%+v", got)
			require.Equal(t, c.want.Operation, got.Operation)
			require.Equal(t, c.want.Line, got.Line, "%+v", got)
			if c.want.Recorded != "" {
				require.Equal(t, c.want.Recorded, got.Recorded)
			}
			if c.want.Now != "" {
				require.Equal(t, c.want.Now, got.Now)
			}
			require.NotEqual(t, got.Recorded, got.Now)
		})
	}
}

// A call of a module is reported with the line that started it.
func TestReplayReportsLineOfStartedCall(t *testing.T) {
	code := "import { go } from \"@codemode/servers/far\";\nconst a = go({ a: 1 });\nconst b =\n  go({ a: 2 });\nawait a; await b;"
	s, _ := recorded(t, job(code), newWorld(0))
	got := played(t, change(t, s, strings.Replace(code, "a: 2", "a: 3", 1), "", "")).Difference
	require.NotNil(t, got)
	require.Equal(t, 2, got.Call)
	require.Equal(t, 4, got.Line)
}

// What interrupts a run from outside is no part of it: it is compared up to there.
func TestReplayOfAnInterruptedRun(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	code := "import { go } from \"@codemode/servers/far\";\nfor (let i = 0;; i++) { await go({ i }); console.log(i); }"
	j := job(code)
	far := newWorld(0)
	far.onCall = func(n int) {
		if n == 5 {
			cancel()
		}
	}
	rec := recording.NewRecorder(far, 1<<20)
	res, err := sandbox.NewInProcess(languages.All).Execute(ctx, j, rec)
	require.Error(t, err)
	s, err := rec.Script(*j, res, err)
	require.NoError(t, err)
	require.True(t, s.Ending.Cut)
	got := played(t, change(t, s, code, "", ""))
	require.Nil(t, got.Difference)
	require.NotEmpty(t, got.Notes)
	got = played(t, change(t, s, strings.Replace(code, "console.log(i)", "console.log(-i)", 1), "", ""))
	require.Equal(t, replay.InLogs, got.Difference.In)
}

func TestRecorderDropsOversizedRuns(t *testing.T) {
	rec := recording.NewRecorder(newWorld(0), 500)
	_, err := sandbox.NewInProcess(languages.All).Execute(t.Context(), job(scripts["parallel"]), rec)
	require.NoError(t, err)
	require.Greater(t, rec.Size(), 500)
}

func FuzzDecode(f *testing.F) {
	rec := recording.NewRecorder(newWorld(3), 1<<20)
	j := job(scripts["parallel quota"])
	res, err := sandbox.NewInProcess(languages.All).Execute(f.Context(), j, rec)
	s, err := rec.Script(*j, res, err)
	require.NoError(f, err)
	s.Job.Bindings = wire.Bindings{}
	raw, err := s.Encode()
	require.NoError(f, err)
	f.Add(raw)
	f.Add([]byte(`{"version":1,"turns":[{"kind":"next","ref":1,"ends":"cut"}]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		s, err := recording.Decode(raw, "x", nil)
		if err != nil {
			require.ErrorIs(t, err, recording.ErrScript)
			return
		}
		p := recording.NewPlayer(s, nil)
		for i, turn := range s.Turns { // whatever the turns are, a player answers
			switch turn.Kind {
			case "call":
				_, _, _ = p.Call(t.Context(), turn.ID, nil)
			case "start":
				p.Start(t.Context(), turn.Ref, turn.ID, nil)
			default:
				_, _, _, _ = p.Next(t.Context(), time.Duration(i))
			}
		}
		require.NotNil(t, p.Compare(&wire.Result{}))
	})
}

// A recorder keeps of an input no more than it shows, and of a run that is too large
// nothing.
func TestRecorderKeepsLittle(t *testing.T) {
	const most = 100_000
	rec := recording.NewRecorder(newWorld(0), most)
	input := json.RawMessage(`"` + strings.Repeat("x", 1<<20) + `fail"`)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for range 20 {
		_, _, err := rec.Call(t.Context(), "plugin::x.y", bytes.Clone(input))
		require.Error(t, err)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	require.Less(t, int64(after.HeapAlloc)-int64(before.HeapAlloc), int64(1<<20))
	require.LessOrEqual(t, rec.Size(), most)
	s, err := rec.Script(wire.Job{}, nil, nil)
	require.NoError(t, err)
	require.Len(t, s.Turns, 20)
	require.Equal(t, s.Turns[0].Digest, s.Turns[19].Digest)
	require.Less(t, len(s.Turns[0].Input), 300)
	for rec.Size() <= most {
		_, _, _ = rec.Call(t.Context(), "plugin::x.y", json.RawMessage(`"`+strings.Repeat("x", 5000)+`"`))
	}
	s, err = rec.Script(wire.Job{}, nil, nil)
	require.NoError(t, err)
	require.Empty(t, s.Turns)
}
