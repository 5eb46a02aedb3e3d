// Package needs skips tests on machines that lack what they need beside Go and gcc, and says what
// that is. Where the variable KOAN_TESTS_NEED_ALL is set, as `make test` does, which installs all of
// it, such a test fails instead.
//
// What belongs here: programs of others that tests start. Not here: a reason to skip a test
// that has to do with what is tested.
package needs

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// all is the variable of the environment with which nothing is skipped.
const all = "KOAN_TESTS_NEED_ALL"

// Missing ends a test that lacks something.
func Missing(tb testing.TB, what string) {
	tb.Helper()
	if os.Getenv(all) != "" {
		tb.Fatalf("this machine has no %s: run `make setup`", what)
	}
	tb.Skipf("needs %s: run `make setup`", what)
}

// Program makes sure that a program is there.
func Program(tb testing.TB, name string) {
	tb.Helper()
	if _, err := exec.LookPath(name); err != nil {
		Missing(tb, name)
	}
}

// Node makes sure that there is Node with the packages of tests/npm.
func Node(tb testing.TB) {
	tb.Helper()
	Program(tb, "node")
	if _, err := os.Stat(filepath.Join(npm(), "node_modules", ".package-lock.json")); err != nil {
		Missing(tb, "packages of npm in tests/npm")
	}
}

// NodeProgram makes sure that a program of the packages of tests/npm is there, and returns its path.
func NodeProgram(tb testing.TB, name string) string {
	tb.Helper()
	Node(tb)
	path := filepath.Join(npm(), "node_modules", ".bin", name)
	if !exists(path) {
		Missing(tb, name+" of npm in tests/npm")
	}
	return path
}

// ScriptNode makes sure that there is a Node which runs scripts, and returns its path: the system's, or npm's where that
// one is too old.
func ScriptNode(tb testing.TB) string {
	tb.Helper()
	const oldest = "const [major] = process.versions.node.split('.'); process.exit(major >= 20 ? 0 : 1)"
	for _, name := range []string{"node", filepath.Join(npm(), "node_modules", "node", "bin", "node")} {
		if path, err := exec.LookPath(name); err == nil && exec.Command(path, "-e", oldest).Run() == nil {
			return path
		}
	}
	Missing(tb, "Node 20 or newer")
	return ""
}

// Python makes sure that there is the system's Python with what plugins in Python need, and returns its path.
func Python(tb testing.TB) string {
	tb.Helper()
	const path = "/usr/bin/python3" // which a confined plugin sees
	if exec.Command(path, "-c", "import grpc, google.protobuf").Run() != nil {
		Missing(tb, "python3 with python3-grpcio and python3-protobuf")
	}
	return path
}

// PythonModule makes sure that the system's Python has a module, and returns its path.
func PythonModule(tb testing.TB, module string) string {
	tb.Helper()
	const path = "/usr/bin/python3"
	if exec.Command(path, "-c", "import "+module).Run() != nil {
		Missing(tb, "python3-"+strings.Split(module, ".")[0])
	}
	return path
}

// Kit makes sure that there is Node with the packages that plugins in TypeScript need.
func Kit(tb testing.TB) {
	tb.Helper()
	Program(tb, "node")
	if kit := filepath.Join(filepath.Dir(filepath.Dir(npm())), "plugins", "typescript"); !exists(filepath.Join(kit, "node_modules", ".package-lock.json")) {
		Missing(tb, "packages of npm in plugins/typescript")
	}
}

// Browser makes sure that there is a browser, and Node to steer it.
func Browser(tb testing.TB) {
	tb.Helper()
	Node(tb)
	Program(tb, "chromium")
}

// npm returns the folder of what comes from npm, in the module that the test is of; "" if there is none.
func npm() string {
	at, err := os.Getwd()
	for err == nil && at != filepath.Dir(at) {
		if folder := filepath.Join(at, "tests", "npm"); exists(filepath.Join(folder, "package.json")) {
			return folder
		}
		at = filepath.Dir(at)
	}
	return ""
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
