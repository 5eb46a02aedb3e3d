package e2e

import (
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/tests/needs"
)

// TestReadme runs the commands of the README's paths, each from the checkout, and compares their
// output: a database, one's own entity, other servers. checkNewApp then checks the new app further.
func TestReadme(t *testing.T) {
	t.Parallel()
	needs.Program(t, "sqlite3")
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	r := newReader(t, root)
	typed, section, shown := map[string]int{}, "", []string(nil)
	for _, b := range blocks(t, "../../README.md") {
		if b.section != section {
			section, r.dir = b.section, root
		}
		switch {
		case b.section == "":
			if b.language != "sh" { // its commands are those of the paths
				shown = append(shown, b.text)
			}
			continue
		case b.language == "" && strings.Contains(b.before, "`make demo` prints"):
			r.demo(b.text)
		case !paths[b.section]:
			continue
		case b.language == "sh":
			r.sh(b.text)
		case b.language == "go":
			r.file(b)
		case b.language == "console":
			r.console(b.text)
		default:
			t.Fatalf("nobody types a block of %q", b.language)
		}
		typed[b.section]++
	}
	require.Len(t, typed, len(paths)+1, "%v", typed) // and the demo
	require.GreaterOrEqual(t, typed["An app of your own"], 8)
	require.Len(t, shown, 2)
	for _, text := range shown {
		require.True(t, r.compared(text), "the first screen shows what no path does:\n%s", text)
	}
	checkNewApp(t, root, filepath.Join(r.home, "todo"))
}

// paths are the sections whose commands are typed.
var paths = map[string]bool{"Which five minutes": true, "A database that exists": true, "An app of your own": true, "MCP servers": true}

// block is a fenced block of a page.
type block struct {
	section  string // its "## " heading
	before   string // the paragraph before it
	language string
	text     string
}

// comment is what a reader of the page does not see.
var comment = regexp.MustCompile(`(?s)<!--.*?-->`)

// blocks are those of a page, in their order.
func blocks(t *testing.T, page string) (out []block) {
	t.Helper()
	raw, err := os.ReadFile(page)
	require.NoError(t, err)
	parts := strings.Split("\n"+string(raw), "\n```")
	section := ""
	for i := 0; i+1 < len(parts); i += 2 {
		for _, line := range strings.Split(parts[i], "\n") {
			if title, ok := strings.CutPrefix(line, "## "); ok {
				section = title
			}
		}
		paragraphs := strings.Split(strings.TrimSpace(comment.ReplaceAllString(parts[i], "")), "\n\n")
		language, text, _ := strings.Cut(parts[i+1], "\n")
		out = append(out, block{section, paragraphs[len(paragraphs)-1], language, text})
	}
	return out
}

// reader runs the commands of a page.
type reader struct {
	*testing.T
	dir  string
	env  []string
	home string            // stands for the folder that has the checkout
	ids  map[string]string // what stands for an id of the page here, by its first 13 characters
	seen strings.Builder   // what was typed, and what was compared
	http string            // stands for the address at which the page serves
}

// newReader returns a reader in the checkout, whose own folders are empty.
func newReader(t *testing.T, root string) *reader {
	r := &reader{T: t, dir: root, env: os.Environ(), home: t.TempDir(), ids: map[string]string{}, http: freeAddress(t)}
	for _, name := range []string{"XDG_DATA_HOME", "XDG_CONFIG_HOME"} {
		r.env = append(r.env, name+"="+t.TempDir())
	}
	return r
}

// freeAddress returns an address of this machine at which nobody listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	return l.Addr().String()
}

// servedAt is where pages serve.
const servedAt = "127.0.0.1:8080"

// beside are the folders that pages make beside the checkout.
var beside = regexp.MustCompile(`(?:\$PWD/)?\.\./(errands|todo|shop|gateway)\b`)

// compared reports whether the lines of a text, in their order, are among those of one block that
// was typed or compared.
func (r *reader) compared(text string) bool {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for _, block := range strings.Split(r.seen.String(), "\x00") {
		found := 0
		for _, line := range strings.Split(block, "\n") {
			if found < len(lines) && line == lines[found] {
				found++
			}
		}
		if found == len(lines) {
			return true
		}
	}
	return false
}

// bash runs commands in the working directory and environment that the previous ones left.
func (r *reader) bash(commands string, in io.Reader) string {
	r.Helper()
	dir := r.TempDir()
	commands = strings.ReplaceAll(beside.ReplaceAllString(commands, r.home+"/$1"), servedAt, r.http)
	cmd := exec.CommandContext(r.Context(), "bash", "-euo", "pipefail", "-c", commands+"\npwd > "+dir+"/cwd; env -0 > "+dir+"/env")
	cmd.Dir, cmd.Env, cmd.Stdin = r.dir, r.env, in
	out, err := cmd.CombinedOutput()
	_ = err // a failed run prints its line; what is printed is compared
	if cwd, err := os.ReadFile(dir + "/cwd"); err == nil {
		r.dir = strings.TrimSpace(string(cwd))
		env, err := os.ReadFile(dir + "/env")
		require.NoError(r, err)
		r.env = strings.Split(strings.Trim(string(env), "\x00"), "\x00")
	}
	return string(out)
}

// sh runs commands that must succeed.
func (r *reader) sh(commands string) {
	r.Helper()
	r.seen.WriteString(commands + "\x00")
	before := r.env
	out := r.bash(commands+"\nexport README_TYPED=1", nil)
	require.NotEqual(r, before, r.env, "%s\n%s", commands, out)
	require.Contains(r, r.env, "README_TYPED=1", "%s\n%s", commands, out)
	r.env = deleteVariable(r.env, "README_TYPED=1")
}

func deleteVariable(env []string, variable string) (out []string) {
	for _, v := range env {
		if v != variable {
			out = append(out, v)
		}
	}
	return out
}

var quotedPath = regexp.MustCompile("`([^`]+\\.go)`")

// file writes the file that the paragraph before a block names.
func (r *reader) file(b block) {
	r.Helper()
	name := quotedPath.FindStringSubmatch(b.before)
	require.NotNil(r, name, b.before)
	path := filepath.Join(r.dir, name[1])
	require.NoError(r, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(r, os.WriteFile(path, []byte(b.text+"\n"), 0o644))
}

// console runs the commands after "$ " and compares their output with the text below them.
func (r *reader) console(text string) {
	r.Helper()
	var command, want []string
	run := func() {
		if command == nil {
			return
		}
		typed := r.known(strings.Join(command, "\n"))
		expected := strings.Join(want, "\n")
		var got string
		if answer := yesOrNo.FindStringSubmatch(expected); answer != nil {
			got = r.answer(typed, answer[1])
		} else {
			got = r.bash(typed, nil)
		}
		r.compare(typed, expected, got)
		command, want = nil, nil
	}
	for _, line := range strings.Split(text, "\n") {
		switch {
		case strings.HasPrefix(line, "$ "):
			run()
			command = []string{strings.TrimPrefix(line, "$ ")}
		case len(want) == 0 && strings.HasSuffix(command[len(command)-1], "|"):
			command = append(command, line)
		default:
			want = append(want, line)
		}
	}
	run()
}

var (
	yesOrNo = regexp.MustCompile(`\[yes/no\] (\w+)`)
	uuids   = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-(?:[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|…)`)
	times   = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`)
	gaps    = regexp.MustCompile(` ?… ?`)
	folds   = regexp.MustCompile(`\n *`)
)

const (
	uuidPattern = `([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})`
	timePattern = `\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`
)

// known replaces the ids of the page by those of this machine.
func (r *reader) known(text string) string {
	return uuids.ReplaceAllStringFunc(text, func(id string) string {
		here, ok := r.ids[id[:13]]
		require.True(r, ok, "no command has printed %s yet", id)
		return here
	})
}

// compare compares output with the page: "…" matches anything, lines of JSON may be
// folded, and one id of the page is one id here.
func (r *reader) compare(command, want, got string) {
	r.Helper()
	r.seen.WriteString(want + "\x00")
	var pattern strings.Builder
	var named []string
	rest := want
	for {
		at := uuids.FindStringIndex(rest)
		if at == nil {
			break
		}
		pattern.WriteString(literal(rest[:at[0]]))
		pattern.WriteString(uuidPattern)
		named = append(named, rest[at[0]:at[0]+13])
		rest = rest[at[1]:]
	}
	pattern.WriteString(literal(rest))
	found := regexp.MustCompile("(?s)" + pattern.String()).FindStringSubmatch(got)
	require.NotNil(r, found, "$ %s\nprints\n%s\nand the page says\n%s", command, got, want)
	for i, id := range named {
		here, ok := r.ids[id]
		if !ok {
			here = found[i+1]
			r.ids[id] = here
		}
		require.Equal(r, here, found[i+1], "%s in\n%s", id, got)
	}
}

func literal(text string) string {
	text = times.ReplaceAllString(text, "\x00time\x00")
	text = regexp.QuoteMeta(text)
	text = strings.ReplaceAll(text, "\x00time\x00", timePattern)
	text = gaps.ReplaceAllString(text, ".*")
	return folds.ReplaceAllString(text, `\s*`)
}

// answer runs a command on a terminal, and answers its question.
func (r *reader) answer(command, answer string) string {
	r.Helper()
	person, program := openTerminal(r.T)
	cmd := exec.CommandContext(r.Context(), "bash", "-c", command)
	cmd.Dir, cmd.Env = r.dir, append(r.env, "PAGER=cat")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = program, program, program
	require.NoError(r, cmd.Start())
	var text lockedBuffer
	go func() { _, _ = io.Copy(&text, person) }()
	require.Eventually(r, func() bool { return strings.Contains(text.String(), "[yes/no]") }, time.Minute, 10*time.Millisecond, "%s", text.String())
	_, err := person.WriteString(answer + "\n")
	require.NoError(r, err)
	require.NoError(r, cmd.Wait(), "%s", text.String())
	require.Eventually(r, func() bool { return strings.HasSuffix(text.String(), "}\r\n") }, 10*time.Second, 10*time.Millisecond, "%s", text.String())
	return strings.ReplaceAll(text.String(), "\r\n", "\n")
}

var (
	durations = regexp.MustCompile(` +(<?\d+ ms( +▪+)?|time\b)`) // with the column's head: the longest decides where it stands
	dates     = regexp.MustCompile(`\d{4}-\d\d-\d\d`)
)

// demo runs the sample and compares its output, except for dates and times: a line of "…" stands for
// any lines, and everything else for itself.
func (r *reader) demo(want string) {
	r.Helper()
	plain := func(text string) string {
		return dates.ReplaceAllString(durations.ReplaceAllString(strings.TrimSpace(text), " TIME"), "DATE")
	}
	got := plain(r.bash("PANTRYPAL_DAY=2026-11-23 make --no-print-directory --silent demo 2> /dev/null", nil))
	pattern := strings.ReplaceAll(regexp.QuoteMeta(plain(want)), "\n…\n", `\n(?:.*\n)*?`)
	require.Regexp(r, `\A`+pattern+`\z`, got)
}
