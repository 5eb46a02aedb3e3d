package kittest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/plugins/kit"
	"github.com/koan-go/koan/plugins/kit/kittest"
)

type in struct {
	Text string    `json:"text"           jsonschema:"minLength=1"`
	File *kit.File `json:"file,omitempty"`
}

type out struct {
	Text string    `json:"text"`
	File *kit.File `json:"file,omitempty"`
}

// sample is a plugin whose functions use everything that a call has.
func sample() kit.Plugin {
	var word string
	return kit.Plugin{
		Domain: "sample", Version: "1.0.0", Description: "For tests.", State: true,
		Settings: []kit.Setting{{Key: "word", Default: "said"}},
		Needs:    []string{"koan::Todo.*"},
		Configure: func(_ context.Context, s map[string]string) error {
			if word = s["word"]; word == "" {
				return errors.New("word is empty")
			}
			return nil
		},
		FaultCodes: []string{"too_loud"},
		Metrics:    []kit.Metric{{Name: "said"}, {Name: "volume", Histogram: true}},
		Functions: []kit.Function{
			kit.Func("say", "Say it.", func(_ context.Context, c kit.Call, i in) (out, error) {
				if i.Text == "LOUD" {
					return out{}, &kit.Fault{Code: "too_loud", Message: "not so loud"}
				}
				end := c.Span("say")
				c.Measure("said", 1)
				c.Measure("said", -1)
				c.Measure("volume", -3)
				c.Measure("unknown", 1)
				end(errors.New("hoarse"))
				c.Progress(1, 2, "half")
				return out{Text: fmt.Sprintf("%s %s %s %v %s", c.Caller.Subject, word, i.Text, c.Local, c.Set)}, nil
			}),
			kit.Func("title", "Look up a title.", func(ctx context.Context, c kit.Call, i in) (out, error) {
				var todo struct{ Title string }
				err := c.Invoke(ctx, i.Text, map[string]string{"id": "a"}, &todo)
				return out{Text: todo.Title}, err
			}),
			kit.Func("copy", "Copy a file.", func(ctx context.Context, c kit.Call, i in) (out, error) {
				from, err := c.File(ctx, i.File.ID)
				if err != nil {
					return out{}, err
				}
				to, err := c.CreateFile(ctx, "copy of "+from.Name, "")
				if err != nil {
					return out{}, err
				}
				if _, err := io.Copy(to, from); err != nil {
					return out{}, err
				}
				if err := to.Close(); err != nil {
					return out{}, err
				}
				h := to.Handle()
				return out{Text: i.Text, File: &h}, nil
			}),
			kit.Func("remember", "Keep a text.", func(_ context.Context, c kit.Call, i in) (out, error) {
				path := filepath.Join(c.StateDir(), "text")
				was, err := os.ReadFile(path)
				if err != nil && !errors.Is(err, os.ErrNotExist) {
					return out{}, err
				}
				return out{Text: string(was)}, os.WriteFile(path, []byte(i.Text), 0o600)
			}),
			kit.Func("wait", "Wait for an hour.", func(ctx context.Context, _ kit.Call, _ in) (out, error) {
				select {
				case <-time.After(time.Hour):
					return out{Text: "waited"}, nil
				case <-ctx.Done():
					return out{}, ctx.Err()
				}
			}),
		},
	}
}

func TestCalls(t *testing.T) {
	t.Parallel()
	h := kittest.New(t, sample(), kittest.Options{Settings: map[string]string{"word": "shouted"}})
	got, err := kittest.Call[out](h, "say", in{Text: "hi"})
	require.NoError(t, err)
	require.Equal(t, "local shouted hi true default", got.Text)
	require.Equal(t, []kittest.Progress{{Done: 1, Total: 2, Message: "half"}}, h.Progress())

	require.Equal(t, []kittest.Measurement{{Metric: "said", Value: 1}, {Metric: "volume", Value: -3}}, h.Measured())
	require.Len(t, h.Spans(), 1)
	require.Equal(t, "say", h.Spans()[0].Name)
	require.True(t, h.Spans()[0].Failed)

	as := kittest.New(t, sample(), kittest.Options{Caller: kit.Caller{Subject: "ann"}, Set: "archive"})
	got, err = kittest.Call[out](as, "say", in{Text: "hi"})
	require.NoError(t, err)
	require.Equal(t, "ann said hi false archive", got.Text)

	_, err = kittest.Call[out](h, "say", map[string]any{"text": ""})
	require.Equal(t, fault.InvalidPayload, fault.CodeOf(err))
	_, err = kittest.Call[out](h, "say", map[string]any{"tex": "a"})
	require.ErrorContains(t, err, `did you mean "text"`)
	_, err = kittest.Call[out](h, "sing", in{Text: "a"})
	require.Equal(t, fault.ToolNotFound, fault.CodeOf(err))
	_, err = kittest.Call[out](h, "say", in{Text: "LOUD"})
	var own *kit.Fault
	require.ErrorAs(t, err, &own)
	require.Equal(t, kit.Fault{Code: "too_loud", Message: "not so loud"}, *own)
}

func TestSettings(t *testing.T) {
	t.Parallel()
	require.NoError(t, kittest.Configure(t, sample(), nil))
	require.ErrorContains(t, kittest.Configure(t, sample(), map[string]string{"word": ""}), "word is empty")
	require.ErrorContains(t, kittest.Configure(t, sample(), map[string]string{"words": "a"}), `no setting "words"`)
	require.ErrorContains(t, kittest.Configure(t, kit.Plugin{Domain: "Wrong"}, nil), "lower-case kebab")
}

func TestOperationsFilesAndState(t *testing.T) {
	t.Parallel()
	h := kittest.New(t, sample(), kittest.Options{Operations: map[string]kittest.Operation{
		"koan::Todo.get-by-id": func(_ context.Context, input json.RawMessage) (any, error) {
			require.JSONEq(t, `{"id":"a"}`, string(input))
			return map[string]string{"title": "milk"}, nil
		},
		"koan::Todo.delete": func(context.Context, json.RawMessage) (any, error) {
			return nil, fault.New(fault.NotFound, "it has gone")
		},
		"koan::Person.get-by-id": func(context.Context, json.RawMessage) (any, error) { return "nobody may", nil },
	}})
	got, err := kittest.Call[out](h, "title", in{Text: "koan::Todo.get-by-id"})
	require.NoError(t, err)
	require.Equal(t, "milk", got.Text)
	_, err = kittest.Call[out](h, "title", in{Text: "koan::Todo.delete"})
	require.Equal(t, fault.NotFound, fault.CodeOf(err))
	for _, id := range []string{"koan::Todo.patch", "koan::Person.get-by-id"} {
		_, err = kittest.Call[out](h, "title", in{Text: id})
		require.Equal(t, fault.Forbidden, fault.CodeOf(err), id)
	}

	content := make([]byte, 3<<20)
	for i := range content {
		content[i] = byte(i >> 8)
	}
	id := h.AddFile("a.bin", "", content)
	got, err = kittest.Call[out](h, "copy", in{Text: "x", File: &kit.File{ID: id}})
	require.NoError(t, err)
	require.Equal(t, "copy of a.bin", got.File.Name)
	require.Equal(t, content, h.File(got.File.ID))
	_, err = kittest.Call[out](h, "copy", in{Text: "x", File: &kit.File{ID: "nothing"}})
	require.Equal(t, fault.NotFound, fault.CodeOf(err))

	for _, want := range []string{"", "first"} {
		got, err = kittest.Call[out](h, "remember", in{Text: "first"})
		require.NoError(t, err)
		require.Equal(t, want, got.Text)
	}
}

// In a bubble of synctest the functions' clock is the bubble's.
func TestClock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := kittest.New(t, sample(), kittest.Options{})
		began := time.Now()
		got, err := kittest.Call[out](h, "wait", in{Text: "x"})
		require.NoError(t, err)
		require.Equal(t, "waited", got.Text)
		require.Equal(t, time.Hour, time.Since(began))

		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err = h.Call(ctx, "wait", in{Text: "x"})
		require.Error(t, err)
		require.Equal(t, time.Hour+time.Minute, time.Since(began))
	})
}
