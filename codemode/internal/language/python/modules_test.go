package python_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/codemode/internal/language/cell"
	"github.com/koan-go/koan/codemode/internal/language/python"
	"github.com/koan-go/koan/codemode/internal/sandbox"
	"github.com/koan-go/koan/tests/needs"
)

// debian is the interpreter of the system, for which it has packages such as python3-numpy.
const debian = "/usr/bin/python3"

// withModules returns a sandbox of the system's interpreter with modules that Debian has packed.
func withModules(tb testing.TB, modules ...string) *sandbox.Sandbox {
	tb.Helper()
	for _, m := range modules {
		needs.PythonModule(tb, m)
	}
	i, err := python.Find(tb.Context(), debian, modules)
	require.NoError(tb, err)
	s, err := sandbox.New(sandbox.Options{
		PoolSize: 1, StartTimeout: time.Minute, Layers: cell.Layers(),
		Interpreter: &sandbox.Interpreter{Args: func() []string { return i.Arguments(modules) }, Attr: cell.Attributes(), Layers: cell.Layers(), Forks: true},
	})
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, s.Close()) })
	return s
}

// A module of Debian's finds its libraries, which are linked through /etc/alternatives, and its values are JSON.
func TestModulesOfTheSystem(t *testing.T) {
	t.Parallel()
	s := withModules(t, "numpy")
	const code = `import numpy as np
days = np.array(["2026-01-02", "NaT"], dtype="datetime64[D]")
[np.linalg.norm(np.array([3.0, 4.0])), np.arange(3), np.int64(2**53 + 1), np.bool_(True), np.float64("nan"), days, np.ma.array([1, 2], mask=[0, 1])]`
	r, err := s.Execute(t.Context(), job(code), &host{})
	require.NoError(t, err)
	require.Nil(t, r.Fault, "%+v", r.Fault)
	require.Equal(t, `[5.0,[0,1,2],"9007199254740993",true,null,["2026-01-02",null],[1,null]]`, string(r.Result))
}
