package upstream_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// Over the older HTTP transport questions reach the caller's person and model, as they do over the others.
func TestQuestionsOverTheOlderTransport(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ method, params, declares, answer, told string }{
		"to a person": {"elicitation/create", asksName, declaresForms, isAnn, `{"result":{"action":"accept","content":{"name":"Ann","color":"green"}},"error":null}`},
		"to a model":  {"sampling/createMessage", asksModel, declaresSampling, saysHello, `{"result":` + saysHello + `,"error":null}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := overSSE(t, &oddServer{way: asksBack(c.method, c.params)}, http.StatusMethodNotAllowed)
			p := connect(t, listed(t, row{id: "x", url: url, settings: map[string]string{"transport": "sse"}}), c.declares, always(c.answer))
			require.JSONEq(t, c.told, string(p.run(callsWork).Result))
			require.Len(t, p.questions(), 1)
		})
	}
}
