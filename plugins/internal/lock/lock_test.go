package lock_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/journal"
	"github.com/koan-go/koan/plugins/internal/lock"
)

func entry(digest string) lock.Entry {
	return lock.Entry{
		Version: "1.2.0", Contract: 1, Digest: digest, Source: "https://plugins.example/weather",
		Functions: map[string]lock.Function{"look-up": {Effects: "read", Input: digest, Output: digest}},
		Settings:  []string{"city"}, Needs: []string{"koan::Todo.patch"},
	}
}

func TestAnEntryComesBackAsItWas(t *testing.T) {
	t.Parallel()
	path := lock.Beside(filepath.Join(t.TempDir(), "koan.yaml"))
	f, err := lock.Read(path)
	require.NoError(t, err)
	require.Empty(t, f.Plugins)
	want := entry(journal.Digest([]byte("a")))
	require.NoError(t, lock.Change(t.Context(), path, func(f *lock.File) error { f.Plugins["weather"] = want; return nil }))
	f, err = lock.Read(path)
	require.NoError(t, err)
	require.Equal(t, map[string]lock.Entry{"weather": want}, f.Plugins)
	require.Error(t, lock.Change(t.Context(), path, func(f *lock.File) error { delete(f.Plugins, "weather"); return os.ErrInvalid }))
	f, err = lock.Read(path)
	require.NoError(t, err)
	require.Len(t, f.Plugins, 1, "a change that fails changes nothing")
}

// The same version has other files on another platform; each was agreed to.
func TestDigestsOfOtherPlatforms(t *testing.T) {
	t.Parallel()
	here, there, third := journal.Digest([]byte("a")), journal.Digest([]byte("b")), journal.Digest([]byte("c"))
	e := entry(there)
	e.Platform = "plan9/arm"
	both := e.With(here)
	require.True(t, both.Has(here) && both.Has(there))
	require.False(t, both.Has(third) || e.Has(here))
	require.Equal(t, map[string]string{lock.Platform: here}, both.Elsewhere)
	require.Nil(t, e.Elsewhere, "the entry itself stays")
	e.Platform = lock.Platform
	own := e.With(here)
	require.True(t, own.Has(here))
	require.False(t, own.Has(there), "a build of this platform replaces the earlier one")
}

func TestChangesDoNotLoseEachOther(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), lock.Name)
	var all sync.WaitGroup
	for n := range 20 {
		all.Go(func() {
			err := lock.Change(context.Background(), path, func(f *lock.File) error {
				f.Plugins[fmt.Sprintf("p%d", n)] = entry(journal.Digest([]byte{byte(n)}))
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	f, err := lock.Read(path)
	require.NoError(t, err)
	require.Len(t, f.Plugins, 20)
	left, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Len(t, left, 1, "nothing else stays")
}

func TestWhatIsWrongInALockIsNamed(t *testing.T) {
	t.Parallel()
	good := "version: 1\nplugins:\n  weather: {version: 1.0.0, contract: 1, digest: \"" + journal.Digest(nil) + "\", source: x, functions: {}}\n"
	for content, want := range map[string]string{
		"":                      "version is 0",
		"version: 2\n":          "version is 2",
		"version: 1\nplugin: 3": "line 2",
		strings.Replace(good, "sha256", "md5", 1):                               "plugins.weather.digest",
		strings.Replace(good, "weather", "../there", 1):                         "lower-case kebab",
		strings.Replace(good, "1.0.0", "[1]", 1):                                "line 3",
		strings.Replace(good, "source: x", "source: x, elsewhere: {a: md5}", 1): "elsewhere.a",
	} {
		path := filepath.Join(t.TempDir(), lock.Name)
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		_, err := lock.Read(path)
		require.ErrorContains(t, err, want, content)
		require.ErrorContains(t, err, path, content)
	}
	path := filepath.Join(t.TempDir(), lock.Name)
	require.NoError(t, os.WriteFile(path, []byte(good), 0o600))
	_, err := lock.Read(path)
	require.NoError(t, err)
}

func TestADigestIsOfEverythingInAFolder(t *testing.T) {
	t.Parallel()
	make := func(files map[string]string) string {
		dir := t.TempDir()
		for name, content := range files {
			path := filepath.Join(dir, name)
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
			mode := os.FileMode(0o600)
			if target, link := strings.CutPrefix(content, "-> "); link {
				require.NoError(t, os.Symlink(target, path))
				continue
			}
			if strings.HasPrefix(content, "#!") {
				mode = 0o700
			}
			require.NoError(t, os.WriteFile(path, []byte(content), mode))
		}
		digest, err := lock.Digest(dir)
		require.NoError(t, err)
		return digest
	}
	base := map[string]string{"weather": "#!/bin/sh", "lib/a.py": "1", "lib/b.py": "2", "lib/c.py": "-> a.py"}
	require.Equal(t, make(base), make(base))
	seen := map[string]string{make(base): "base"}
	for name, change := range map[string]func(map[string]string){
		"another content": func(m map[string]string) { m["lib/a.py"] = "3" },
		"swapped":         func(m map[string]string) { m["lib/a.py"], m["lib/b.py"] = "2", "1" },
		"one more":        func(m map[string]string) { m["lib/d.py"] = "" },
		"another name":    func(m map[string]string) { m["lib/e.py"] = "1"; delete(m, "lib/a.py") },
		"another mode":    func(m map[string]string) { m["lib/a.py"] = "#!1" },
		"another link":    func(m map[string]string) { m["lib/c.py"] = "-> b.py" },
		"another folder":  func(m map[string]string) { m["a.py"] = "1"; delete(m, "lib/a.py") },
	} {
		files := map[string]string{}
		for k, v := range base {
			files[k] = v
		}
		change(files)
		digest := make(files)
		require.Empty(t, seen[digest], name)
		seen[digest] = name
	}
	for _, target := range []string{"/etc/passwd", "../../outside"} {
		dir := t.TempDir()
		require.NoError(t, os.Symlink(target, filepath.Join(dir, "x")))
		_, err := lock.Digest(dir)
		require.ErrorContains(t, err, "leads out")
	}
	file := filepath.Join(t.TempDir(), "f")
	require.NoError(t, os.WriteFile(file, []byte("x"), 0o600))
	digest, err := lock.Digest(file)
	require.NoError(t, err)
	require.Equal(t, journal.Digest([]byte("x")), digest)
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("version: 1\n"))
	f.Add([]byte("version: 1\nplugins: {a: {version: \"1\", contract: 1, digest: \"" + journal.Digest(nil) + "\", source: x, functions: {b: {effects: read, scopes: [s], input: x, output: y}}}}\n"))
	f.Add([]byte("&a [*a]"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		dir := t.TempDir()
		path := filepath.Join(dir, lock.Name)
		require.NoError(t, os.WriteFile(path, raw, 0o600))
		was, err := lock.Read(path)
		if err != nil {
			return
		}
		require.NoError(t, lock.Change(t.Context(), path, func(*lock.File) error { return nil }))
		is, err := lock.Read(path)
		require.NoError(t, err, "what is written can be read")
		require.Len(t, is.Plugins, len(was.Plugins))
	})
}
