package upstream

import (
	"bufio"
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzMessages checks that whatever a server writes, each line that is passed on is a message, and that
// a message behind it is not lost.
func FuzzMessages(f *testing.F) {
	const last = `{"jsonrpc":"2.0","id":77,"result":{"last":true}}`
	for _, text := range []string{
		`{"jsonrpc":"2.0","id":"1","result":{}}`, "x {\"id\":1,\n\"result\":\"a\nb\"}", `[{"jsonrpc":"2.0","method":"a"},{"id":null,"error":"no"}]`, `{"error":{"code":"x"}}`,
		"\ufeff{\"id\":1.0,\"result\":null} and more {\"method\":5}", "{\n[\"", `{"jsonrpc":"2.0","id":5}`, "{\"id\":{}}\r\n\r\n",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		m := newMessageReader(bytes.NewReader(append(append(bytes.Clone(text), '\n'), last...)))
		lines := bufio.NewScanner(m)
		var line string
		for lines.Scan() {
			line = lines.Text()
			var e envelope
			require.NoError(t, json.Unmarshal([]byte(line), &e), line)
			require.True(t, e.isMessage(), line)
		}
		require.JSONEq(t, last, line)

		events := &eventReader{lines: newLines(bytes.NewReader(append([]byte("data: "), text...))), ctx: t.Context(), owner: func([]byte) string { return "1" }, unread: func(string, error) {}}
		_, err := new(bytes.Buffer).ReadFrom(events)
		require.NoError(t, err)
	})
}
