// Package files tests files in a whole app: scripts that create and read them, and functions
// of other servers that take them.
package files

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	_ "github.com/koan-go/koan/codemode/languages"
	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/framework/run/approve"
	"github.com/koan-go/koan/tests/fixture"
	"github.com/koan-go/koan/tests/needs"
)

type file struct {
	ID, SHA256, Type, Name string
	Size                   int
}

// create has a script create a file.
func create(t *testing.T, kit *koantest.Kit, input map[string]any) (f file) {
	t.Helper()
	kit.Run(`SDK.Files.create(SDK.args)`, koantest.Input{Args: input}).ResultInto(&f)
	return f
}

func TestScriptsCreateAndReadFiles(t *testing.T) {
	kit := koantest.NewConfined(t, fixture.App())
	text := create(t, kit, map[string]any{"name": "plan.json", "type": "application/json", "text": `{"days":[1,2]}`})
	require.Equal(t, "application/json", text.Type)
	require.Equal(t, "plan.json", text.Name)
	require.Equal(t, 14, text.Size)
	var got struct {
		Text   string
		Days   []int
		Same   bool
		Faults []string
	}
	kit.Run(`
const { text: id, picture } = SDK.args;
const code = (f) => { try { f(); return "" } catch (e) { return e.code } };
SDK.Out.answer({
  text: SDK.Files.text(id), days: SDK.Files.json(id).days, same: SDK.Files.get(id).sha256 === SDK.Files.get({ id }).sha256,
  faults: [
    code(() => SDK.Files.get("file_00000000000000000000000000000000")), code(() => SDK.Files.get("../x")), code(() => SDK.Files.get()),
    code(() => SDK.Files.text(picture)), code(() => SDK.Files.json(picture)),
    code(() => SDK.Files.create({ name: "x" })), code(() => SDK.Files.create({ text: "a", base64: "YQ==" })), code(() => SDK.Files.create({ base64: "?" })),
    code(() => SDK.Files.create({ text: "a", mime: "b" })),
  ],
})`, koantest.Input{Args: map[string]any{"text": text.ID, "picture": create(t, kit, map[string]any{"base64": "/w=="}).ID}}).AnswerInto(&got)
	require.Equal(t, `{"days":[1,2]}`, got.Text)
	require.Equal(t, []int{1, 2}, got.Days)
	require.True(t, got.Same)
	require.Equal(t, []string{
		"not_found", "not_found", "invalid_payload", "execution_error", "execution_error",
		"invalid_payload", "invalid_payload", "invalid_payload", "invalid_payload",
	}, got.Faults)
}

func TestFilesBelongToTheirCaller(t *testing.T) {
	kit := koantest.New(t, fixture.App())
	f := create(t, kit, map[string]any{"text": "mine"})
	other := kit.As(auth.Principal{Subject: "other", Scopes: []string{"plugins:call"}, Sets: []string{auth.All}})
	require.Equal(t, fault.NotFound, other.Try(`SDK.Files.text(SDK.args)`, koantest.Input{Args: f.ID}).Error.Code)
	clerk := kit.As(auth.Principal{Subject: "clerk", Scopes: []string{"plugins:call", "files:read"}, Sets: []string{auth.All}})
	require.JSONEq(t, `"mine"`, string(clerk.Run(`SDK.Files.text(SDK.args)`, koantest.Input{Args: f.ID}).Result))
}

// A file in a set that its maker may not name would be lost to them, and there for others.
func TestFilesAreInSetsOfTheirCaller(t *testing.T) {
	archivist := koantest.New(t, fixture.App()).As(auth.Principal{Subject: "archivist", Scopes: []string{"plugins:call"}, Sets: []string{"archive", "tenant-1"}})
	refused := archivist.Try(`SDK.Files.create({ text: "a" })`, koantest.Input{})
	require.Equal(t, fault.UnknownSet, refused.Error.Code)
	require.Contains(t, refused.Error.Hint, "`set`")
	require.JSONEq(t, `"a"`, string(archivist.Run(`SDK.Files.text(SDK.Files.create({ text: "a" }).id)`, koantest.Input{Set: "archive"}).Result))
}

// A file is there for every attempt of a run and is created once; what refers to it keeps it.
func TestFilesAreKeptByWhatCommits(t *testing.T) {
	dir := t.TempDir()
	kit := koantest.New(t, fixture.App(), koantest.Setting{Key: "files.dir", Value: dir})
	marks := func(pattern string) (out []string) {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		require.NoError(t, err)
		for _, name := range found {
			out = append(out, filepath.Base(name))
		}
		return out
	}
	used := func() []string { return marks("used/*") }
	kit.Run(`SDK.Files.create({ text: "a" }).id`, koantest.Input{DryRun: true})
	require.Empty(t, marks("records/*"), "a dry run keeps nothing")
	id := create(t, kit, map[string]any{"text": "a"}).ID
	require.Empty(t, used())
	kit.Run(`SDK.Entities.Todo.upsert({ title: "see", notes: SDK.args })`, koantest.Input{Args: id})
	require.Equal(t, []string{id}, used(), "a row refers to it")
	kit.Try(`SDK.Files.create({ text: "b" }); throw new Error("no")`, koantest.Input{})
	require.Len(t, marks("runs/*/*"), 1, "a run that fails keeps nothing")
	kit.Run(`SDK.Files.create({ text: "c" })`, koantest.Input{})
	require.Len(t, used(), 1)
	require.Len(t, marks("runs/*/*"), 2, "it is kept as long as the run")
}

// A run that waits for somebody's approval still has its files when that comes.
func TestFilesWaitWithTheirPlan(t *testing.T) {
	dir := t.TempDir()
	kit := koantest.New(t, fixture.App(), koantest.Setting{Key: "files.dir", Value: dir})
	uploaded := create(t, kit, map[string]any{"text": "uploaded"})
	_, err := kit.Call("code::koan.execute", map[string]any{
		"code": `SDK.Entities.Todo.upsert({ title: SDK.args, notes: SDK.Files.create({ text: "made" }).id })`, "args": uploaded.ID, "approval": "writes",
	})
	planned := fault.From(err)
	require.Equal(t, fault.ApprovalRequired, planned.Code)
	waiting, err := filepath.Glob(filepath.Join(dir, "plans", "*", "*"))
	require.NoError(t, err)
	require.Len(t, waiting, 2)

	boss := kit.As(auth.Principal{Subject: "boss", Scopes: []string{auth.All, approve.Scope}, Sets: []string{auth.All}})
	_, err = boss.Call("code::koan.execute", map[string]any{"planId": planned.Details.(map[string]any)["planId"]})
	require.NoError(t, err)
	for _, path := range waiting {
		require.FileExists(t, filepath.Join(dir, "used", filepath.Base(path)), "a row refers to it now")
	}
}

// A plan whose files could not be kept is not taken for one that waits safely.
func TestPlanWhoseFilesCannotBeKept(t *testing.T) {
	dir := t.TempDir()
	kit := koantest.New(t, fixture.App(), koantest.Setting{Key: "files.dir", Value: dir})
	uploaded := create(t, kit, map[string]any{"text": "uploaded"})
	require.NoError(t, os.WriteFile(filepath.Join(dir, "plans"), nil, 0o600)) // where the folder of marks would be
	planned := map[string]any{"code": `SDK.Entities.Todo.upsert({ title: SDK.args })`, "args": uploaded.ID, "approval": "writes"}
	_, err := kit.Call("code::koan.execute", planned)
	f := fault.From(err)
	require.Equal(t, fault.ServiceUnavailable, f.Code)
	require.NotContains(t, f.Message+f.Hint, dir)
	require.NoError(t, os.Remove(filepath.Join(dir, "plans")))
	_, err = kit.Call("code::koan.execute", planned)
	require.Equal(t, fault.ApprovalRequired, fault.CodeOf(err))
}

// A function of a real server gets the content of a file, and nothing that is kept of the
// call has it.
func TestServersTakeFiles(t *testing.T) {
	needs.Node(t)
	modules, err := filepath.Abs("../npm/node_modules")
	require.NoError(t, err)
	command, err := json.Marshal([]string{filepath.Join(modules, "node", "bin", "node"), filepath.Join(modules, "@modelcontextprotocol", "server-everything", "dist", "index.js"), "stdio"})
	require.NoError(t, err)
	kit := koantest.New(t, fixture.App(),
		koantest.Setting{Key: "upstreams.everything.command", Value: string(command)},
		koantest.Setting{Key: "upstreams.everything.effects.*", Value: "read"})
	f := create(t, kit, map[string]any{"text": "hello"})
	echo := fmt.Sprintf(`SDK.Servers.everything.echo({ message: { $file: %q } })`, f.ID)
	require.JSONEq(t, `"Echo: `+base64.StdEncoding.EncodeToString([]byte("hello"))+`"`, string(kit.Run(echo, koantest.Input{}).Result))
	other := kit.As(auth.Principal{Subject: "other", Scopes: []string{"plugins:call"}, Sets: []string{auth.All}})
	refused := other.Try(echo, koantest.Input{}).Error
	require.Equal(t, fault.NotFound, refused.Code)
	require.Equal(t, "/message/$file", refused.Path)
}

// A script shows files, and what is too large to be returned becomes one.
func TestFilesInResults(t *testing.T) {
	kit := koantest.NewConfined(t, fixture.App(), koantest.Setting{Key: "codeMode.maxResultBytes", Value: "1000"}, koantest.Setting{Key: "replay.keep", Value: "scripts"})
	type shown struct {
		Result json.RawMessage
		Answer struct {
			File string `json:"$file"`
			Type string
			Size int
		}
		Files []file
		RunID string
	}
	run := func(input map[string]any) (out shown, err error) {
		raw, err := kit.Call("code::koan.execute", input)
		if err == nil {
			require.NoError(t, json.Unmarshal(raw, &out), "%s", raw)
		}
		return out, err
	}
	out, err := run(map[string]any{"code": `const f = SDK.Files.create({ name: "a.txt", text: "a" }); SDK.Out.file(f); SDK.Out.file(f.id).name`})
	require.NoError(t, err)
	require.Len(t, out.Files, 2)
	require.Equal(t, "a.txt", out.Files[1].Name)
	require.JSONEq(t, `"a.txt"`, string(out.Result))

	for code, want := range map[string]fault.Code{
		`SDK.Out.file("file_00000000000000000000000000000000")`: fault.NotFound,
		`SDK.Out.file()`:                   fault.InvalidPayload,
		`SDK.Out.file({ id: 1 })`:          fault.InvalidPayload,
		`SDK.Out.answer("x".repeat(2000))`: fault.ResultTooLarge,
		`const f = SDK.Files.create({ text: "" }); for (let i = 0; i < 40; i++) SDK.Out.file(f)`: fault.ResultTooLarge,
	} {
		_, err := run(map[string]any{"code": code})
		require.Equal(t, want, fault.From(err).Code, code)
	}

	large := `SDK.Out.answer({ text: "x".repeat(2000) }); 1`
	out, err = run(map[string]any{"code": large, "onLarge": "file"})
	require.NoError(t, err)
	require.JSONEq(t, "1", string(out.Result))
	require.Equal(t, "application/json", out.Answer.Type)
	require.Equal(t, 2011, out.Answer.Size)
	require.Equal(t, out.Answer.File, out.Files[0].ID)
	require.EventuallyWithT(t, func(c *assert.CollectT) { // it is kept beside the run
		again, err := kit.Instance().Replay(t.Context(), out.RunID, false)
		require.NoError(c, err)
		require.True(c, again.Identical, "%+v", again.Difference)
	}, 20*time.Second, 20*time.Millisecond)
	require.JSONEq(t, "2000", string(kit.Run(`SDK.Files.json(SDK.args).text.length`, koantest.Input{Args: out.Answer.File}).Result))
	_, err = run(map[string]any{"code": `"x".repeat(9 << 20)`, "onLarge": "file"})
	require.Equal(t, fault.ResultTooLarge, fault.From(err).Code, "and there is a bound")
	_, err = run(map[string]any{"code": "1", "onLarge": "row"})
	require.Equal(t, fault.InvalidPayload, fault.From(err).Code)
}

// Files of runs that leave nothing behind are gone with them: a script that fails in a loop does not fill
// the space of its caller.
func TestFilesOfRunsThatLeaveNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	kit := koantest.NewConfined(t, fixture.App(), koantest.Setting{Key: "files.dir", Value: dir}, koantest.Setting{Key: "files.callerBytes", Value: "100"}, koantest.Setting{Key: "sandbox.cpuMs", Value: "300"})
	const create = `const f = SDK.Files.create({ text: "x".repeat(60) + SDK.args }); `
	for name, c := range map[string]struct {
		code  string
		dry   bool
		fault fault.Code
	}{
		"failed":    {create + `throw new Error(f.id)`, false, fault.JavaScriptError},
		"timed out": {create + `for (;;) ;`, false, fault.Timeout},
		"dry":       {create + `SDK.Entities.Todo.upsert({ title: f.id })`, true, ""},
	} {
		for i := range 2 {
			r := kit.Try(c.code, koantest.Input{Args: name + fmt.Sprint(i), DryRun: c.dry})
			if c.fault == "" {
				require.True(t, r.Success, "%s: %v", name, r.Error)
				continue
			}
			require.NotNil(t, r.Error, name)
			require.Equal(t, c.fault, r.Error.Code, name)
		}
	}
	require.NoError(t, filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			assert.Fail(t, "a file is left", path)
		}
		return err
	}))
	kit.Run(create+`f.id`, koantest.Input{Args: "kept"})
}
