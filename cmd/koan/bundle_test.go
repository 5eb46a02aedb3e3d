package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/tests/needs"
	"github.com/koan-go/koan/tests/programs"
	"github.com/koan-go/koan/tests/soak"
)

// unpacked is what tests/npm/bundle.mjs saw.
type unpacked struct {
	Unpacked, Valid bool
	Said            string
	Platforms       []string
	Runtimes        map[string]string
	Listed, Tools   []string
	Config          struct {
		Command string
		Args    []string
		Env     map[string]string
	}
	Called struct {
		IsError bool
		Body    json.RawMessage
	}
}

// unpack has the official packer's code unpack and check a bundle, and a client start it.
func unpack(t *testing.T, bundle string, args ...string) (u unpacked) {
	t.Helper()
	needs.Node(t)
	script, err := filepath.Abs("../../tests/npm/bundle.mjs")
	require.NoError(t, err)
	folder := filepath.Join(t.TempDir(), "unpacked")
	cmd := exec.CommandContext(t.Context(), "node", append([]string{script, bundle, folder}, args...)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	require.NoError(t, err, errs.String())
	require.NoError(t, json.Unmarshal(out, &u), string(out))
	require.True(t, u.Unpacked)
	require.True(t, u.Valid, u.Said)
	require.Equal(t, []string{"linux"}, u.Platforms)
	require.True(t, strings.HasPrefix(u.Config.Command, folder), u.Config.Command)
	return u
}

// checkServer checks server.json by the registry's schema, and its hash by the bundle.
func checkServer(t *testing.T, folder, bundle string) map[string]any {
	t.Helper()
	schema, err := jsonschema.NewCompiler().Compile("bundle/testdata/server.schema.json")
	require.NoError(t, err)
	raw, err := os.ReadFile(filepath.Join(folder, "server.json"))
	require.NoError(t, err)
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	require.NoError(t, err)
	require.NoError(t, schema.Validate(v))
	packed, err := os.ReadFile(bundle)
	require.NoError(t, err)
	sum := sha256.Sum256(packed)
	server := v.(map[string]any)
	require.Equal(t, hex.EncodeToString(sum[:]), server["packages"].([]any)[0].(map[string]any)["fileSha256"])
	return server
}

// PantryPal with its worker and its plugin, as people build it.
func TestBundleOfAnApp(t *testing.T) {
	soak.Proof(t)
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, programs.Build(dir, map[string]string{"pantrypal": "sample-pantrypal", "koan-worker": "cmd/koan-worker", "plugins/vision": "plugins/vision"}))
	config := filepath.Join(dir, "koan.yaml")
	require.NoError(t, os.WriteFile(config, []byte("codeMode: { languages: [javascript, python] }\nupstreams: { shop: { url: \"http://127.0.0.1:1/\", headers: { Authorization: \"Bearer ${env:SHOP_TOKEN}\" } } }\n"), 0o600))
	out := filepath.Join(dir, "dist")
	args := []string{"bundle", filepath.Join(dir, "pantrypal"), "--author", "Ann", "--version", "1.2.3", "--config", config, "--out", out, "--ask-data"}
	var said, errs bytes.Buffer
	require.Zero(t, run(args, &said, &errs), errs.String())
	bundle := filepath.Join(out, "pantrypal-1.2.3-linux-"+runtime.GOARCH+".mcpb")

	server := checkServer(t, out, bundle)
	require.Equal(t, "io.github.koan-go/pantrypal", server["name"])
	packed := server["packages"].([]any)[0].(map[string]any)
	require.Equal(t, "https://github.com/koan-go/koan/releases/download/v1.2.3/pantrypal-1.2.3-linux-"+runtime.GOARCH+".mcpb", packed["identifier"])
	require.Equal(t, []any{map[string]any{"name": "SHOP_TOKEN", "isRequired": true, "isSecret": true}}, packed["environmentVariables"])

	data := filepath.Join(dir, "data")
	u := unpack(t, bundle, `{"shop_token":"not-a-token","data":"`+data+`"}`, "koan_code_execute", `{"language":"python","code":"SDK.Out.answer([SDK.Entities.Recipe.count(), callable(SDK.Vision.detect)])"}`)
	require.Equal(t, u.Listed, u.Tools, "what the manifest lists is what the client gets")
	require.Contains(t, said.String(), fmt.Sprintf("5 files, %d tools", len(u.Tools)))
	require.Subset(t, u.Tools, []string{"haul", "koan_code_execute", "tools_call"}) // by which the functions of plugins are called that have no room in the list
	require.Equal(t, map[string]string{"SHOP_TOKEN": "not-a-token"}, u.Config.Env)
	require.Equal(t, map[string]string{"python": ">=3.11"}, u.Runtimes)
	require.False(t, u.Called.IsError, string(u.Called.Body))
	require.Contains(t, string(u.Called.Body), `"answer":[95,true]`)
	require.DirExists(t, data)

	before, err := os.ReadFile(bundle)
	require.NoError(t, err)
	require.Zero(t, run(args, io.Discard, &errs), errs.String())
	again, err := os.ReadFile(bundle)
	require.NoError(t, err)
	require.True(t, bytes.Equal(before, again), "the same binary makes the same bundle")
}

// The gateway asks for the file with the servers. This test's own binary is its program.
func TestBundleOfTheGateway(t *testing.T) {
	soak.Proof(t)
	t.Parallel()
	b := newBench(t)
	self, err := os.Executable()
	require.NoError(t, err)
	raw, err := os.ReadFile(self)
	require.NoError(t, err)
	program := b.path("koan")
	require.NoError(t, os.WriteFile(program, raw, 0o755))
	cmd := exec.CommandContext(t.Context(), program, "bundle", "--author", "Ann", "--version", "1.2.3", "--out", b.path("dist"))
	said, err := cmd.CombinedOutput()
	require.NoError(t, err, string(said))
	bundle := b.path("dist/koan-gateway-1.2.3-linux-" + runtime.GOARCH + ".mcpb")
	checkServer(t, b.path("dist"), bundle)
	u := unpack(t, bundle, `{"servers":"`+b.path("mcp.json")+`"}`, "koan_code_execute", `{"code":"SDK.Out.answer(Object.keys(SDK.Servers).length)"}`)
	require.Equal(t, []string{"gateway", "--mcp-config", b.path("mcp.json")}, u.Config.Args)
	require.Contains(t, string(u.Called.Body), `"answer":4`)
}

func TestBundleProblems(t *testing.T) {
	t.Parallel()
	text := filepath.Join(t.TempDir(), "todo")
	require.NoError(t, os.WriteFile(text, []byte("#!/bin/sh\n"), 0o755))
	for _, c := range []struct {
		args   []string
		status int
		says   string
	}{
		{[]string{"bundle", text}, 2, "give it with --author"},
		{[]string{"bundle", "a", "b", "--author", "Ann"}, 2, "name one binary"},
		{[]string{"bundle", text, "--author", "Ann", "--name", "../todo"}, 2, "--name takes letters"},
		{[]string{"bundle", text, "--author", "Ann", "--version", "next"}, 2, "--version takes a semantic version"},
		{[]string{"bundle", text, "--author", "Ann", "--registry-name", "todo"}, 2, "--registry-name takes a name such as"},
		{[]string{"bundle", text, "--author", "Ann", "--download", "todo.mcpb"}, 2, "--download takes an https:// address"},
		{[]string{"bundle", text, "--author", "Ann"}, 1, "is not a binary that Go has built"},
		{[]string{"bundle", text + "x", "--author", "Ann"}, 1, "no such file"},
	} {
		var out, errs bytes.Buffer
		require.Equal(t, c.status, run(c.args, &out, &errs))
		require.Contains(t, errs.String(), c.says)
	}
}

// A binary for another system is packed too, without a list of its tools; where it is from
// is not known, so that server.json cannot be written.
func TestBundleForAnotherSystem(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module errands\n\ngo 1.26\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte("package main\n\nfunc main() {}\n"), 0o600))
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", "errands.exe", ".")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOOS=windows", "GOARCH=arm64", "CGO_ENABLED=0", "GOFLAGS=")
	said, err := cmd.CombinedOutput()
	require.NoError(t, err, string(said))
	var out, errs bytes.Buffer
	require.Zero(t, run([]string{"bundle", filepath.Join(dir, "errands.exe"), "--author", "Ann", "--version", "1.0.0", "--out", dir}, &out, &errs), errs.String())
	require.Contains(t, out.String(), "The tools are not listed in it")
	require.Contains(t, out.String(), "No server.json: the module is not from GitHub")
	require.NoFileExists(t, filepath.Join(dir, "server.json"))
	z, err := zip.OpenReader(filepath.Join(dir, "errands-1.0.0-win32-arm64.mcpb"))
	require.NoError(t, err)
	defer z.Close()
	require.Len(t, z.File, 2)
	require.Equal(t, "server/errands.exe", z.File[1].Name)
}
