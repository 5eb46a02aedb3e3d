package rest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
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
	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exposure"
	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/tests/pgtest"
	"github.com/koan-go/koan/tests/typescript"
	"github.com/koan-go/koan/tests/words"
	"github.com/koan-go/koan/tests/words/ent/schema"
)

// kindOfWord is the type of a word in the entity and in the action: its schema, a value, and another.
type kindOfWord struct {
	schema       string
	value, other any
}

var kindsOfWords = map[field.Type]kindOfWord{
	field.TypeString: {`{"type":"string"}`, "x", "y"},
	field.TypeInt:    {`{"type":"integer"}`, 7, 8},
	field.TypeBool:   {`{"type":"boolean"}`, true, false},
	field.TypeJSON: {
		`{"type":"object","properties":{"type":{"type":["integer","string"]}},"additionalProperties":true}`,
		map[string]any{"enum": map[string]any{"const": 1}},
		map[string]any{"items": map[string]any{"default": 2}},
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

// useWords uses a row by some of its fields, and answers what went wrong.
const useWords = `
const W = SDK.Entities.Word, { row, other, id, names } = SDK.args, wrong = [];
const own = (of, name) => Object.getOwnPropertyDescriptor(of, name)?.value;
const same = (x, y) => JSON.stringify(x) === JSON.stringify(y);
const check = (what, name, fn) => { try { if (!fn()) wrong.push(what + " " + name); } catch (e) { wrong.push(what + " " + name + ": " + e.message); } };
for (const name of names) {
  const plain = typeof row[name] !== "object";
  check("filter", name, () => W.count({ [name]: plain ? row[name] : { $path: { "enum.const": 1 } } }) === 1);
  check("fields", name, () => same(own(W.getById(id, { fields: name }), name), row[name]));
  check("patch", name, () => same(own(W.patch(id, { [name]: other[name] }), name), other[name]));
  if (!plain) continue;
  check("sort", name, () => W.collection({ sort: "-" + name, fields: name }).items.length === 1);
  check("group", name, () => same(own(W.aggregate({ groupBy: name, count: true })[0], name), other[name]));
}
SDK.Out.answer(wrong);`

// relateWords uses relationships of a row, and the action that takes the same names.
const relateWords = `
const W = SDK.Entities.Word, { row, id } = SDK.args;
W.upsert({ parent: id });
SDK.Out.answer([
  W.getById(id, { with: { children: { filter: { enum: { $null: true } }, fields: "type,constructor" } } }).children.length,
  W.count({ children: { $some: { type: null } } }),
  SDK.Actions.words(row),
]);`

// TestWordsAreNames: fields, and inputs of an action, that are called like words of JSON Schema,
// JavaScript, TypeScript, Go and SQL come and go through every face.
func TestWordsAreNames(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestWordsAreNames) {
		return
	}
	s := serve(t, wordsApp(), framework.HTTPOptions{}, koantest.Setting{Key: "tools.style", Value: "perEntity"}, koantest.Setting{Key: "journal.enabled", Value: "true"})
	row, other := map[string]any{}, map[string]any{}
	for name, kind := range kinds() {
		row[name], other[name] = kind.value, kind.other
	}
	require.Greater(t, len(row), 150)
	raw, err := json.Marshal(row)
	require.NoError(t, err)

	made := s.kit.Run("SDK.Out.answer(SDK.Entities.Word.upsert(SDK.args).id)", koantest.Input{Args: row, Include: []string{"changes"}})
	changes, err := json.Marshal(made.Changes)
	require.NoError(t, err)
	for name := range row {
		require.Contains(t, string(changes), `"`+name+`"`)
	}
	for names := range slices.Chunk(slices.Sorted(maps.Keys(row)), 25) { // a run has bounds of time and of calls
		done := s.kit.Run(useWords, koantest.Input{Args: map[string]any{"row": row, "other": other, "id": made.Answer, "names": names}})
		require.JSONEq(t, "[]", string(done.Answer))
	}
	related := s.kit.Run(relateWords, koantest.Input{Args: map[string]any{"row": row, "id": made.Answer}})
	require.JSONEq(t, "[1, 1, "+string(raw)+"]", string(related.Answer))
	_, err = s.kit.Call("code::koan.undo", map[string]any{"runId": related.RunID})
	require.NoError(t, err)
	require.EqualValues(t, 1, s.do("POST", "/api/word:count", "{}").object(http.StatusOK)["count"])

	// Tools in both styles, and REST.
	model := map[string]any{"model": row}
	perEntity := s.callTool(catalog.EntityID("Word", "upsert"), model)
	require.Empty(t, perEntity.Code, "%v", perEntity)
	view := s.kit.Instance().Snapshot().View(auth.Local(), exposure.Full, false)
	for _, style := range []string{"perEntity", "generic"} {
		require.Contains(t, string(koantest.Tools(view, style)), `"words"`, style)
	}
	stored := s.do("POST", "/api/word", string(raw)).object(http.StatusCreated)
	read := s.do("GET", "/api/word/"+fmt.Sprint(stored["id"]), "").object(http.StatusOK)
	for name := range row {
		require.Contains(t, read, name)
	}
	require.JSONEq(t, string(raw), string(s.do("POST", "/api/actions/words", string(raw)).body))

	// Its documents.
	require.Contains(t, string(s.do("GET", "/docs", "").body), "/api/actions/words")
	file := fileOf(t, s)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	for _, inherited := range []string{"constructor", "hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable", "toLocaleString", "toString", "valueOf"} {
		text = bytes.ReplaceAll(text, []byte(`"`+inherited+`"`), []byte(`"own_`+inherited+`"`)) // the linter takes the inherited members for those of the document
	}
	require.NoError(t, os.WriteFile(file, text, 0o600))
	require.Equal(t, "[]", strings.TrimSpace(string(npm(t, "openapi.mjs", "lint", file))))
	var doc struct {
		Components struct {
			Schemas map[string]struct{ Properties map[string]any }
		}
	}
	require.NoError(t, json.Unmarshal(s.do("GET", "/openapi.json", "").body, &doc))
	for name := range row {
		for _, schema := range []string{"Word", "WordModel", "WordFilter"} {
			require.IsType(t, map[string]any{}, doc.Components.Schemas[schema].Properties[name], "%s.%s", schema, name)
		}
	}
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
