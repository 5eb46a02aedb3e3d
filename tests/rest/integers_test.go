package rest

import (
	"context"
	"net/http"
	"regexp"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/tests/fixture"
)

type counted struct {
	N    int64            `json:"n"`
	U    uint64           `json:"u,omitempty"`
	Many []int64          `json:"many,omitempty"`
	Each map[string]int64 `json:"each,omitempty"`
}

// integers matches those of a text, as numbers and as texts of digits alike.
var integers = regexp.MustCompile(`-?\d+`)

// Integers beyond 2^53 go into actions and come out of them exactly, of Go and of scripts, as numbers or as
// texts of digits; what no integer is, is refused.
func TestActionsTakeAndGiveLargeIntegers(t *testing.T) {
	t.Parallel()
	app := fixture.App()
	app.GoActions = []framework.GoAction{
		framework.Action("same", "Returns what it gets.", func(_ context.Context, _ framework.Call, in counted) (counted, error) { return in, nil }),
	}
	app.Actions = fstest.MapFS{"echo.js": {Data: []byte(`
		export const action = {
			description: "Returns what it gets, through another action.",
			input: {type: "object", properties: {n: {type: "integer"}, many: {type: "array", items: {type: "integer"}}}, required: ["n"]},
			output: {type: "object", properties: {n: {type: "integer"}, many: {type: "array", items: {type: "integer"}}}, required: ["n"]},
		};
		export default input => SDK.Actions.same(input);
	`)}}
	s := serve(t, app, framework.HTTPOptions{})
	for _, action := range []string{"same", "echo"} {
		for sent, want := range map[string]string{
			`{"n":9007199254740993}`:   `{"n":9007199254740993}`,
			`{"n":"9007199254740993"}`: `{"n":9007199254740993}`,
			`{"n":-9223372036854775808,"many":[9223372036854775807,1,"9007199254740995"]}`: `{"n":-9223372036854775808,"many":[9223372036854775807,1,9007199254740995]}`,
			`{"n":1}`: `{"n":1}`,
		} {
			r := s.do(http.MethodPost, "/api/actions/"+action, sent)
			require.Equal(t, http.StatusOK, r.status, "%s %s: %s", action, sent, r.body)
			require.ElementsMatch(t, integers.FindAllString(want, -1), integers.FindAllString(string(r.body), -1), "%s %s", action, r.body)
		}
		for _, sent := range []string{`{"n":9007199254740993.5}`, `{"n":"9007199254740993.5"}`, `{"n":"x"}`, `{"n":9223372036854775808}`} {
			r := s.do(http.MethodPost, "/api/actions/"+action, sent)
			if action == "echo" && sent == `{"n":9223372036854775808}` { // its own schema has no bound
				require.GreaterOrEqual(t, r.status, 400, "%s", r.body)
				continue
			}
			code, path := r.problem(http.StatusBadRequest)
			require.Equal(t, "invalid_payload", code)
			require.Equal(t, "/n", path)
		}
	}
	r := s.do(http.MethodPost, "/api/actions/same", `{"n":1,"u":18446744073709551615,"each":{"a":9007199254740993}}`)
	require.Equal(t, http.StatusOK, r.status, "%s", r.body)
	require.ElementsMatch(t, []string{"9007199254740993", "1", "18446744073709551615"}, integers.FindAllString(string(r.body), -1))
}
