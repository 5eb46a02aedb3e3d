package console

import (
	"context"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/tests/fixture"
	"github.com/koan-go/koan/tests/words"
)

// mirrored are inputs that are called like members of all objects of JavaScript.
type mirrored struct {
	Constructor string `json:"constructor,omitempty"`
	ToString    string `json:"toString,omitempty"`
	Length      string `json:"length,omitempty"`
	Proto       string `json:"__proto__,omitempty"`
}

type reflection struct {
	Got string `json:"got"`
}

// wordsApp has an entity and an action with such names.
func wordsApp() framework.App {
	a := words.App()
	a.GoActions = append(a.GoActions, framework.Action("mirror", "Returns what it gets.", func(_ context.Context, _ framework.Call, in mirrored) (reflection, error) {
		return reflection{in.Constructor + " " + in.ToString + " " + in.Length + " " + in.Proto}, nil
	}))
	return a
}

// createdApp has an entity whose rows can be created, and not be changed.
func createdApp() framework.App {
	a := fixture.App()
	for _, e := range a.Entities.Graph.Entities {
		if e.Resource.Name == "Label" {
			e.Resource.Operations = []string{"collection", "get-by-id", "new", "create"}
		}
	}
	return a
}

func TestFormsOfOddEntities(t *testing.T) {
	for _, story := range []string{"words", "created"} {
		t.Run(story, func(t *testing.T) {
			t.Setenv(asApp, story)
			link, _ := serve(t)
			cmd := exec.CommandContext(t.Context(), "node", "console-words.mjs", link, story)
			cmd.Dir = "../npm"
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s", out)
		})
	}
}
