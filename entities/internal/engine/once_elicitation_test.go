package engine_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/ask"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/framework/run/once"
)

// rounds is a client that calls again with its answers.
type rounds map[string]string

func (rounds) Can(ask.Question) bool { return true }

func (c rounds) Ask(_ context.Context, questions ...ask.Question) ([]json.RawMessage, error) {
	answer, ok := c[questions[0].Key]
	if !ok {
		return nil, ask.Wait(questions...)
	}
	return []json.RawMessage{json.RawMessage(answer)}, nil
}

// A run that asked after an effect outside goes on under its key, and has the effect
// once; without a key it is refused.
func TestOnceThoughItAsks(t *testing.T) {
	t.Parallel()
	if forEach(t, TestOnceThoughItAsks) {
		return
	}
	place, w := place(t), &world{}
	one, two := newProcess(t, place, w, once.Options{}), newProcess(t, place, w, once.Options{})
	answers := rounds{}
	one.asked, two.asked = answers, answers
	body := func(call func(id, input string) (string, error), _ *run.Attempt) (string, error) {
		for _, c := range [][2]string{{upsert, `{"model":{"title":"asked"}}`}, {send, `{}`}, {asks, `{}`}, {asks, `{"n":2}`}} {
			if _, err := call(c[0], c[1]); err != nil {
				return "", err
			}
		}
		return "done", nil
	}
	_, o, err := one.once("k", atomic, body)
	require.Equal(t, "3:sure", ask.Waits(err)[0].Key)
	require.Len(t, o.OutsideEffects, 1)
	require.Zero(t, one.count("asked"))

	yes := `{"role":"assistant","content":{"type":"text","text":"yes"}}`
	answers["3:sure"] = yes
	_, _, err = two.once("k", atomic, body)
	require.Equal(t, "4:sure", ask.Waits(err)[0].Key)
	answers["4:sure"] = yes
	_, o, err = one.once("k", atomic, body)
	require.NoError(t, err)
	require.True(t, o.Committed)
	require.Equal(t, 1, two.count("asked"))
	keys := w.seen()
	require.Len(t, keys, 3, "each effect once")
	require.NotEqual(t, keys[1], keys[2])

	_, o, err = two.once("k", atomic, body)
	require.NoError(t, err)
	require.True(t, o.Repeated)
	require.Len(t, w.seen(), 3)

	clear(answers)
	free := atomic
	free.IdempotencyKey = ""
	_, _, err = one.once("", free, body)
	require.Equal(t, fault.CapabilityUnsupported, fault.CodeOf(err))
	require.Equal(t, 1, two.count("asked"))
}
