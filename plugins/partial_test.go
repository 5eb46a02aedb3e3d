package plugins

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/run"
)

// Partial results reach who calls the function as a tool, as far as they are not too much.
func TestPartialResults(t *testing.T) {
	t.Parallel()
	b := start(t, pluginsDir(t, "echo"), nil)
	for size, want := range map[int]int{0: 6, maxPartial - 100: 4, maxPartial: 0} {
		var got []string
		progress := 0
		input, err := json.Marshal(echoIn{Do: "partial", Size: size})
		require.NoError(t, err)
		_, _, err = b.engine.Invoke(t.Context(), run.Request{
			View: b.view(), Principal: auth.Local(), ID: catalog.PluginID("echo", "say"), Input: input,
			Reports: run.Reports{
				Progress: func(float64, float64, string) { progress++ },
				Emit:     func(index int, value json.RawMessage) { got = append(got, fmt.Sprint(index, " ", string(value))) },
			},
		})
		require.NoError(t, err)
		require.Equal(t, 1, progress, "a partial result is none")
		require.Len(t, got, want)
		for n, text := range got {
			require.Equal(t, fmt.Sprintf(`%d {"n":%d,"text":"%s"}`, n, n, strings.Repeat("y", size)), text)
		}
	}
}
