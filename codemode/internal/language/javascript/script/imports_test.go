package script

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// testModules has two modules.
type testModules struct{}

func (testModules) Paths() []string {
	return []string{"@codemode/errors", "@codemode/servers/vision"}
}

func (s testModules) Exports(path string) ([]string, bool) {
	switch path {
	case "@codemode/errors":
		return []string{"CodemodeError"}, true
	case "@codemode/servers/vision":
		return []string{"detect", "read_label"}, true
	}
	return nil, false
}

func TestImports(t *testing.T) {
	for name, code := range map[string]string{
		"named":            `import { detect } from "@codemode/servers/vision"; detect()`,
		"all of it":        `import * as v from "@codemode/servers/vision"; v.detect(); v.whatever`,
		"default":          `import v from "@codemode/servers/vision"; v.detect()`,
		"type":             `import { Nothing } from "@codemode/servers/vision"; const n: Nothing = 1`,
		"type, unused":     `import { Types } from "@codemode/servers/vision"; import { type Nope, detect } from "@codemode/servers/vision"; 1`,
		"in a text":        "const s = `\nimport { nope } from \"@codemode/servers/vision\";\n` + 'import { nope } from \"@codemode/servers/vision\"'; /*\nimport { nope } from \"@codemode/servers/vision\"; */ export { s }",
		"unused":           `import { detect, read_label as r } from "@codemode/servers/vision"; 1`,
		"own variable":     `const import_vision = { nope: 1 }; import { detect } from "@codemode/servers/vision"; import_vision.nope; detect()`,
		"own function":     `function __require(x) { return x } import { detect } from "@codemode/servers/vision"; __require(detect)`,
		"dynamic":          `const v = await import("@codemode/servers/vision"); v.nope`,
		"computed dynamic": `const v = await import("@codemode/servers/" + "vision")`,
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Compile(Source{Code: code, Modules: testModules{}})
			require.NoError(t, err)
		})
	}
	for name, c := range map[string]struct{ code, path, export, message, hint string }{
		"module":            {"1;\n import { x } from '@codemode/servers/visoin'", "@codemode/servers/visoin", "", `did you mean "@codemode/servers/vision"`, "Import one of these"},
		"export":            {"import { detct } from '@codemode/servers/vision';\n detct()", "@codemode/servers/vision", "detct", `did you mean "detect"`, "It exports detect, read_label."},
		"unused":            {"import '@codemode/errors';\nimport { detct } from '@codemode/servers/vision'", "@codemode/servers/vision", "detct", `did you mean "detect"`, "It exports detect, read_label."},
		"unused, later":     {"const a: number = `\n`.length; import { detct } from '@codemode/servers/vision'", "@codemode/servers/vision", "detct", `did you mean "detect"`, "It exports"},
		"unused, in a body": {"const a: number = 1;\nimport { detect, detct as d } from '@codemode/servers/vision';\nreturn detect", "@codemode/servers/vision", "detct", `did you mean "detect"`, "It exports"},
		"renamed":           {"import { detct as d } from '@codemode/servers/vision';\n d()", "@codemode/servers/vision", "detct", `did you mean "detect"`, "It exports"},
		"package":           {"1;\n import x from 'lodash'", "lodash", "", "no packages and no files", "SDK"},
		"long":              {"1;\n import x from '" + strings.Repeat("x", 300) + "'", strings.Repeat("x", 80) + "…", "", "no packages", "SDK"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Compile(Source{Code: c.code, Modules: testModules{}})
			var e *Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, []any{2, c.path, c.export, true}, []any{e.Line, e.Import, e.Name, e.Unsupported})
			require.Contains(t, e.Message, c.message)
			require.Contains(t, e.Hint, c.hint)
		})
	}
}

func TestModuleShape(t *testing.T) {
	for code, want := range map[string]struct {
		lone  bool
		entry string
	}{
		"1":                                {false, ""},
		"() => 1":                          {true, ""},
		"async function () { await 1 }":    {true, ""},
		"async () => {};":                  {true, ""},
		"function main() {}":               {false, "main"},
		"const a = 1; function run() {}":   {false, "run"},
		"(() => 1)()":                      {false, ""},
		"import '@codemode/errors'; 1":     {false, ""},
		"export default () => 1":           {false, ""},
		"'use strict'; var let_ = 1; let_": {false, ""},
	} {
		p, err := Compile(Source{Code: code, Module: true, Modules: testModules{}})
		require.NoError(t, err, code)
		require.Equal(t, want.lone, p.Lone, code)
		require.Equal(t, want.entry, p.Entry, code)
	}
	_, err := Compile(Source{Code: "with (1) {}", Module: true})
	require.Error(t, err, "a module is strict")
	_, err = Compile(Source{Code: "with (1) {}"})
	require.NoError(t, err)
}

func TestHoist(t *testing.T) {
	for _, c := range []struct{ code, imports string }{
		{"import { a } from 'x'\nreturn a", "import { a } from 'x';"},
		{"// import { a } from 'x'\nimport b from 'y'; return b", "import b from 'y';"},
		{"/*\nimport { a } from 'x'\n*/import b from 'y'\nreturn b", "import b from 'y';"},
		{"const t = `\nimport { a } from 'x'\n`\nimport b from \"y\"\nreturn t", "import b from \"y\";"},
		{"const u = 'https://x/*'; import b from 'y'\nreturn u", "import b from 'y';"},
		{"const s = 'it\\'s // none'\nimport 'y'\nreturn s", "import 'y';"},
		{"const s = \"`\"\nimport {\n  a, // import c from 'z'\n} from 'x'\nreturn `", "import { a, } from 'x';"},
	} {
		imports, body := hoist(c.code)
		require.Equal(t, c.imports, imports, c.code)
		require.Len(t, body, len(c.code), "what stays keeps its place: %s", c.code)
		require.Equal(t, strings.Count(c.code, "\n"), strings.Count(body, "\n"))
	}
}

func FuzzImports(f *testing.F) {
	for _, s := range []string{
		"import { detect } from '@codemode/servers/vision'; detect()", "import * as v from '@codemode/errors'; v.x", "await import(x)", "export * from '@codemode/errors'",
		"import x, { y as z } from 'q'", "var import_vision = __toESM(require_vision());\n`\nvar require_a = __commonJS({\n  \"module:x\"`", "import.meta.url", "require('fs')", "import a, { nope as b, type c } from '@codemode/servers/vision';\n`\nimport {d} from \"@codemode/errors\";`", "export = 5",
	} {
		f.Add(s, true)
		f.Add(s, false)
	}
	f.Fuzz(func(t *testing.T, code string, module bool) {
		if len(code) > 2000 {
			return
		}
		p, err := Compile(Source{Code: code, Module: module, Modules: testModules{}})
		if err != nil {
			e, ok := err.(*Error)
			require.True(t, ok)
			require.NotEmpty(t, e.Message)
			return
		}
		require.NotNil(t, p.Code)
	})
}
