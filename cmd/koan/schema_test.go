package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/tests/pgtest"
)

// koan init writes a file that koan serve serves, and says what is wrong with a folder and what to do.
func TestInitOfSchemas(t *testing.T) {
	schemas, err := filepath.Abs("../../entities/entschema/testdata")
	require.NoError(t, err)
	t.Chdir(t.TempDir())
	var out, errs bytes.Buffer
	require.Zero(t, run([]string{"init", "--schema", schemas + "/plain"}, &out, &errs), errs.String())
	require.Contains(t, out.String(), "koan.yaml has 2 entities and 1 many-to-many relationship; 3 not served")
	config, err := os.ReadFile("koan.yaml")
	require.NoError(t, err)
	for _, want := range []string{"schema: " + schemas + "/plain\n", "#   Pet: name, weight, owner -> User\n", "#   Note: its privacy policy is code", "#   Pet: 1 hook\n"} {
		require.Contains(t, string(config), want)
	}
	require.Equal(t, 1, run([]string{"init", "--schema", schemas + "/plain"}, &out, &errs))
	require.Contains(t, errs.String(), "--force", "the file that is there stays")

	data := t.TempDir()
	script := filepath.Join(t.TempDir(), "s.js")
	require.NoError(t, os.WriteFile(script, []byte(`SDK.Out.answer(SDK.Entities.User.upsert({name: "Ann"}).slug)`), 0o600))
	self, err := os.Executable()
	require.NoError(t, err)
	koan := exec.CommandContext(t.Context(), self)
	koan.Args = []string{"koan", "run", script, "--database", "sqlite://" + data} // by whose name TestMain knows that this is koan
	got, err := koan.Output()
	require.NoError(t, err, string(got))
	require.Contains(t, string(got), `"answer":"made"`)

	errs.Reset()
	require.Equal(t, 1, run([]string{"init", "--schema", schemas}, &out, &errs))
	require.Contains(t, errs.String(), "has no Go files\n  hint: ")
	errs.Reset()
	require.Equal(t, 1, run([]string{"init", "--schema", filepath.Join(schemas, "nowhere")}, &out, &errs))
	require.Contains(t, errs.String(), "there is no folder ")
	require.Equal(t, 2, run([]string{"init", "--schema", schemas, "--database", "sqlite:x"}, &out, &errs))
}

// Values of a key whose case is ignored come back by undo though a run has exchanged them, and written them otherwise.
func TestExchangedKeysInAnotherCaseComeBack(t *testing.T) {
	if pgtest.ForEach(t, TestExchangedKeysInAnotherCaseComeBack) {
		return
	}
	place := "sqlite://" + t.TempDir()
	if pgtest.Here(t) {
		place = pgtest.Place(t)
	}
	i, err := start(t, map[string]string{"schema": "../../entities/entschema/testdata/caseless", "database": place, "approval.mode": "never"})
	require.NoError(t, err)
	made := script(t, i, `const { Member } = SDK.Entities;
const ids = ["Alpha", "Beta"].map((email) => Member.create({ email }).id);
return ids;`, nil)["result"]
	swapped := script(t, i, `const [a, b] = SDK.args, { Member } = SDK.Entities;
Member.patch(a, { email: "other" });
Member.patch(b, { email: "ALPHA" });
Member.patch(a, { email: "BETA" });`, map[string]any{"args": made})
	_, err = call(t, i, "code::koan.undo", map[string]any{"runId": swapped["runId"]})
	require.NoError(t, err)
	require.Equal(t, []any{"Alpha", "Beta"}, script(t, i, `return SDK.args.map((id) => SDK.Entities.Member.getById(id).email)`, map[string]any{"args": made})["result"])
}
