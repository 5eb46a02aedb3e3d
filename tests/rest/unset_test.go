package rest

import (
	"net/http"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/tests/fixture"
)

// A body that is a tool's input is taken as the tool takes it: an optional member that is null, or an empty text of an
// entity's operation, is absent. What is needed is still missing.
func TestBodiesAreInputsOfTools(t *testing.T) {
	t.Parallel()
	app := fixture.App()
	app.Actions = fstest.MapFS{"day.js": {Data: []byte(`
		export const action = {description: "Says which day it is given.", input: {type: "object", properties: {day: {type: "string"}, text: {type: "string"}}}};
		export default input => Object.keys(input);
	`)}}
	s := serve(t, app, framework.HTTPOptions{})
	for route, bodies := range map[string][]string{
		"todo:count":                {`{"filter":null,"set":""}`},
		"todo:query":                {`{"filter":null,"sort":"","fields":"","with":null,"cursor":null,"pageSize":null,"page":null,"set":""}`},
		"todo:aggregate":            {`{"count":true,"filter":null,"groupBy":null,"having":null}`},
		"actions/day":               {`{"day":null}`},
		"todo:update-by-query":      {`{"filter":{"id":"nobody"},"changes":{"title":"x"},"maxAffected":null,"set":""}`},
		"todo:delete-by-query fail": {`{"filter":null,"all":true}`, `{"filter":null}`},
		"todo:update-by-query fail": {`{"filter":null,"changes":{"title":"x"}}`},
	} {
		path, fails, _ := strings.Cut(route, " ")
		for _, body := range bodies {
			r := s.do(http.MethodPost, "/api/"+path, body)
			if fails == "" {
				require.Equal(t, http.StatusOK, r.status, "%s %s: %s", path, body, r.body)
				continue
			}
			code, at := r.problem(http.StatusBadRequest)
			require.Equal(t, []string{"invalid_payload", "/filter"}, []string{code, at}, "%s %s", path, body)
		}
	}
	require.JSONEq(t, `["text"]`, string(s.do(http.MethodPost, "/api/actions/day", `{"day":null,"text":""}`).body), "an empty text of an action may mean something")
}
