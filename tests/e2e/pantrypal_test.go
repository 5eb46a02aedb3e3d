package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/tests/programs"
	"github.com/koan-go/koan/tests/soak"
	"github.com/koan-go/koan/tests/typescript"
)

// pantryBuilt is the folder that pantry built into, for TestMain to remove.
var pantryBuilt string

// pantry is the sample, for all tests: the app, its plugin beside it, and the demo.
var pantry = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "pantrypal-e2e-*")
	if err != nil {
		return "", err
	}
	pantryBuilt = dir
	return dir, programs.Build(dir, map[string]string{"pantrypal": "sample-pantrypal", "plugins/vision": "plugins/vision", "demo": "sample-pantrypal/cmd/demo"})
})

func pantryBin(t *testing.T) string {
	t.Helper()
	dir, err := pantry()
	require.NoError(t, err)
	return dir
}

// servePantry starts PantryPal over a data folder, with the sample's photos as
// the plugin's root.
func servePantry(t *testing.T, data string, args ...string) *peer {
	t.Helper()
	photos, err := filepath.Abs("../../sample-pantrypal/testdata")
	require.NoError(t, err)
	cmd := exec.Command(filepath.Join(pantryBin(t), "pantrypal"), append([]string{"serve", "--database", "sqlite://" + data, "--plugins.vision.root", photos}, args...)...)
	cmd.Dir = t.TempDir()
	p := start(t, cmd)
	p.call("initialize", input{"protocolVersion": "2025-11-25", "capabilities": input{}, "clientInfo": input{"name": "x", "version": "1"}})
	p.notify("notifications/initialized", input{})
	return p
}

func pantryScript(t *testing.T, name string) string {
	t.Helper()
	raw, err := os.ReadFile("../../sample-pantrypal/scripts/" + name)
	require.NoError(t, err)
	return string(raw)
}

func demo(t *testing.T, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	bin := pantryBin(t)
	cmd := exec.CommandContext(ctx, filepath.Join(bin, "demo"), append([]string{"-app", filepath.Join(bin, "pantrypal")}, args...)...)
	cmd.Dir = "../.."
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestBuildVersion checks that an app without a version reports its build's, everywhere
// the same.
func TestBuildVersion(t *testing.T) {
	t.Parallel()
	p := servePantry(t, t.TempDir())
	about := p.call("initialize", input{"protocolVersion": "2025-11-25", "capabilities": input{}, "clientInfo": input{"name": "x", "version": "1"}})
	var init struct {
		ServerInfo   struct{ Version string }
		Capabilities struct {
			Experimental, Extensions map[string]struct{ ToolVersion string }
		}
	}
	require.NoError(t, json.Unmarshal(about.Result, &init))
	require.Equal(t, programs.Version, init.ServerInfo.Version)
	require.Equal(t, programs.Version, init.Capabilities.Experimental["koan"].ToolVersion)
	require.Equal(t, programs.Version, init.Capabilities.Extensions["dev.koan/code-mode"].ToolVersion)
	r := p.tool("koan.code.execute", input{"code": "1"})
	require.Contains(t, string(r.Meta["dev.koan/run"]), `"toolVersion":"`+programs.Version+`"`)
	script := filepath.Join(t.TempDir(), "one.js")
	require.NoError(t, os.WriteFile(script, []byte("1"), 0o600))
	out, err := exec.Command(filepath.Join(pantryBin(t), "pantrypal"), "run", script, "--database", "sqlite://"+t.TempDir()).Output()
	require.NoError(t, err)
	require.Contains(t, string(out), `"tool_version":"`+programs.Version+`"`)
}

func TestDemo(t *testing.T) {
	t.Parallel()
	out, err := demo(t, "-photo", "sample-pantrypal/testdata/haul.png")
	require.NoError(t, err, out)
	for _, want := range []string{"Baby spinach", "Chickpeas", "2000000000992", "What changed", "week-plan", "One round trip", "As tools", "Undone: "} {
		require.Contains(t, out, want)
	}
	require.NotContains(t, out, "\x1b[", "plain in a pipe")

	out, err = demo(t, "-photo", "sample-pantrypal/testdata/empty.png")
	require.NoError(t, err, out)
	require.Regexp(t, `(?i)no (bar)?codes?`, out)

	for name, photo := range map[string]string{"a broken file": "sample-pantrypal/testdata/broken.png", "a missing file": "none.png", "no picture": "go.mod"} {
		t.Run(name, func(t *testing.T) {
			out, err := demo(t, "-photo", photo)
			require.Error(t, err)
			require.Contains(t, out, filepath.Base(photo))
		})
	}
}

func TestPantryScriptsHoldUnderTSC(t *testing.T) {
	soak.Proof(t)
	t.Parallel()
	cmd := exec.Command(filepath.Join(pantryBin(t), "pantrypal"), "sdk", "--database", "sqlite://"+t.TempDir())
	cmd.Dir = t.TempDir()
	out, err := cmd.Output()
	require.NoError(t, err)
	files := map[string]string{"koan.d.ts": string(out)}
	for _, name := range []string{"grocery-haul.js", "simple-dinner.js"} {
		files[name] = pantryScript(t, name)
	}
	require.Empty(t, typescript.Check(t, files))
}

func TestPantryScripts(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	p := servePantry(t, data)
	for _, name := range []string{"grocery-haul.js", "simple-dinner.js"} {
		require.JSONEq(t, `{"valid":true}`, string(p.tool("koan.code.validate", input{"code": pantryScript(t, name)}).Structured), name)
	}
	haul := input{"args": input{"photo": "haul.png"}}
	dry := p.execute(pantryScript(t, "grocery-haul.js"), haul, input{"dryRun": true})
	require.True(t, dry.Success, "%+v", dry.Error)
	require.NotEmpty(t, dry.Changes)
	require.EqualValues(t, 0, p.execute("SDK.Entities.PantryPhoto.count()").Result, "a dry run leaves nothing")

	e := p.execute(pantryScript(t, "grocery-haul.js"), haul)
	require.True(t, e.Success, "%+v", e.Error)
	items := p.execute("SDK.Entities.PantryItem.count()").Result
	require.EqualValues(t, 1, p.execute("SDK.Entities.Detection.count({status: 'open'})").Result)
	require.Positive(t, p.execute("SDK.Entities.PantryEvent.count()").Result)

	again := p.execute(pantryScript(t, "grocery-haul.js"), haul)
	require.True(t, again.Success, "%+v", again.Error)
	require.Equal(t, items, p.execute("SDK.Entities.PantryItem.count()").Result, "the same photo makes no duplicates")
	require.EqualValues(t, 0, p.execute("SDK.Entities.PantryPhoto.count()", input{"set": "lake-house"}).Result, "the other set is its own")
	require.True(t, p.execute(pantryScript(t, "simple-dinner.js")).Success)
	p.close()

	// A folder with data is never touched.
	p = servePantry(t, data)
	require.Equal(t, items, p.execute("SDK.Entities.PantryItem.count()").Result)
}

func TestPathsOfPhotos(t *testing.T) {
	p := servePantry(t, t.TempDir())
	for path, want := range map[string]fault.Code{
		"../../go.mod": fault.InvalidPayload, "/etc/passwd": fault.InvalidPayload, "none.png": fault.NotFound, "broken.png": fault.InvalidPayload,
	} {
		r := p.tool("vision.detect", input{"path": path})
		require.True(t, r.IsError, path)
		require.Contains(t, string(r.Structured), `"`+string(want)+`"`, path)
	}
}

// TestPluginIsKilled kills the plugin's process in the middle of a call.
func TestPluginIsKilled(t *testing.T) {
	p := servePantry(t, t.TempDir())
	pid := pluginOf(t, p.cmd.Process.Pid)
	_, answer := p.post("tools/call", input{"name": "vision.detect", "arguments": input{"path": "haul.png"}})
	time.Sleep(60 * time.Millisecond)
	process, err := os.FindProcess(pid)
	require.NoError(t, err)
	require.NoError(t, process.Kill())
	m := p.wait(answer)
	var r toolResult
	require.NoError(t, json.Unmarshal(m.Result, &r))
	require.True(t, r.IsError, string(m.Result))
	require.Contains(t, string(r.Structured), string(fault.PluginUnavailable))
	require.Contains(t, string(r.Structured), `"hint"`)
	next := p.tool("vision.detect", input{"path": "haul.png"})
	require.False(t, next.IsError, string(next.Structured))
}

func pluginOf(t *testing.T, parent int) int {
	t.Helper()
	all := processesUnder(t, parent)
	for _, pid := range all { // a confined plugin is below the process that confines it
		n, err := strconv.Atoi(pid)
		require.NoError(t, err)
		all = append(all, processesUnder(t, n)...)
	}
	for _, pid := range all {
		raw, err := os.ReadFile(filepath.Join("/proc", pid, "comm"))
		if err == nil && strings.TrimSpace(string(raw)) == "vision" {
			n, err := strconv.Atoi(pid)
			require.NoError(t, err)
			return n
		}
	}
	t.Fatal("no plugin process")
	return 0
}

func TestPluginIsMissing(t *testing.T) {
	cmd := exec.Command(filepath.Join(pantryBin(t), "pantrypal"), "run", "-", "--database", "sqlite://"+t.TempDir(), "--plugins.dir", t.TempDir())
	cmd.Dir = t.TempDir()
	cmd.Stdin = strings.NewReader(pantryScript(t, "grocery-haul.js"))
	out, err := cmd.Output()
	require.Error(t, err)
	l := oneLine(t, result{stdout: string(out)})
	require.False(t, l.Result.OK)
	require.NotEmpty(t, l.Result.Error.Message)
}

// In the sample deleting rows needs approval, unless it is configured otherwise, and
// nothing else does.
func TestPantryDeletesNeedApproval(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	run := func(code string, more ...string) runLine {
		t.Helper()
		cmd := exec.Command(filepath.Join(pantryBin(t), "pantrypal"), append([]string{"run", "-", "--database", "sqlite://" + data}, more...)...)
		cmd.Dir, cmd.Stdin = t.TempDir(), strings.NewReader(code)
		out, _ := cmd.Output() // the line says how it went
		return oneLine(t, result{stdout: string(out)})
	}
	made := run(`SDK.Entities.PantryItem.upsert({ name: "Salt", amount: 1, unit: "kg" }).id`)
	require.True(t, made.Result.OK, made.Result.Error)
	remove := fmt.Sprintf("SDK.Entities.PantryItem.delete(%q)", made.Result.Data)
	asked := run(remove)
	require.Equal(t, "REQUIRED", asked.ApprovalState)
	require.NotEmpty(t, asked.PlanID)
	require.True(t, run(remove, "--approval.mode", "never").Result.OK)
}
