package rest

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"entgo.io/ent/schema/field"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/tests/typescript"
	"github.com/koan-go/koan/tests/words"
	"github.com/koan-go/koan/tests/words/ent/schema"
)

// kindOfWord is the type of a word in the entity and in the action: its schema and a value.
type kindOfWord struct {
	schema string
	value  any
}

var kindsOfWords = map[field.Type]kindOfWord{
	field.TypeString: {`{"type":"string"}`, "x"},
	field.TypeInt:    {`{"type":"integer"}`, 7},
	field.TypeBool:   {`{"type":"boolean"}`, true},
	field.TypeJSON: {
		`{"type":"object","properties":{"type":{"type":["integer","string"]}},"additionalProperties":true}`,
		map[string]any{"enum": map[string]any{"const": 1}},
	},
}

// kinds are the types of the entity's fields.
func kinds() map[string]kindOfWord {
	out := map[string]kindOfWord{}
	for _, f := range new(schema.Word).Fields() {
		out[catalog.Camel(f.Descriptor().Name)] = kindsOfWords[f.Descriptor().Info.Type]
	}
	return out
}

// wordsApp has an action whose input has the same names as the entity.
func wordsApp() framework.App {
	app := words.App()
	var members []string
	for name, kind := range kinds() {
		members = append(members, fmt.Sprintf("%q: %s", name, kind.schema))
	}
	slices.Sort(members)
	app.Actions = fstest.MapFS{"actions/words.js": &fstest.MapFile{Data: []byte(`export const action = {description: "Takes words.", effects: {readOnly: true},
	input: {type: "object", properties: {` + strings.Join(members, ", ") + `, "$ref": {type: "string"}, "has-dash": {type: "string", format: "date-time"}}, additionalProperties: false}};
export default (input) => input;`)}}
	return app
}

// TestWordsAtCommandLine: the declarations of the same names hold, scripts that use them are valid, and
// an action takes them as flags.
func TestWordsAtCommandLine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	app := func(args ...string) string {
		c := exec.Command(os.Args[0], args...)
		c.Dir, c.Env = dir, append(os.Environ(), as+"=words", "XDG_DATA_HOME="+dir)
		out, err := c.Output()
		var failed *exec.ExitError
		if asExit(err, &failed) {
			t.Fatalf("%v: %v\n%s%s", args, err, out, failed.Stderr)
		}
		require.NoError(t, err)
		return string(out)
	}
	row := map[string]any{}
	// A flag of the command itself is not the input's.
	flags, reserved := []string{"action", "words"}, map[string]any{}
	var reads, filters []string
	for name, kind := range kinds() {
		value, err := json.Marshal(kind.value)
		require.NoError(t, err)
		row[name] = kind.value
		reads = append(reads, fmt.Sprintf("made[%q]", name))
		filters = append(filters, fmt.Sprintf("SDK.Entities.Word.count({%q: {$null: true}})", name))
		if name == "input" || name == "set" {
			reserved[name] = kind.value
			continue
		}
		if text, ok := kind.value.(string); ok {
			value = []byte(text)
		}
		flags = append(flags, "--"+catalog.Kebab(name)+"="+string(value))
	}
	rest, err := json.Marshal(reserved)
	require.NoError(t, err)
	raw, err := json.Marshal(row)
	require.NoError(t, err)
	require.JSONEq(t, string(raw), app(append(flags, "--input", string(rest))...))

	code := "const made = SDK.Entities.Word.upsert(" + string(raw) + ");\n[" + strings.Join(append(reads, filters...), ",\n") + ", SDK.Actions.words(" + string(raw) + ")];\n"
	found := typescript.Check(t, map[string]string{"koan.d.ts": app("sdk"), "use.ts": code})
	require.Empty(t, found)
	file := filepath.Join(dir, "use.ts")
	require.NoError(t, os.WriteFile(file, []byte(code), 0o600))
	require.Contains(t, app("validate", file), `"valid":true`)
}
