// Package release checks what a release is made with: goreleaser's configuration and the
// Dockerfile, whose steps are executed here without either program.
package release

import (
	"bytes"
	"debug/elf"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/koan-go/koan/tests/needs"
	"github.com/koan-go/koan/tests/soak"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

const root = "../.."

// configuration is what is looked at of goreleaser's.
type configuration struct {
	Builds []struct {
		Main, Binary string
		Env, Flags   []string
		Ldflags      []string
		Goos, Goarch []string
	}
	Archives []struct{ Files []string }
}

// goreleaser's own check needs a module graph of hundreds of modules; its published schema
// finds misspelt and misplaced keys as well.
func TestGoreleaserConfiguration(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(root + "/.ci/goreleaser.yaml")
	require.NoError(t, err)
	schema, err := jsonschema.NewCompiler().Compile("testdata/goreleaser.schema.json")
	require.NoError(t, err)
	validate := func(raw []byte) error {
		var v any
		require.NoError(t, yaml.Unmarshal(raw, &v))
		text, err := json.Marshal(v)
		require.NoError(t, err)
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		require.NoError(t, err)
		return schema.Validate(doc)
	}
	require.NoError(t, validate(raw))
	require.Error(t, validate(bytes.Replace(raw, []byte("goarch:"), []byte("goarchs:"), 1)), "the schema knows its keys")

	var c configuration
	require.NoError(t, yaml.Unmarshal(raw, &c))
	require.Len(t, c.Builds, 2)
	stamps := map[string]bool{}
	for _, b := range c.Builds {
		require.DirExists(t, filepath.Join(root, b.Main))
		require.Equal(t, []string{"CGO_ENABLED=0"}, b.Env)
		for _, f := range b.Ldflags {
			stamps[f] = true
			if rest, ok := strings.CutPrefix(f, "-X "); ok {
				variable, _, _ := strings.Cut(rest, "=")
				requireVariable(t, variable)
			}
		}
	}
	require.Len(t, stamps, 3, "koan and its worker carry the same stamps")
	for _, file := range c.Archives[0].Files {
		require.FileExists(t, filepath.Join(root, file))
	}
}

// requireVariable requires that the linker finds a variable. It says nothing of one that is
// not there.
func requireVariable(t *testing.T, name string) {
	t.Helper()
	i := strings.LastIndexByte(name, '.')
	pkg, ok := strings.CutPrefix(name[:i], "github.com/koan-go/koan/")
	require.True(t, ok, name)
	files, err := filepath.Glob(filepath.Join(root, pkg, "*.go"))
	require.NoError(t, err)
	for _, f := range files {
		raw, err := os.ReadFile(f)
		require.NoError(t, err)
		if bytes.Contains(raw, []byte("\nvar "+name[i+1:]+" string")) {
			return
		}
	}
	t.Fatalf("there is no variable %s", name)
}

// checkPython checks that the program of an image runs a script in Python where the machine has it.
func checkPython(t *testing.T, image *image) {
	t.Helper()
	needs.Program(t, "python3")
	require.Equal(t, []string{"/koan", "gateway"}, image.entrypoint)
	home := t.TempDir()
	require.NoError(t, os.WriteFile(home+"/script.py", []byte("result = [2 ** 70 % 7]"), 0o600))
	cmd := exec.CommandContext(t.Context(), filepath.Join(image.dir, "koan"), "gateway", "run", "script.py")
	cmd.Dir, cmd.Env = home, append(slices.Clone(image.env), "PATH="+os.Getenv("PATH"), "HOME="+home)
	for i, kv := range cmd.Env {
		cmd.Env[i] = strings.Replace(kv, "XDG_DATA_HOME=/data", "XDG_DATA_HOME="+home+"/data", 1)
	}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	require.Contains(t, string(out), `"data":[2]`)
}

// The image's binary is static, knows its version, and serves code mode over another
// server to a real client.
//
// It and the test below compile nearly the same packages, without C. They run one after the
// other, so that the second finds them compiled.
func TestDockerfile(t *testing.T) {
	soak.Proof(t)
	needs.Node(t)
	stages := build(t, root, "cmd/koan/Dockerfile")
	image := stages[""]
	require.Equal(t, []string{"/koan", "gateway"}, image.entrypoint)
	checkPython(t, stages["python"])
	program := filepath.Join(image.dir, "koan")

	f, err := elf.Open(program)
	require.NoError(t, err)
	defer f.Close()
	for _, p := range f.Progs {
		require.NotEqual(t, elf.PT_INTERP, p.Type, "a static binary needs no loader")
	}

	npm, err := filepath.Abs(root + "/tests/npm")
	require.NoError(t, err)
	home := t.TempDir()
	config, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"memory": map[string]any{
		"command": "node", "args": []string{npm + "/node_modules/@modelcontextprotocol/server-memory/dist/index.js"}, "env": map[string]string{"MEMORY_FILE_PATH": home + "/memory.json"},
	}}})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(home+"/mcp.json", config, 0o600))
	environment := append(image.env, "PATH="+os.Getenv("PATH"), "HOME="+home)
	for i, kv := range environment {
		environment[i] = strings.Replace(kv, "XDG_DATA_HOME=/data", "XDG_DATA_HOME="+home+"/data", 1)
	}
	said := func(name string, args ...string) string {
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Env, cmd.Dir = environment, home
		var errs bytes.Buffer
		cmd.Stderr = &errs
		out, err := cmd.Output()
		require.NoError(t, err, errs.String())
		return string(out)
	}
	require.Contains(t, said(program, "--version"), "0.0.0-image")
	require.Contains(t, said(program, "gateway", "check", "--mcp-config", home+"/mcp.json"), "9 tools") // whose effects are known from then on
	out := said("node", append([]string{npm + "/ask.mjs", "koan_code_execute", `{"code":"SDK.Out.answer(Object.keys(SDK.Servers.memory.read_graph({})))"}`, program}, append(image.entrypoint[1:], "--mcp-config", home+"/mcp.json", "--upstreams.memory.effects.read_graph", "read")...)...)
	require.JSONEq(t, `["entities","relations"]`, out)
	require.FileExists(t, home+"/data/koan-gateway/koan.ledger", "runs are recorded")
}

// An app whose entities are searched needs the C library's index of words: without it the
// app does not start on SQLite, and says why.
func TestStaticAppSaysWhatItLacks(t *testing.T) {
	soak.Proof(t)
	program := filepath.Join(t.TempDir(), "pantrypal")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", program, "./sample-pantrypal")
	cmd.Dir, cmd.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	said, err := cmd.CombinedOutput()
	require.NoError(t, err, string(said))
	cmd = exec.CommandContext(t.Context(), program, "tools", "--database", "sqlite://"+t.TempDir())
	said, err = cmd.CombinedOutput()
	require.Error(t, err)
	require.Equal(t, 1, cmd.ProcessState.ExitCode())
	require.Contains(t, string(said), "capability_unsupported: this program was built without cgo, and its SQLite (modernc.org/sqlite) has no index of words, which these entities need: ")
	require.Contains(t, string(said), "Recipe")
	require.Contains(t, string(said), "hint: Build it with a C compiler")
}
