package codemode_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// What a script logs is heard while it runs, once though there are two attempts, and
// without secrets; the result has it as well.
func TestLogsAreStreamed(t *testing.T) {
	h := newHouse(t, map[string]any{"codeMode.maxLogEntries": 4})
	type line struct {
		level slog.Level
		text  string
	}
	var heard []line
	h.hears = func(level slog.Level, text string) { heard = append(heard, line{level, text}) }
	raced := false
	h.library.calls = func(op string) {
		if op != "upsert" || raced {
			return
		}
		raced = true
		require.Len(t, heard, 2, "before the script's end")
		time.Sleep(5 * time.Millisecond)
		h.shelf.mu.Lock()
		h.shelf.version["default"]++
		h.shelf.mu.Unlock()
	}
	r := h.run(`
console.log("begin");
SDK.Out.warn("password=hunter22");
SDK.Entities.Note.collection();
SDK.Entities.Note.upsert({id: "n", text: "x"});
console.error("end");
console.debug("really");
console.debug("too much");`)
	require.NoError(t, r.err)
	require.Equal(t, 2, r.outcome.Attempts)
	require.Len(t, heard, 5)
	require.Equal(t, []line{
		{slog.LevelInfo, "begin"}, {slog.LevelWarn, "password=[redacted]"}, {slog.LevelError, "end"}, {slog.LevelDebug, "really"},
	}, heard[:4])
	require.Contains(t, heard[4].text, "the rest of the logs is left out")
	require.Len(t, r.Logs, 5)
	for i, l := range r.Logs {
		require.Equal(t, heard[i].text, l.Message)
	}
}
