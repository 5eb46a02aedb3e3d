package tape

import (
	"encoding/hex"
	"encoding/json"
)

// callsKey is where the calls stand that a call with a recorded outcome has made.
func callsKey(at Position, digest [32]byte) string {
	return string(at) + "\x00calls " + hex.EncodeToString(digest[:])
}

// RecordCalls keeps the calls that the call of RecordOutside has made, which only who records them can read, in
// place of earlier ones. It is JSON as Marshal writes it.
func (t *Tape) RecordCalls(at Position, digest [32]byte, calls json.RawMessage) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := callsKey(at, digest)
	if err := t.take(int64(len(key) + len(calls))); err != nil {
		return err
	}
	t.values[key] = calls
	return nil
}

// Calls returns what RecordCalls has kept; ok is false if that is nothing.
func (t *Tape) Calls(at Position, digest [32]byte) (calls json.RawMessage, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch v := t.values[callsKey(at, digest)].(type) {
	case json.RawMessage:
		return v, true
	case *keptValue:
		return v.JSON, true
	}
	return nil, false
}
