package release

import (
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// image is what a stage of a Dockerfile has made.
type image struct {
	dir        string // its root
	work       string // WORKDIR in it
	env        []string
	entrypoint []string
}

var continued = regexp.MustCompile(`\\\n\s*`)

// build executes the instructions of a Dockerfile in clean folders, one for each stage. A
// RUN has this machine's programs in place of those of its base image, and its working
// folder, which paths must be relative to. Each instruction that is not known fails. The last stage is named "".
func build(t *testing.T, context, file string) map[string]*image {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(context, file))
	require.NoError(t, err)
	ignored := readIgnored(t, filepath.Join(context, file+".dockerignore"))
	stages := map[string]*image{}
	var now *image
	for _, line := range strings.Split(continued.ReplaceAllString(string(raw), " "), "\n") {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		instruction, rest, _ := strings.Cut(line, " ")
		words := strings.Fields(rest)
		switch instruction {
		case "FROM":
			now = &image{dir: t.TempDir(), work: "/"}
			name := ""
			if len(words) == 3 && words[1] == "AS" {
				name = words[2]
			}
			stages[name] = now
		case "WORKDIR":
			now.work = rest
			require.NoError(t, os.MkdirAll(filepath.Join(now.dir, rest), 0o755))
		case "ARG", "ENV":
			now.env = append(now.env, rest)
		case "COPY":
			from := context
			if name, ok := strings.CutPrefix(words[0], "--from="); ok {
				require.Contains(t, stages, name)
				from, words = stages[name].dir, words[1:]
			}
			to := words[len(words)-1]
			if !strings.HasPrefix(to, "/") {
				to = filepath.Join(now.work, to)
			}
			for _, w := range words[:len(words)-1] {
				copyAll(t, filepath.Join(from, w), filepath.Join(now.dir, to), ignored)
			}
		case "RUN":
			cmd := exec.CommandContext(t.Context(), "sh", "-ec", rest)
			cmd.Dir, cmd.Env = filepath.Join(now.dir, now.work), append(os.Environ(), now.env...)
			said, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s\n%s", line, said)
		case "ENTRYPOINT":
			require.NoError(t, json.Unmarshal([]byte(rest), &now.entrypoint))
		case "VOLUME":
		default:
			t.Fatalf("what to do for %q is not known", line)
		}
	}
	return stages
}

// readIgnored reads the names that a context leaves out: of its root, or with **/ of all
// folders.
func readIgnored(t *testing.T, file string) []string {
	t.Helper()
	raw, err := os.ReadFile(file)
	require.NoError(t, err)
	return strings.Fields(string(raw))
}

// copyAll copies a file into a folder or to a name, or the content of a folder.
func copyAll(t *testing.T, from, to string, ignored []string) {
	t.Helper()
	info, err := os.Stat(from)
	require.NoError(t, err)
	if !info.IsDir() {
		if into, err := os.Stat(to); err == nil && into.IsDir() {
			to = filepath.Join(to, filepath.Base(from))
		}
		copyFile(t, from, to, info.Mode())
		return
	}
	require.NoError(t, filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if slices.Contains(ignored, rel) || slices.Contains(ignored, "**/"+d.Name()) {
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		}
		info, err := d.Info()
		if err != nil || !info.Mode().IsRegular() {
			return err
		}
		copyFile(t, path, filepath.Join(to, rel), info.Mode())
		return nil
	}))
}

func copyFile(t *testing.T, from, to string, mode fs.FileMode) {
	t.Helper()
	raw, err := os.ReadFile(from)
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Dir(to), 0o755))
	require.NoError(t, os.WriteFile(to, raw, mode))
}
