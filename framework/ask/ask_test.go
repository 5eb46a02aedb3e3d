package ask_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/ask"
	"github.com/koan-go/koan/framework/fault"
)

// fake answers from a table, and keeps what it was asked.
type fake struct {
	answers map[string]string
	asked   []string
}

func (f *fake) Can(q ask.Question) bool { return q.Method != ask.Roots }

func (f *fake) Answered() []string { return []string{"3:first", "4:other"} }

func (f *fake) Ask(_ context.Context, questions ...ask.Question) ([]json.RawMessage, error) {
	var out []json.RawMessage
	for _, q := range questions {
		f.asked = append(f.asked, q.Key)
		a, ok := f.answers[q.Key]
		if !ok {
			return nil, ask.Wait(q)
		}
		out = append(out, json.RawMessage(a))
	}
	return out, nil
}

const form = `{"type":"object","properties":{"ok":{"type":"boolean"},"size":{"type":"string","enum":["s","m"]}},"required":["ok"]}`

func TestReadForm(t *testing.T) {
	for answer, want := range map[string]string{
		`{"action":"accept","content":{"ok":true}}`:             "",
		`{"action":"decline"}`:                                  "",
		`{"action":"cancel","content":null}`:                    "",
		`{"action":"accept"}`:                                   "/content/ok",
		`{"action":"accept","content":{"ok":"yes"}}`:            "/content/ok",
		`{"action":"accept","content":{"ok":true,"size":"xl"}}`: "/content/size",
		`{"action":"accept","content":[1]}`:                     "/content",
		`{"action":"maybe"}`:                                    "/action",
		`{}`:                                                    "/action",
	} {
		c := &fake{answers: map[string]string{"sure": answer}}
		got, err := ask.Elicit(ask.With(t.Context(), c), "sure", "Sure?", json.RawMessage(form))
		if want == "" {
			require.NoError(t, err, answer)
			require.NotEmpty(t, got.Action)
			continue
		}
		require.Equal(t, fault.UpstreamError, fault.CodeOf(err), answer)
		require.Equal(t, want, fault.From(err).Path, answer)
		require.NotEmpty(t, fault.From(err).Hint)
	}
}

func TestUnsupportedQuestions(t *testing.T) {
	_, err := ask.Text(t.Context(), "q", "Hello?", 10)
	q, unable := ask.IsUnable(err)
	require.True(t, unable, "nobody is there")
	require.Equal(t, ask.Sampling, q.Method)
	require.Equal(t, fault.CapabilityUnsupported, fault.CodeOf(err))

	c := &fake{}
	_, err = ask.All(ask.With(t.Context(), c), ask.TextQuestion("a", "Hello?", 10), ask.RootsQuestion("b"))
	q, unable = ask.IsUnable(err)
	require.True(t, unable)
	require.Equal(t, ask.Roots, q.Method)
	require.Empty(t, c.asked, "not even what it can be asked")
}

func TestPendingSurvivesFaults(t *testing.T) {
	_, err := ask.Text(ask.Scoped(ask.With(t.Context(), &fake{}), "3:"), "q", "Hello?", 10)
	f := fault.From(err)
	require.Equal(t, fault.InputRequired, f.Code)
	require.True(t, f.EndsRun())
	waits := ask.Waits(f)
	require.Len(t, waits, 1)
	require.Equal(t, "3:q", waits[0].Key)
	require.Equal(t, []string{"first"}, ask.Answered(ask.Scoped(ask.With(t.Context(), &fake{}), "3:")))
	require.Empty(t, ask.Answered(t.Context()))
	require.Nil(t, ask.Waits(fault.New(fault.InputRequired, "")))
}

func TestProgrammingErrorsPanic(t *testing.T) {
	ctx := ask.With(t.Context(), &fake{})
	require.Panics(t, func() { _, _ = ask.All(ctx, ask.RootsQuestion("")) })
	require.Panics(t, func() { _, _ = ask.All(ctx, ask.TextQuestion("a", "", 1), ask.TextQuestion("a", "", 1)) })
	require.Panics(t, func() { _, _ = ask.All(ctx, ask.Question{Key: "a", Method: "tools/call"}) })
}

func TestReadTextAndRoots(t *testing.T) {
	c := &fake{answers: map[string]string{"one": `{"role":"assistant","content":{"type":"text","text":"Paris"}}`}}
	text, err := ask.Text(ask.With(t.Context(), c), "one", "Capital?", 10)
	require.NoError(t, err)
	require.Equal(t, "Paris", text)
	roots, err := ask.DecodeRoots(json.RawMessage(`{"roots":[{"uri":"file:///a"}]}`))
	require.NoError(t, err)
	require.Equal(t, []ask.Root{{URI: "file:///a"}}, roots)
	for _, bad := range []string{`{}`, `{"roots":[{}]}`, `[]`, `null`, ``} {
		_, err = ask.DecodeRoots(json.RawMessage(bad))
		require.Equal(t, fault.UpstreamError, fault.CodeOf(err), bad)
	}
}

func FuzzAnswers(f *testing.F) {
	for _, seed := range []string{
		`{"action":"accept","content":{"ok":true}}`, `{"action":1}`, `{"content":[{"type":"text","text":"a"},{"type":"image"}]}`,
		`{"roots":[{"uri":"x","name":"y"}]}`, `null`, `{"action":"accept","content":{"ok":1e999999999}}`, "{\"action\":\"\xff\"}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, answer []byte) {
		check := func(err error) {
			if code := fault.CodeOf(err); err != nil && code != fault.UpstreamError {
				t.Fatalf("%s for %q", code, answer)
			}
		}
		_, err := ask.DecodeForm(answer, json.RawMessage(form))
		check(err)
		_, err = ask.DecodeText(answer)
		check(err)
		_, err = ask.DecodeRoots(answer)
		check(err)
	})
}
