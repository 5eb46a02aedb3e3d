package docs

import (
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/tests/fixture"
)

var snippet = regexp.MustCompile("(?ms)^```(?:js|javascript|ts|typescript)\n(.*?)^```$")

// Scripts in the documentation are right, and a check that found something wrong
// with one of them would itself be wrong.
func TestScriptsAreValid(t *testing.T) {
	const nobody = "http://127.0.0.1:9" // whose tools are not known
	k := koantest.New(t, fixture.App(), koantest.Setting{Key: "journal.expose", Value: "true"},
		koantest.Setting{Key: "upstreams.filesystem.url", Value: nobody}, koantest.Setting{Key: "upstreams.memory.url", Value: nobody})
	checked := 0
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, block := range snippet.FindAllSubmatch(text, -1) {
			code := string(block[1])
			if !script.MatchString(code) || foreign.MatchString(code) {
				continue
			}
			out, err := k.Call("code::koan.validate", map[string]any{"code": code})
			require.NoError(t, err)
			require.JSONEq(t, `{"valid":true}`, string(out), "%s:\n%s", page, code)
			checked++
		}
	}
	require.GreaterOrEqual(t, checked, 3)
}

// foreign matches scripts with entities that the fixture does not have: TestReadme runs those of the README.
var foreign = regexp.MustCompile(`\bOrder\b|\bShop\b`)

// script reports whether a snippet is a script, and not a part of one or declarations.
var script = regexp.MustCompile(`(?m)^[^/]*\bSDK\.`)
