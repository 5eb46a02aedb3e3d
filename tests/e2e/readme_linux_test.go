package e2e

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestReadme runs the commands of the README, from the checkout to one's own entity, and
// compares their output. checkNewApp then checks the resulting app further.
func TestReadme(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	home := filepath.Join(t.TempDir(), "errands")
	r := &reader{T: t, dir: root, env: os.Environ(), home: home, ids: map[string]string{}}
	typed := 0
	for _, b := range readme(t) {
		switch {
		case b.language == "" && strings.Contains(b.before, "`make demo` prints"):
			r.demo(b.text)
		case b.section != "Your own entity in five minutes":
			continue
		case b.language == "sh":
			r.sh(b.text)
		case b.language == "go":
			r.file(b)
		case b.language == "console":
			r.console(b.text)
		case b.language == "json":
			continue
		default:
			t.Fatalf("nobody types a block of %q", b.language)
		}
		typed++
	}
	require.GreaterOrEqual(t, typed, 8)
	checkNewApp(t, root, home)
}

// block is a fenced block of the README.
type block struct {
	section  string // its "## " heading
	before   string // the paragraph before it
	language string
	text     string
}

// comment is what a reader of the page does not see.
var comment = regexp.MustCompile(`(?s)<!--.*?-->`)

func readme(t *testing.T) (out []block) {
	t.Helper()
	raw, err := os.ReadFile("../../README.md")
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

// reader runs the commands of the README.
type reader struct {
	*testing.T
	dir  string
	env  []string
	home string            // of the new app, which the README makes beside the checkout
	ids  map[string]string // what stands for an id of the README here, by its first 13 characters
}

// bash runs commands in the working directory and environment that the previous ones left.
func (r *reader) bash(commands string, in io.Reader) string {
	r.Helper()
	dir := r.TempDir()
	commands = strings.ReplaceAll(commands, "../errands", r.home)
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
	require.NoError(r, os.WriteFile(filepath.Join(r.dir, name[1]), []byte(b.text+"\n"), 0o644))
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

// known replaces the ids of the README by those of this machine.
func (r *reader) known(text string) string {
	return uuids.ReplaceAllStringFunc(text, func(id string) string {
		here, ok := r.ids[id[:13]]
		require.True(r, ok, "no command has printed %s yet", id)
		return here
	})
}

// compare compares output with the README: "…" matches anything, lines of JSON may be
// folded, and one id of the README is one id here.
func (r *reader) compare(command, want, got string) {
	r.Helper()
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
	require.NotNil(r, found, "$ %s\nprints\n%s\nand the README says\n%s", command, got, want)
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

// demo runs the sample and compares its output, except for dates and times.
func (r *reader) demo(want string) {
	r.Helper()
	plain := func(text string) string {
		return dates.ReplaceAllString(durations.ReplaceAllString(text, " TIME"), "DATE")
	}
	got := r.bash("PANTRYPAL_DAY=2026-11-23 make --no-print-directory --silent demo 2> /dev/null", nil)
	require.Equal(r, strings.TrimSpace(plain(want)), strings.TrimSpace(plain(got)))
}
