package e2e

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDoctorShowsEverythingOfAnAppThatDoesNotStart(t *testing.T) {
	a := newApp(t)
	require.Zero(t, a.exec("SDK.Entities.Todo.upsert({title: 'x'})", "run", "-").status)
	whole := a.exec("", "doctor").stdout
	file := filepath.Join(a.data, "default.db")
	require.NoError(t, os.WriteFile(file, bytes.Repeat([]byte("damaged "), 1024), 0o600))
	require.NoError(t, errors.Join(remove(file+"-wal"), remove(file+"-shm")))
	r := a.exec("", "doctor")
	require.Equal(t, 1, r.status, r.stdout+r.stderr)
	require.Regexp(t, `(?m)^FAIL +database +.*default`, r.stdout)
	require.Equal(t, checkNames(whole), checkNames(r.stdout), "%s", r.stdout)
	require.Regexp(t, `(?m)^ok +sandbox`, r.stdout)
	require.NotContains(t, r.stdout+r.stderr, "panic")
}

func remove(file string) error {
	if err := os.Remove(file); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// checkNames are the names of the checks that doctor printed.
func checkNames(table string) (out []string) {
	for _, line := range regexp.MustCompile(`(?m)^(?:ok|FAIL) +(\S+(?: \S+)?)  `).FindAllStringSubmatch(table, -1) {
		out = append(out, line[1])
	}
	return out
}
