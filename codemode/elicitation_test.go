package codemode_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/ask"
	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exposure"
	"github.com/koan-go/koan/framework/fault"
)

// user says yes after a while; one who calls again is asked by the next call.
type user struct {
	takes time.Duration
	again bool
	asked []string
}

func (u *user) Can(ask.Question) bool { return true }

func (u *user) Ask(_ context.Context, questions ...ask.Question) ([]json.RawMessage, error) {
	u.asked = append(u.asked, questions[0].Key)
	if u.again {
		return nil, ask.Wait(questions...)
	}
	time.Sleep(u.takes)
	return []json.RawMessage{json.RawMessage(`{"action":"accept","content":{}}`)}, nil
}

// curious is a house with an operation that asks.
func curious(t *testing.T) *house {
	h := newHouse(t, nil)
	confirm := &catalog.Operation{
		ID:       catalog.PluginID("mail", "confirm"),
		Contract: catalog.Contract{Input: schema(""), Output: json.RawMessage(`{}`)},
		Listing:  catalog.Listing{Summary: "Asks whether to send.", Reach: catalog.Everywhere},
		Work: catalog.Work{
			Handler: func(ctx context.Context, _ catalog.Call) (json.RawMessage, error) {
				f, err := ask.Elicit(ctx, "sure", "Sure?", json.RawMessage(`{"type":"object","properties":{}}`))
				return json.RawMessage(`{"action":"` + f.Action + `"}`), err
			},
		},
	}
	snapshot, err := catalog.NewSnapshot(h.library.offer(), h.provider.Offer(), catalog.Offer{Operations: []*catalog.Operation{confirm}})
	require.NoError(t, err)
	h.view = snapshot.View(auth.Local(), exposure.Full, false)
	return h
}

const asks = `
SDK.Entities.Note.upsert({id: "a", text: "before"});
let seen;
try { seen = SDK.Mail.confirm({}).action } catch (e) { seen = "caught " + e.code }
SDK.Entities.Note.upsert({id: "b", text: seen});
seen`

// While a person is asked the script does not run: it begins anew with the answer.
func TestWaitingScriptHoldsNoWorker(t *testing.T) {
	h := curious(t)
	u := &user{takes: time.Second}
	r := h.call(ask.With(t.Context(), u), "execute", in{"code": asks})
	require.NoError(t, r.err)
	require.JSONEq(t, `"accept"`, string(r.Result))
	require.Equal(t, []string{"2:sure"}, u.asked)
	require.Equal(t, 2, r.outcome.Attempts)
	require.Equal(t, "accept", h.text("b"))
}

// No script goes on after a question that the next call brings the answer to.
func TestQuestionForNextCallEndsScript(t *testing.T) {
	h := curious(t)
	r := h.call(ask.With(t.Context(), &user{again: true}), "execute", in{"code": asks})
	require.Equal(t, fault.InputRequired, fault.CodeOf(r.err))
	require.Equal(t, "2:sure", ask.Waits(r.err)[0].Key)
	require.Empty(t, h.text("a"))

	r = h.call(t.Context(), "execute", in{"code": asks})
	require.NoError(t, r.err)
	require.JSONEq(t, `"caught capability_unsupported"`, string(r.Result), "nobody is there to be asked")
}
