package wire

import (
	"bytes"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestFramesRoundTrip(t *testing.T) {
	var b bytes.Buffer
	w := NewWriter(&b)
	require.NoError(t, w.Write(KindCall, 7, EncodeCall("koan::Todo.get-by-id"), []byte(`{"id":"1"}`)))
	require.NoError(t, w.Write(KindReturn, 7, EncodeReturn(StatusFault, 1700000000123), []byte(`{}`)))
	require.NoError(t, w.WriteJSON(KindLog, 0, Log{Level: "info", Message: "hi"}))

	r := NewReader(&b, 1024)
	f, err := r.Read()
	require.NoError(t, err)
	require.Equal(t, KindCall, f.Kind)
	require.EqualValues(t, 7, f.ID)
	op, in, err := DecodeCall(f.Payload)
	require.NoError(t, err)
	require.Equal(t, "koan::Todo.get-by-id", op)
	require.JSONEq(t, `{"id":"1"}`, string(in))

	f, err = r.Read()
	require.NoError(t, err)
	s, now, body, err := DecodeReturn(f.Payload)
	require.NoError(t, err)
	require.Equal(t, StatusFault, s)
	require.EqualValues(t, 1700000000123, now)
	require.Equal(t, "{}", string(body))

	_, err = r.Read()
	require.NoError(t, err)
	_, err = r.Read()
	require.Equal(t, io.EOF, err)
}

func TestInvalidFramesAreRejected(t *testing.T) {
	for name, in := range map[string][]byte{
		"cut header":     {0, 0, 0},
		"too long":       {0xff, 0xff, 0xff, 0xff, 3, 0, 0, 0, 0},
		"length too low": {0, 0, 0, 1, 3, 0, 0, 0, 0},
		"unknown kind":   {0, 0, 0, 5, 99, 0, 0, 0, 0},
		"no kind":        {0, 0, 0, 5, 0, 0, 0, 0, 0},
		"cut payload":    {0, 0, 0, 9, 3, 0, 0, 0, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := NewReader(bytes.NewReader(in), 1024).Read()
			require.ErrorIs(t, err, ErrFrame)
		})
	}
}

func FuzzFrames(f *testing.F) {
	var b bytes.Buffer
	w := NewWriter(&b)
	_ = w.Write(KindCall, 1, EncodeCall("koan::Todo.count"), []byte(`{}`))
	_ = w.Write(KindReturn, 1, EncodeReturn(StatusOK, 1), []byte(`{"count":1}`))
	f.Add(b.Bytes())
	f.Add([]byte{0, 0, 0, 5, 3, 0, 0, 0, 0})
	f.Add([]byte{0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, in []byte) {
		r := NewReader(bytes.NewReader(in), 1<<16)
		var again bytes.Buffer
		w := NewWriter(&again)
		for {
			fr, err := r.Read()
			if err != nil {
				break
			}
			require.LessOrEqual(t, len(fr.Payload), 1<<16)
			require.NoError(t, w.Write(fr.Kind, fr.ID, fr.Payload))
			if op, input, err := DecodeCall(fr.Payload); err == nil && fr.Kind == KindCall {
				require.LessOrEqual(t, len(op)+len(input), len(fr.Payload))
			}
			_, _, _, _ = DecodeReturn(fr.Payload)
		}
		require.True(t, bytes.HasPrefix(in, again.Bytes()), "what is read is what was written")
	})
}

func FuzzAwait(f *testing.F) {
	f.Add(EncodeAwait(-1))
	f.Add(EncodeAwait(time.Second))
	f.Add([]byte{1, 2, 3})
	f.Fuzz(func(t *testing.T, in []byte) {
		if most, err := DecodeAwait(in); err == nil {
			require.Equal(t, in, EncodeAwait(most))
		}
	})
}
