package rest

import (
	"net/http"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/tests/fixture"
)

// Integers that no integer of Go holds come out of actions like others beyond 2^53.
func TestActionsGiveIntegersOfAnySize(t *testing.T) {
	t.Parallel()
	app := fixture.App()
	output := `output: {type: "object", properties: {n: {type: "integer"}}, required: ["n"]}`
	for name, value := range map[string]string{"least": `9223372036854775808n`, "large": `2n ** 80n`, "negative": `-(2n ** 63n) - 1n`, "text": `"9223372036854775808"`} {
		if app.Actions == nil {
			app.Actions = fstest.MapFS{}
		}
		app.Actions.(fstest.MapFS)[name+".js"] = &fstest.MapFile{Data: []byte(`export const action = {description: "Returns an integer.", ` + output + `}; export default () => ({n: ` + value + `});`)}
	}
	s := serve(t, app, framework.HTTPOptions{})
	for name, want := range map[string]string{"least": "9223372036854775808", "large": "1208925819614629174706176", "negative": "-9223372036854775809", "text": "9223372036854775808"} {
		r := s.do(http.MethodPost, "/api/actions/"+name, `{}`)
		require.Equal(t, http.StatusOK, r.status, "%s: %s", name, r.body)
		require.Equal(t, []string{want}, integers.FindAllString(string(r.body), -1), name)
		var got string
		s.kit.Run(`SDK.Actions.`+name+`({}).n`, koantest.Input{}).ResultInto(&got)
		require.Equal(t, want, got, name)
	}
}
