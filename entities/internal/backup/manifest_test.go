package backup

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
)

const right = `{"koan":1,"app":"todo","database":"sqlite","sets":["default"],"files":[{"name":"sets/default.db","size":1,"sha256":"x"},{"name":"koan.ledger","size":0},{"name":"files/ab/cd","size":2}]}`

func TestManifestsOfOthersAreRefused(t *testing.T) {
	t.Parallel()
	m, err := decodeManifest([]byte(right), "todo", "sqlite")
	require.NoError(t, err)
	require.Equal(t, []string{"default"}, m.Sets)
	for name, c := range map[string][2]string{
		"another app":        {`"todo"`, `"shop"`},
		"another database":   {`"sqlite"`, `"postgres"`},
		"another form":       {`"koan":1`, `"koan":2`},
		"a file above":       {"files/ab/cd", "files/../../x"},
		"an absolute file":   {"files/ab/cd", "/etc/passwd"},
		"a file of no kind":  {"files/ab/cd", "other"},
		"the same twice":     {"files/ab/cd", "koan.ledger"},
		"a set without file": {`["default"]`, `["default","b"]`},
		"a file without set": {`["default"]`, `[]`},
		"no set's name":      {`["default"]`, `["../x"]`},
		"not JSON":           {`{"koan"`, `{koan`},
	} {
		_, err := decodeManifest([]byte(strings.Replace(right, c[0], c[1], 1)), "todo", "sqlite")
		require.Equal(t, fault.InvalidRequest, fault.CodeOf(err), name)
	}
}

func TestEveryFileIsCompared(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, setsFolder), 0o700))
	path := filepath.Join(dir, setsFolder, "default.db")
	require.NoError(t, os.WriteFile(path, []byte("data"), 0o600))
	_, err := check(dir, "todo", kind)
	require.ErrorContains(t, err, "written last")
	m := &manifest{Koan: form, App: "todo", Database: kind, Sets: []string{"default"}}
	require.NoError(t, m.seal(dir, setName("default")))
	require.NoError(t, m.write(dir))
	_, err = check(dir, "todo", kind)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, []byte("dada"), 0o600))
	_, err = check(dir, "todo", kind)
	require.ErrorContains(t, err, "not what was written")
	require.NoError(t, os.Remove(path))
	_, err = check(dir, "todo", kind)
	require.ErrorContains(t, err, "missing")
}

// FuzzManifest: a manifest that is taken names files below its folder only, and is written as it was read.
func FuzzManifest(f *testing.F) {
	f.Add([]byte(right))
	f.Add([]byte(`{"koan":1,"app":"todo","database":"sqlite","files":[{"name":"files/C:/x"},{"name":"files/"}]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, err := decodeManifest(raw, "todo", "sqlite")
		if err != nil {
			require.True(t, fault.Known(err))
			return
		}
		for _, file := range m.Files {
			require.True(t, filepath.IsLocal(filepath.FromSlash(file.Name)), file.Name)
		}
		again, err := json.Marshal(m)
		require.NoError(t, err)
		_, err = decodeManifest(again, "todo", "sqlite")
		require.NoError(t, err)
	})
}
