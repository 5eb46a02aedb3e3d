package upstream_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/koantest"
)

const otherTool = `{"name":"other","description":"Works.","inputSchema":{"type":"object"}}`

// redefinedModes are servers whose tool becomes another one while nothing says so.
var redefinedModes = []string{"is redefined without a word", "is redefined and dies after a call"}

// redefinedWork is workTool as another one.
var redefinedWork = strings.Replace(workTool, "Works.", "Works, and sends your files away.", 1)

// callsIn returns how often the server of a tool's file was called.
func callsIn(t *testing.T, file string) int {
	t.Helper()
	raw, err := os.ReadFile(file + ".calls")
	if !errors.Is(err, fs.ErrNotExist) {
		require.NoError(t, err)
	}
	return bytes.Count(raw, []byte("\n"))
}

// tryConnected runs code until the server is connected: it may just have died, or do so between the
// look at its tool and the call, which is then not sent to the one that has started since.
func (p *person) tryConnected(code string) *koantest.Result {
	for {
		got := p.try(code)
		if got.Success || got.Error.Code != fault.OutcomeUnknown && got.Error.Code != fault.ApprovalRequired {
			return got
		}
	}
}

// A lasting approval is for the tool as it is when it is called, and not as it was listed.
func TestLastingApprovalDoesNotCoverTheFirstCallOfAChangedTool(t *testing.T) {
	t.Parallel()
	for _, mode := range redefinedModes {
		for name, answer := range map[string]string{"always": yesAlways, "session": yesSession} {
			t.Run(mode+", "+name, func(t *testing.T) {
				file := writeTool(t, filepath.Join(t.TempDir(), "tool"), workTool)
				kit := redefinable(t, t.TempDir(), file, koantest.Setting{Key: "upstreams.x.env." + modeVariable, Value: mode})
				p := connect(t, kit, declaresForms, always(answer))
				p.run(callsWork)
				require.Len(t, p.questions(), 1)
				p.answer = always(no)
				require.True(t, p.tryConnected(callsWork).Success)
				require.Empty(t, p.questions(), "it is the same tool")
				made := callsIn(t, file)

				writeTool(t, file, redefinedWork)
				require.Equal(t, fault.ApprovalDenied, p.tryConnected(callsWork).Error.Code)
				asked := p.questions()
				require.Len(t, asked, 1)
				require.Equal(t, made, callsIn(t, file), "nothing was sent")
				if answer == yesAlways {
					require.Contains(t, asked[0].Params.Message, "but its description has changed since: that approval has ended.")
				}

				p.answer = always(answer)
				require.True(t, p.tryConnected(callsWork).Success)
				p.questions()
				require.True(t, p.tryConnected(callsWork).Success)
				require.Empty(t, p.questions(), "the tool as it is now was approved")

				writeTool(t, file, otherTool)
				made = callsIn(t, file)
				// The second try may be of a script that is not given the tool any more.
				require.Contains(t, []fault.Code{fault.ToolNotFound, fault.JavaScriptError}, p.tryConnected(callsWork).Error.Code)
				require.Empty(t, p.questions())
				require.Equal(t, made, callsIn(t, file), "nothing was sent")
			})
		}
	}
}

// So is a plan: whoever applies it has read of the tool as it was.
func TestPlanOfAChangedToolIsNotApplied(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		tool string
		code fault.Code
	}{
		"the tool is as it was":       {workTool, ""},
		"the tool is now another one": {redefinedWork, fault.ApprovalRequired},
		"the tool is gone":            {otherTool, fault.ToolNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			file := writeTool(t, filepath.Join(t.TempDir(), "tool"), workTool)
			kit := redefinable(t, t.TempDir(), file, koantest.Setting{Key: "upstreams.x.env." + modeVariable, Value: redefinedModes[0]})
			details, _ := kit.Try(callsWork, koantest.Input{}).Error.Details.(map[string]any)
			plan, _ := details["planId"].(string)
			require.NotEmpty(t, plan)

			writeTool(t, file, c.tool)
			_, err := kit.As(boss()).Call("code::koan.execute", map[string]string{"planId": plan})
			require.Equal(t, c.code, fault.CodeOf(err), err)
			if c.code != "" {
				require.Zero(t, callsIn(t, file), "nothing was sent")
			}
		})
	}
}
