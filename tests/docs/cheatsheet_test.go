package docs

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/tests/fixture"
)

// answered matches a script of a page that says what it answers, in JavaScript or Python.
var answered = regexp.MustCompile("(?ms)^```(js|ts|python)\n((?:[^`]|`[^`]|``[^`])*?)^(?://|#) answer: (.*?)\n```$")

// rows are those that the cheat sheet begins with.
const rows = `const { Todo } = SDK.Entities;
Todo.upsert({ id: "2", title: "Buy milk", priority: "high", effort: 1 });
Todo.upsert({ id: "3", title: "Pay rent", priority: "high", effort: 2, completed: true });`

// TestAnswers runs each script of the documentation that names its answer, in a dry run over the same rows.
func TestAnswers(t *testing.T) {
	t.Parallel()
	k := koantest.NewConfined(t, fixture.App(), koantest.Setting{Key: "codeMode.languages", Value: "javascript,python"})
	run := func(in map[string]any) (answer string) {
		t.Helper()
		raw, err := k.Call("code::koan.execute", in)
		require.NoError(t, err, "%s", in["code"])
		var out struct{ Answer json.RawMessage }
		require.NoError(t, json.Unmarshal(raw, &out))
		return string(out.Answer)
	}
	run(map[string]any{"code": rows})
	ran := map[string]int{}
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, m := range answered.FindAllStringSubmatch(string(text), -1) {
			language, code, want := m[1], m[2], m[3]
			ran[language]++
			require.JSONEq(t, want, run(map[string]any{"code": code, "language": language, "dryRun": true}), "%s:\n%s", page, code)
		}
		if strings.HasSuffix(page, "cheatsheet.md") {
			blocks := regexp.MustCompile("(?m)^```(js|python)$").FindAllString(string(text), -1)
			require.Equal(t, len(blocks), ran["js"]+ran["python"], "each script of the page says what it answers")
		}
	}
	require.GreaterOrEqual(t, ran["js"], 6)
	require.GreaterOrEqual(t, ran["python"], 4)
}
