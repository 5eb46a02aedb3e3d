// Package console tests the console of whole apps: people who use it in Chromium, and attacks on
// its sessions.
package console

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	_ "github.com/koan-go/koan/codemode/languages"
	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/tests/fixture"
	"github.com/koan-go/koan/tests/needs"
)

// asApp makes this test binary one of the apps.
const asApp = "KOANTEST_CONSOLE"

var apps = map[string]func() framework.App{"fixture": app, "words": wordsApp, "created": createdApp}

func TestMain(m *testing.M) {
	if app := apps[os.Getenv(asApp)]; app != nil {
		framework.Main(app())
	}
	os.Exit(m.Run())
}

type (
	greeting struct {
		Name string `json:"name" jsonschema:"Who is greeted."`
	}
	greeted struct {
		Text string `json:"text"`
	}
)

func app() framework.App {
	a := fixture.App()
	a.GoActions = append(a.GoActions, framework.Action("greet", "Greets somebody.", func(_ context.Context, _ framework.Call, in greeting) (greeted, error) {
		return greeted{"Hello, " + in.Name}, nil
	}))
	return a
}

// output is what a process has printed so far.
type output struct {
	mu   sync.Mutex
	text strings.Builder
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

var (
	announced = regexp.MustCompile(`Console: (http\S+)`)
	listening = regexp.MustCompile(`MCP: listening on (http\S+)`)
)

// command is the app in a process of its own.
func command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	dir := t.TempDir()
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), self, append([]string{"serve", "--http", "127.0.0.1:0"}, args...)...)
	cmd.Dir = dir
	cmd.Env = []string{asApp + "=" + cmp.Or(os.Getenv(asApp), "fixture"), "HOME=" + dir, "PATH=" + os.Getenv("PATH"), "KOAN_DATABASE=sqlite://" + filepath.Join(dir, "data")}
	return cmd
}

// start starts the app, and returns what it has printed and the address in the first line that
// matches.
func start(t *testing.T, line *regexp.Regexp, args ...string) (at string, stderr *output) {
	t.Helper()
	cmd := command(t, args...)
	stderr = &output{}
	cmd.Stderr = stderr
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	require.Eventually(t, func() bool {
		if m := line.FindStringSubmatch(stderr.String()); m != nil {
			at = m[1]
		}
		return at != ""
	}, 30*time.Second, 10*time.Millisecond, "%s", stderr)
	return at, stderr
}

// serve starts the app, and returns what it announces of its console.
func serve(t *testing.T, args ...string) (at string, stderr *output) {
	t.Helper()
	return start(t, announced, args...)
}

// refused runs an app that must not start, and returns what it prints.
func refused(t *testing.T, args ...string) string {
	t.Helper()
	out, err := command(t, args...).CombinedOutput()
	require.Error(t, err)
	return string(out)
}

// completionMs is how long a completion may take once the compiler is warm, as the median.
const completionMs = 100

func TestStories(t *testing.T) {
	needs.Browser(t)
	link, _ := serve(t, "--approval.mode", "destructive")
	cmd := exec.CommandContext(t.Context(), "node", "console.mjs", link)
	cmd.Dir, cmd.Stderr = "../npm", os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	stories := 0
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var told struct {
			Story, Error            string
			Completions, Looked, Ms int
			CompletionMs            float64
		}
		require.NoError(t, json.Unmarshal(lines.Bytes(), &told), "%s", lines.Text())
		stories++
		t.Run(told.Story, func(t *testing.T) {
			require.Empty(t, told.Error)
			switch told.Story {
			case "write and dry-run a script":
				require.Greater(t, told.Completions, 6)
				require.Less(t, told.CompletionMs, float64(completionMs), "milliseconds of a completion")
			case "axe finds nothing":
				require.Greater(t, told.Looked, 30, "views")
			}
			t.Logf("%d ms, completion %.0f ms", told.Ms, told.CompletionMs)
		})
	}
	require.NoError(t, cmd.Wait())
	require.Equal(t, 17, stories)
}
