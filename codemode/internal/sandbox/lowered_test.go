package sandbox

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/fault"
)

// TestLoweredOnce: what a worker made of a script is used again for the same caller
// and the same imports, and changes nothing that can be seen.
func TestLoweredOnce(t *testing.T) {
	s, err := New(Options{})
	require.NoError(t, err)
	defer s.Close()
	kept := func() int {
		s.lowered.mu.Lock()
		defer s.lowered.mu.Unlock()
		return s.lowered.order.Len()
	}
	ask := func(who, code string, change func(*wire.Job)) *wire.Result {
		j := job(code)
		j.Principal = who
		if change != nil {
			change(j)
		}
		r, err := s.Execute(t.Context(), j, newHost())
		require.NoError(t, err)
		r.CPUMs, r.PeakMemory = 0, 0
		return r
	}
	const kinds = "enum Kind { A = 1 }\nexport function run(): number { return Kind.A + 41 }\nconsole.log('said')" + typed
	first := ask("ann", kinds, nil)
	require.Nil(t, first.Fault)
	require.Equal(t, 1, kept())
	again := ask("ann", kinds, nil)
	first.Logs[0].TimeMs, again.Logs[0].TimeMs = 0, 0
	require.Equal(t, first, again)
	require.Equal(t, 1, kept())

	require.Nil(t, ask("bob", kinds, nil).Fault)
	require.Equal(t, 2, kept(), "nobody gets what somebody else's worker made")

	const failing = "type T = string\nconst x: T = 'a'\n\nexport default await Promise.reject(new Error('no ' + x))" + typed
	f := ask("ann", failing, nil).Fault
	require.Equal(t, 4, f.Line)
	require.Equal(t, f, ask("ann", failing, nil).Fault)

	const returns = "const n: number = await Promise.resolve(5)\nif (n > 1) return n * 2\nreturn 0" + typed
	require.JSONEq(t, "10", string(ask("ann", returns, nil).Result))
	require.JSONEq(t, "10", string(ask("ann", returns, nil).Result))

	const imports = "import { detect } from '@codemode/servers/vision'\nconst f: any = detect\nexport default typeof f" + typed
	with := func(j *wire.Job) { j.Bindings.Servers = imported("").Bindings.Servers }
	require.Nil(t, ask("ann", imports, with).Fault)
	require.Nil(t, ask("ann", imports, with).Fault)
	require.Equal(t, fault.ServerNotFound, ask("ann", imports, nil).Fault.Code, "what is imported is looked for each time")

	before := kept()
	require.Nil(t, ask("ann", "1 + 1", nil).Fault)
	require.NotNil(t, ask("ann", "let a: = ;", nil).Fault)
	require.Equal(t, before, kept(), "nothing was made of these")

	require.Nil(t, ask("ann", "const a: string = `"+strings.Repeat("x", wire.MaxLowered)+"`\n1"+typed, nil).Fault)
	require.Equal(t, before, kept(), "too long to be kept")
}

func TestLoweredIsBounded(t *testing.T) {
	l := newLowered()
	of := func(i int) source { return source{byte(i), byte(i >> 8)} }
	body, err := json.Marshal(wire.Lowered{Text: strings.Repeat("x", wire.MaxLowered)})
	require.NoError(t, err)
	const room = loweredBytes / wire.MaxLowered
	for i := range room {
		require.NoError(t, l.keep(of(i), body))
	}
	require.NotNil(t, l.get(of(0)))
	require.NoError(t, l.keep(of(room), body))
	require.NotNil(t, l.get(of(0)), "it was asked for")
	require.Nil(t, l.get(of(1)), "the one that was not asked for longest")
	require.LessOrEqual(t, l.bytes, loweredBytes)

	require.Error(t, l.keep(of(1), []byte("{")))
	long, err := json.Marshal(wire.Lowered{Text: strings.Repeat("x", wire.MaxLowered+1)})
	require.NoError(t, err)
	require.ErrorIs(t, l.keep(of(1), long), wire.ErrFrame)
	require.Nil(t, l.get(of(1)))
}

// TestLoweredComesFirst: what a worker says of its script once the script may have had
// a part in it breaks the protocol.
func TestLoweredComesFirst(t *testing.T) {
	for name, first := range map[string]wire.Kind{"a log": wire.KindLog, "nothing": wire.KindAccepted} {
		t.Run(name, func(t *testing.T) {
			var frames bytes.Buffer
			w := wire.NewWriter(&frames)
			require.NoError(t, w.WriteJSON(first, 0, wire.Log{Level: "info"}))
			require.NoError(t, w.WriteJSON(wire.KindLowered, 0, wire.Lowered{Text: "1"}))
			kept := 0
			e := &execution{
				process: &process{r: wire.NewReader(&frames, 1<<20)}, host: newHost(), logs: wire.LogBudget{MaxEntries: 9, MaxBytes: 99, MaxMessage: 99},
				keep: func([]byte) error { kept++; return nil },
			}
			err := e.serve(t.Context())
			if first == wire.KindLog {
				require.ErrorIs(t, err, wire.ErrFrame)
				require.Zero(t, kept)
				return
			}
			require.ErrorIs(t, err, io.EOF, "there is no more")
			require.Equal(t, 1, kept)
		})
	}
}

func TestMostResident(t *testing.T) {
	const mb = 1 << 20
	for _, c := range []struct{ base, memory, most int64 }{
		{20, 64, 90},   // koan-worker
		{60, 64, 118},  // an app's own executable: below twice the cap
		{60, 128, 194}, // far below it anyway
		{60, 16, 82},   // cannot be kept below it
		{100, 64, 170}, // nor this
	} {
		require.Equal(t, c.most*mb, mostResident(c.base*mb, c.memory*mb), c)
	}
}
