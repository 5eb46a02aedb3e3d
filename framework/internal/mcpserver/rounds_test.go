package mcpserver

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/ask"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/seal"
)

func TestQuestionIdentityIgnoresMemberOrder(t *testing.T) {
	q := func(params string) ask.Question {
		return ask.Question{Key: "k", Method: ask.Sampling, Params: json.RawMessage(params)}
	}
	require.Equal(t, digest(q(`{"a":1,"b":[2,{"c":3,"d":4}]}`)), digest(q(` {"b":[2,{"d":4,"c":3}],"a":1}`)))
	require.Equal(t, digest(q(`{"a":1}`)), digest(q(`{"a":1.0}`)))
	require.NotEqual(t, digest(q(`{"a":1}`)), digest(q(`{"a":1.5}`)))
	require.NotEqual(t, digest(q(`{"a":10000000000000001}`)), digest(q(`{"a":10000000000000002}`)))
	require.NotEqual(t, digest(q(`{}`)), digest(ask.Question{Key: "k", Method: ask.Roots, Params: json.RawMessage(`{}`)}))
}

func TestAnswerMatchesItsQuestion(t *testing.T) {
	all := peer{asks: askCapabilities(json.RawMessage(`{"elicitation":{},"sampling":{},"roots":{}}`))}
	first, other := ask.TextQuestion("k", "Delete 3 rows?", 5), ask.TextQuestion("k", "Delete 5 rows?", 5)
	r := &rounds{peer: all, known: map[string]given{"k": {digest(first), json.RawMessage(`{"yes":1}`)}}}
	got, err := r.Ask(t.Context(), first)
	require.NoError(t, err)
	require.JSONEq(t, `{"yes":1}`, string(got[0]))
	_, err = r.Ask(t.Context(), other)
	require.Len(t, ask.Waits(err), 1)
	_, err = r.Ask(t.Context(), ask.TextQuestion("k", "Another one?", 5))
	require.Equal(t, fault.Internal, fault.CodeOf(err), "two questions under one key")
}

func TestClientCapabilities(t *testing.T) {
	url := ask.Question{Key: "k", Method: ask.Elicitation, Params: json.RawMessage(`{"mode":"url"}`)}
	form := ask.Question{Key: "k", Method: ask.Elicitation, Params: json.RawMessage(`{}`)}
	tools := ask.Question{Key: "k", Method: ask.Sampling, Params: json.RawMessage(`{"tools":[]}`)}
	for caps, want := range map[string][]bool{ // url, form, tools, roots
		`{}`: {false, false, false, false},
		`{"elicitation":{},"sampling":{},"roots":{"listChanged":true}}`: {false, true, false, true},
		`{"elicitation":{"url":{}},"sampling":{"tools":{}}}`:            {true, false, true, false},
		`{"elicitation":{"url":{},"form":{}}}`:                          {true, true, false, false},
		`{"elicitation":null,"sampling":3,"roots":[]}`:                  {false, false, false, false},
	} {
		p := peer{asks: askCapabilities(json.RawMessage(caps))}
		require.Equal(t, want, []bool{p.can(url), p.can(form), p.can(tools), p.can(ask.RootsQuestion("k"))}, caps)
	}
}

// FuzzResume feeds what clients bring from earlier rounds.
func FuzzResume(f *testing.F) {
	d := &dialogs{server: &Server{opts: Options{Name: "fuzz", Version: "1", Seal: seal.Random()}}}
	asked, _ := json.Marshal(state{Asked: map[string]string{"k": "sha256:0"}})
	ex := func(params []byte) *exchange {
		return &exchange{message: message{method: "tools/call", params: params}}
	}
	fresh, bad := d.resume(ex(nil), "tool", nil)
	if bad != nil {
		f.Fatal(bad.Message)
	}
	binding := slices.Clone(fresh.binding())
	good := d.server.opts.Seal.Seal(asked, time.Now().Add(time.Hour), binding...)
	for _, seed := range []string{
		`{}`, `{"requestState":"` + good + `","inputResponses":{"k":{}}}`, `{"requestState":"` + good + `"}`, `{"requestState":null}`,
		`{"inputResponses":null}`, `{"inputResponses":[1]}`, `{"inputResponses":{"":1,"/~":[]}}`, `{"requestState":{}}`, `{"requestState":"AQ"}`, `[]`, `{`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, params []byte) {
		r, bad := d.resume(ex(params), "tool", nil)
		switch {
		case bad != nil:
			require.Nil(t, r)
			require.Equal(t, fault.InvalidPayload, bad.Data.(*fault.Fault).Code)
		default:
			for key, known := range r.known {
				require.Equal(t, "k", key)
				require.True(t, json.Valid(known.Answer) && known.Answer[0] == '{')
			}
		}
	})
}
