package typegen

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/tests/needs"
)

// schemaSeeds are schemas as servers have them, and as none should.
var schemaSeeds = []string{
	`{}`, `true`, `null`, `[]`, `"x"`, ``, `{`,
	`{"type":"object","properties":{"a":{"type":"string"},"class":{"type":["integer","null"]},"x y":{"type":"array","items":{"type":"object","properties":{"n":{"enum":[1,"a",null,{}]}}}}},"required":["a"]}`,
	`{"type":"object","properties":{"self":{},"_given":{"const":"x"},"self2":{"enum":[]},"\"\"\"":{"type":"number"},"\\":{"type":"boolean"}}}`,
	`{"properties":{"a":{"properties":{"a":{"properties":{"a":{"properties":{"a":{"properties":{"a":{"properties":{"a":{}}}}}}}}}}}}}`,
	`{"$defs":{"Node":{"type":"object","properties":{"next":{"$ref":"#/$defs/Node"},"all":{"type":"array","items":{"$ref":"#/$defs/Node"}},"up":{"$ref":"#"}}}},"properties":{"first":{"anyOf":[{"$ref":"#/$defs/Node"},{"type":"null"}]}}}`,
	`{"$ref":"#/definitions/A","definitions":{"A":{"type":"object","properties":{"a":{"$ref":"#/definitions/B"}}},"B":{"anyOf":[{"$ref":"#/definitions/B"},{"type":"string"}]},"C":{"$ref":"#/definitions/C"}}}`,
	`{"anyOf":[{"properties":{"a":{"oneOf":[{"type":"string"},{"properties":{"n":{}}}]}}},{"properties":{"b":{"allOf":[{"enum":["x"]}]}}}]}`, `{"$ref":"#"}`, `{"$ref":"#/$ref"}`, `{"$ref":7,"anyOf":{}}`, `{"oneOf":[]}`,
	`{"properties":{"a":{"$ref":"other.json"},"b":{"$ref":"#/nowhere"},"c":{"$ref":"#/%zz"},"d":{"$ref":"#/properties/e%2F~0"}}}`,
	`{"properties":{"ärger":{"properties":{"x":{}}}, "":{"properties":{"y":{}}}},"type":["array"],"items":{"type":"string"}}`, `{"type":7,"properties":[]}`, `{"enum":["\n","\u0000","'"]}`,
}

// written returns a stub with a function whose input and output have a schema.
func written(raw string) string {
	g := &generator{taken: map[string]bool{}}
	in := g.inputs("FInput", json.RawMessage(raw)).input()
	out := g.outputs("FOutput", json.RawMessage(raw)).output()
	return prelude + g.types.String() + "class _F:\n    def f(self, _given: " + in.whole + " = ..., /" + in.parameters(false) + ") -> " + out + ": ...\n"
}

// FuzzSchema has any schema be declared: in bounds, in lines without a character that ends one, always the same.
func FuzzSchema(f *testing.F) {
	for _, s := range schemaSeeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		text := written(raw)
		require.Equal(t, text, written(raw))
		require.LessOrEqual(t, len(text), len(prelude)+2000+400*len(raw))
		require.NotContains(t, strings.TrimPrefix(text, prelude), "\x00")
		require.NotContains(t, text, "\r")
		brief := (&generator{taken: map[string]bool{}, inline: true}).inputs("FInput", json.RawMessage(raw))
		for _, line := range []string{shortInput(json.RawMessage(raw)), shortOutput(json.RawMessage(raw)), brief.inlineInput(nil)} {
			require.NotContains(t, line, "\n")
		}
	})
}

// Python itself reads what is written for the seeds.
func TestSchemasAreDeclaredInPython(t *testing.T) {
	t.Parallel()
	needs.Program(t, "python3")
	dir := t.TempDir()
	for i, s := range schemaSeeds {
		require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.pyi", i)), []byte(written(s)), 0o600))
	}
	const reads = "import ast, pathlib, sys\nfor f in pathlib.Path(sys.argv[1]).iterdir(): ast.parse(f.read_text(encoding='utf-8'), f)"
	out, err := exec.CommandContext(t.Context(), "python3", "-c", reads, dir).CombinedOutput()
	require.NoError(t, err, "%s", out)
}
