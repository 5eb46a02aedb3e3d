// Package strip compares, over the source files of the packages that the tests have
// from npm, what is left of TypeScript without its types with what esbuild makes of it.
package strip

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/evanw/esbuild/pkg/api"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/codemode/script/strip"
)

var (
	// listed are exports of other modules' names, which no script has, and of names that
	// may be types.
	listed = regexp.MustCompile(`(?m)^export (type )?(\*|\{[^}]*\})( as \w+)?( from [^\n]*)?;?$`)
	enum   = regexp.MustCompile(`\benum\b`) // both write it, each in its own way
)

func TestPackages(t *testing.T) {
	compared := map[string]int{}
	err := filepath.WalkDir("../npm/node_modules/", func(path string, d fs.DirEntry, err error) error {
		kind := filepath.Ext(path)
		if err != nil || d.IsDir() || kind != ".ts" && kind != ".js" && kind != ".mjs" || strings.HasSuffix(path, ".d.ts") {
			return err
		}
		raw, err := os.ReadFile(path)
		if err != nil || len(raw) > 100_000 || enum.Match(raw) {
			return err
		}
		src := listed.ReplaceAllString(string(raw), "")
		s, ok := strip.Strip(src, strip.Options{Types: true})
		if !ok {
			return nil
		}
		want, takes := printed(src, api.LoaderTS)
		require.True(t, takes, "the compiler takes what is stripped: %s", path)
		got, _ := printed(s.Text, api.LoaderTS)
		require.Equal(t, want, got, path)
		_, takes = printed(s.Text, api.LoaderJS)
		require.True(t, takes, "what is left is JavaScript: %s", path)
		compared[kind]++
		return nil
	})
	require.NoError(t, err)
	require.Greater(t, compared[".ts"], 300)
	require.Greater(t, compared[".js"]+compared[".mjs"], 1000)
}

func printed(code string, loader api.Loader) (string, bool) {
	res := api.Transform(code, api.TransformOptions{
		Loader: loader, Target: api.ESNext, LogLevel: api.LogLevelSilent, MinifyWhitespace: true, MinifySyntax: true,
		TsconfigRaw: `{"compilerOptions":{"verbatimModuleSyntax":true}}`,
	})
	return string(res.Code), len(res.Errors) == 0
}
