package docs

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"
)

var goFence = regexp.MustCompile("(?m)(?:^<!-- frame: (.+) -->\n+)?^```go\n((?:.*\n)*?)^```$")

// elsewhere are names of frames for what is not compiled here, and why.
var elsewhere = map[string]string{
	"existing project": "tests/existing compares it word for word with what it builds",
	"tutorial":         "TestTutorial builds it",
	"injected":         "no schemas here have code generated with entc.Dependency, which makes the field",
}

// TestGoIsRight type-checks each part of Go in the documentation: a file by itself, and anything
// else within the frame of testdata/frames.txtar that the comment above it names.
func TestGoIsRight(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	frames, used := readFrames(t), map[string]bool{}
	dir, overlay, packages := t.TempDir(), map[string]string{}, []string{}
	place := func(folder, name, text string) { // puts a file into a package that is nowhere on the disk
		real := filepath.Join(dir, fmt.Sprintf("%d.go", len(overlay)))
		require.NoError(t, os.WriteFile(real, []byte(text), 0o600))
		overlay[filepath.Join(root, folder, name)] = real
	}
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, m := range goFence.FindAllSubmatchIndex(text, -1) {
			fence, name := string(text[m[4]:m[5]]), ""
			if m[2] >= 0 {
				name = string(text[m[2]:m[3]])
			}
			used[name] = true
			if elsewhere[name] != "" {
				continue
			}
			frame, known := frames[name]
			require.True(t, known || name == "", "%s: there is no frame %q", page, name)
			folder := fmt.Sprintf("tests/docs/fence%d", len(packages))
			line := 1 + strings.Count(string(text[:m[4]]), "\n")
			source := fmt.Sprintf("//line %s:%d\n%s\n//line frame.go:1\n", page, line, fence)
			switch {
			case isFile.MatchString(fence):
				place(folder, "fence.go", strings.TrimPrefix(fence, "//go:build ignore\n"))
				if known {
					place(folder, "frame.go", frame)
				}
			default:
				require.True(t, known, "%s:%d: a part of a file needs a comment such as <!-- frame: hook -->", page, line)
				require.Equal(t, 1, strings.Count(frame, "FENCE\n"), name)
				before, after, _ := strings.Cut(frame, "FENCE\n")
				place(folder, "fence.go", strings.TrimRight(before, "\t")+source+after)
				place(folder, "migrations/1.sql", "") // what a part embeds
			}
			packages = append(packages, "./"+folder)
		}
	}
	require.Greater(t, len(packages), 20)
	for name := range frames {
		require.True(t, used[name], "no page has a part with the frame %q", name)
	}
	raw, err := json.Marshal(map[string]any{"Replace": overlay})
	require.NoError(t, err)
	file := filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(file, raw, 0o600))
	// -e: all errors. Nothing is linked, since there is more than one package.
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"build", "-overlay", file, "-gcflags=-e"}, packages...)...)
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// isFile matches the beginning of a whole file.
var isFile = regexp.MustCompile(`(?m)\A(//.*\n|\n)*package `)

// readFrames reads what stands around parts, by its name.
func readFrames(t *testing.T) map[string]string {
	t.Helper()
	archive, err := txtar.ParseFile("testdata/frames.txtar")
	require.NoError(t, err)
	out := map[string]string{}
	for _, f := range archive.Files {
		out[f.Name] = string(f.Data)
	}
	return out
}
