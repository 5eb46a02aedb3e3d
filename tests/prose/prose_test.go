// Package prose finds patterns of prose that make native readers stumble, in pages, package comments, and
// the texts that programs print.
//
// What belongs here: rules that a pattern can state. Not here: spelling, or facts.
package prose

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPatterns holds every text to the rules.
func TestPatterns(t *testing.T) {
	for _, file := range tracked(t) {
		var all []string
		for _, text := range texts(t, file) {
			all = append(all, sentences(text)...)
		}
		for _, r := range append(slices.Clone(rules), howToRules(file)...) {
			if places := r.find(all); len(places) > 0 {
				t.Errorf("%s: %s; %s:\n  %s", file, r.name, r.write, strings.Join(places, "\n  "))
			}
		}
	}
}

// howToRules are those for pages that somebody follows step by step.
func howToRules(file string) []rule {
	if strings.HasPrefix(file, "docs/howto/") || file == "README.md" {
		return []rule{{"long-sentence", fmt.Sprintf("at most %d words", longest), longSentences}}
	}
	return nil
}

// english is the file with what the sample's pages say.
const english = "sample-pantrypal/web/texts/en.json"

// tracked are the files whose texts people read: pages, what the sample's say, and Go that is not generated.
func tracked(t *testing.T) (out []string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md", "*.go", english)
	cmd.Dir = "../.."
	raw, err := cmd.Output()
	require.NoError(t, err)
	for file := range strings.Lines(string(raw)) {
		file = strings.TrimSpace(file)
		generated := strings.Contains(file, "/ent/") && !strings.Contains(file, "/ent/schema/") || strings.HasSuffix(file, ".pb.go")
		fixture := strings.Contains(file, "/testdata/") || strings.HasPrefix(file, "tests/") && strings.HasSuffix(file, ".md")
		if _, err := os.Stat(filepath.Join("../..", file)); err == nil && !generated && !fixture {
			out = append(out, file)
		}
	}
	require.Greater(t, len(out), 500)
	return out
}

// texts are a page, or of a Go file its package comment and, unless it is a test, each string that has words.
func texts(t *testing.T, file string) (out []string) {
	t.Helper()
	path := filepath.Join("../..", file)
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	if strings.HasSuffix(file, ".md") {
		return []string{string(raw)}
	}
	if file == english {
		var all map[string]any
		require.NoError(t, json.Unmarshal(raw, &all))
		for _, text := range all {
			out = append(out, fmt.Sprint(text))
		}
		return out
	}
	parsed, err := parser.ParseFile(token.NewFileSet(), path, raw, parser.ParseComments)
	require.NoError(t, err)
	if ast.IsGenerated(parsed) {
		return nil
	}
	if parsed.Doc != nil {
		out = append(out, parsed.Doc.Text())
	}
	if strings.HasSuffix(file, "_test.go") || strings.HasPrefix(file, "tests/") {
		return out
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if s, err := strconv.Unquote(lit.Value); err == nil && strings.Count(s, " ") >= 3 && !strings.Contains(s, "\n\t") {
				out = append(out, s)
			}
		}
		return true
	})
	return out
}

// TestRulesFind holds each rule to a sentence that it finds and one that it does not.
func TestRulesFind(t *testing.T) {
	for name, c := range map[string]struct{ bad, good string }{
		"who-clause":   {"Who may write may refer to others.", "Who may call?"},
		"what-clause":  {"What cannot be done without losing data is refused.", "Koan refuses changes that would lose data."},
		"word-order":   {"Rules, of which the first that matches decides.", "The first match wins."},
		"negated-noun": {"This is no photo.", "There is no photo."},
		"causative":    {"`ask` has a person approve them.", "`ask` requires approval."},
		"else":         {"If it is there, it is used, else say it.", "Say something else."},
		"of-chain":     {"Questions of a server.", "A server's questions."},
		"odd-verb":     {"It ends in `conflict`.", "It fails with `conflict`."},
		"private-term": {"The kernel knows no entity.", "The core knows no entity."},
		"he-and-text":  {"A caller sees what he may read.", "Callers see what they may read."},
	} {
		i := slices.IndexFunc(rules, func(r rule) bool { return r.name == name })
		require.GreaterOrEqual(t, i, 0, name)
		require.Len(t, rules[i].find(sentences(c.bad)), 1, "%s: %s", name, c.bad)
		require.Empty(t, rules[i].find(sentences(c.good)), "%s: %s", name, c.good)
	}
	require.Len(t, longSentences(sentences(strings.Repeat("word ", longest+1))), 1)
	require.Empty(t, longSentences(sentences("|"+strings.Repeat(" cell |", longest+1)+"\n- "+strings.Repeat("word ", longest))))
}
