package servers_test

import (
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exposure"
	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/tests/needs"
	"github.com/koan-go/koan/tests/pytypes"
	"github.com/koan-go/koan/tests/servers"
	"github.com/koan-go/koan/tests/soak"
)

// The schemas of all tools of public servers, and harder ones, become a stub that mypy and pyright take, and that knows
// the servers.
func TestAllSchemasBecomeStubs(t *testing.T) {
	soak.Proof(t)
	needs.Program(t, "python3")
	all := append(servers.All(t), hard())
	kit := koantest.New(t, framework.App{Name: "typing"}, append(servers.Listen(t, all), koantest.Setting{Key: "codeMode.languages", Value: "python,javascript"})...)
	want := 0
	for _, s := range all {
		want += len(s.Tools)
	}
	require.Greater(t, want, 900)
	var v *catalog.View
	require.Eventually(t, func() bool {
		v = kit.Instance().Snapshot().View(auth.Local(), exposure.Full, false)
		return toolsIn(v) == want
	}, time.Minute, 10*time.Millisecond, "no schema keeps a tool away")
	stub := pytypes.Stub(t, v)
	for i, r := range stub {
		if r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029') {
			t.Fatalf("the stub has %U in %q", r, stub[max(0, i-60):min(len(stub), i+60)])
		}
	}
	mypy, pyright := pytypes.Check(t, stub, map[string]string{
		"right.py": "from koan import SDK\nSDK.Servers.filesystem.read_text_file(path='/a')\nSDK.Servers.filesystem.read_text_file({'path': '/a'})\n",
		"wrong.py": "from koan import SDK\nSDK.Servers.filesystem.read_text_file(path=3)\n",
	})
	for name, found := range map[string]pytypes.Found{"mypy": mypy, "pyright": pyright} {
		require.Equal(t, []string{"wrong.py"}, found.Files(), "%s: %s", name, strings.Join(found["koan/__init__.pyi"], "\n"))
	}
	t.Logf("%d tools of %d servers, %d bytes", want, len(all), len(stub))
}
