package archive_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/plugins/internal/archive"
)

type entry struct {
	name    string
	mode    fs.FileMode
	content string // of a link its target
}

func tarOf(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	w := tar.NewWriter(zipped)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Mode: int64(e.mode.Perm()), Typeflag: tar.TypeReg, Size: int64(len(e.content))}
		switch {
		case e.mode.IsDir():
			h.Typeflag, h.Size = tar.TypeDir, 0
		case e.mode.Type() == fs.ModeSymlink:
			h.Typeflag, h.Size, h.Linkname = tar.TypeSymlink, 0, e.content
		case e.mode.Type() == fs.ModeNamedPipe:
			h.Typeflag, h.Size = tar.TypeFifo, 0
		case e.mode.Type() == fs.ModeIrregular: // here: a hard link
			h.Typeflag, h.Size, h.Linkname = tar.TypeLink, 0, e.content
		}
		require.NoError(t, w.WriteHeader(h))
		if h.Size > 0 {
			_, err := w.Write([]byte(e.content))
			require.NoError(t, err)
		}
	}
	require.NoError(t, w.Close())
	require.NoError(t, zipped.Close())
	return out.Bytes()
}

func zipOf(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, e := range entries {
		h := &zip.FileHeader{Name: e.name}
		h.SetMode(e.mode)
		f, err := w.CreateHeader(h)
		require.NoError(t, err)
		_, err = f.Write([]byte(e.content))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return out.Bytes()
}

func unpack(t testing.TB, name string, raw []byte) (folder string, err error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(file, raw, 0o600))
	folder = filepath.Join(t.TempDir(), "inside", "out")
	require.NoError(t, os.Mkdir(filepath.Dir(folder), 0o700))
	return folder, archive.Unpack(file, folder)
}

func TestUnpack(t *testing.T) {
	t.Parallel()
	entries := []entry{
		{"weather/weather", 0o777, "#!/bin/sh"},
		{"weather/lib/names.txt", 0o666, "Oslo"},
		{"weather/empty/", fs.ModeDir | 0o700, ""},
		{"weather/lib/same", fs.ModeSymlink | 0o777, "../weather"},
	}
	for name, raw := range map[string][]byte{"a.tar.gz": tarOf(t, entries...), "a.tgz": tarOf(t, entries...), "a.zip": zipOf(t, entries...)} {
		folder, err := unpack(t, name, raw)
		require.NoError(t, err, name)
		for file, mode := range map[string]fs.FileMode{"weather/weather": 0o755, "weather/lib/names.txt": 0o644, "weather/lib/same": 0o755} {
			info, err := os.Stat(filepath.Join(folder, file))
			require.NoError(t, err, "%s %s", name, file)
			require.Zero(t, info.Mode().Perm()&^mode, "%s %s", name, file)
			require.Equal(t, mode&0o100, info.Mode().Perm()&0o100, "%s %s", name, file)
		}
		require.DirExists(t, filepath.Join(folder, "weather/empty"))
	}
}

func TestWhatNoArchiveMay(t *testing.T) {
	t.Parallel()
	for name, entries := range map[string][]entry{
		"a name that leads out":           {{"../x", 0o600, "x"}},
		"an absolute name":                {{"/etc/x", 0o600, "x"}},
		"a name through a link":           {{"out", fs.ModeSymlink | 0o777, "../.."}, {"out/x", 0o600, "x"}},
		"a link that leads out":           {{"a/b", fs.ModeSymlink | 0o777, "../../x"}},
		"a link to an absolute path":      {{"a", fs.ModeSymlink | 0o777, "/etc/passwd"}},
		"a file through a link to itself": {{"a", fs.ModeSymlink | 0o777, "a"}, {"a/x", 0o600, "x"}},
		"a backslash":                     {{`..\x`, 0o600, "x"}},
		"a pipe":                          {{"p", fs.ModeNamedPipe | 0o600, ""}},
		"the same file twice":             {{"a", 0o600, "x"}, {"a", 0o600, "y"}},
		"a file over a link":              {{"a", 0o600, "x"}, {"b", fs.ModeSymlink | 0o777, "a"}, {"b", 0o600, "y"}},
	} {
		for _, file := range []string{"a.tar.gz", "a.zip"} {
			raw := tarOf(t, entries...)
			if file == "a.zip" {
				raw = zipOf(t, entries...)
			}
			folder, err := unpack(t, file, raw)
			require.Error(t, err, "%s in %s", name, file)
			there, err := os.ReadDir(filepath.Dir(folder))
			require.NoError(t, err)
			require.Len(t, there, 1, "%s in %s", name, file)
		}
	}
	for _, target := range []string{"/etc/passwd", "../x", "missing"} {
		_, err := unpack(t, "a.tar.gz", tarOf(t, entry{"a", fs.ModeIrregular, target}))
		require.Error(t, err, target)
	}
	for _, file := range []string{"a.tar.gz", "a.zip"} {
		_, err := unpack(t, file, []byte("no archive"))
		require.Error(t, err)
	}
}

// macOS adds files of its own to archives, and GNU tar writes the second name of a file as a hard link.
func TestWhatSystemsAddToArchives(t *testing.T) {
	t.Parallel()
	folder, err := unpack(t, "a.tar.gz", tarOf(t, entry{"./", fs.ModeDir | 0o755, ""}, entry{"./._a", 0o755, "x"}, entry{"./a", 0o755, "x"}, entry{"./b", fs.ModeIrregular, "./a"}))
	require.NoError(t, err)
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Len(t, entries, 2)
	raw, err := os.ReadFile(filepath.Join(folder, "b"))
	require.NoError(t, err)
	require.Equal(t, "x", string(raw))
	folder, err = unpack(t, "a.zip", zipOf(t, entry{"a", 0o755, "x"}, entry{"__MACOSX/._a", 0o755, "x"}, entry{"__MACOSX/", fs.ModeDir | 0o755, ""}))
	require.NoError(t, err)
	entries, err = os.ReadDir(folder)
	require.NoError(t, err)
	require.Len(t, entries, 1)
}

func TestStem(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"a-1.2.tar.gz": "a-1.2", "b.tgz": "b", "c.zip": "c"} {
		stem, ok := archive.Stem(name)
		require.True(t, ok)
		require.Equal(t, want, stem)
	}
	_, ok := archive.Stem("weather")
	require.False(t, ok)
	for name, foreign := range map[string]bool{"a.tar.xz": true, "a.gz": true, "a.7z": true, "a.tar.gz": false, "a.zip": false, "weather": false, "a.py": false} {
		require.Equal(t, foreign, archive.Foreign(name), name)
	}
}

func FuzzUnpack(f *testing.F) {
	f.Add(true, tarOf(f, entry{"a/b", 0o700, "x"}, entry{"a/c", fs.ModeSymlink | 0o777, "b"}))
	f.Add(false, zipOf(f, entry{"a/b", 0o700, "x"}, entry{"a/c", fs.ModeSymlink | 0o777, "b"}))
	f.Fuzz(func(t *testing.T, zipped bool, raw []byte) {
		name := "a.tar.gz"
		if !zipped {
			name = "a.zip"
		}
		folder, err := unpack(t, name, raw)
		there, rerr := os.ReadDir(filepath.Dir(folder))
		require.NoError(t, rerr)
		require.Len(t, there, 1, "nothing lies beside the folder: %v", err)
	})
}
