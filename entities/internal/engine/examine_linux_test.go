package engine_test

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDoctorFindsAFileThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 { // to whom nothing is forbidden
		repeatAsNobody(t)
		return
	}
	folder, file := manyPages(t)
	require.NoError(t, os.Chmod(file, 0o400))
	c := checked(t, folder)
	require.False(t, c.OK, c.Detail)
	require.Contains(t, c.Detail, `the file of the set "default" cannot be written`)
}

// repeatAsNobody runs the test in a process of the user nobody, who may not enter the folders of
// this one.
func repeatAsNobody(t *testing.T) {
	t.Helper()
	const nobody = 65534
	dir, err := os.MkdirTemp("", "nobody")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	require.NoError(t, os.Chown(dir, nobody, nobody))
	program := filepath.Join(dir, "test")
	from, err := os.Open(os.Args[0])
	require.NoError(t, err)
	defer from.Close()
	to, err := os.OpenFile(program, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	require.NoError(t, err)
	_, err = io.Copy(to, from)
	require.NoError(t, err)
	require.NoError(t, to.Close())
	again := exec.Command(program, "-test.run=^"+t.Name()+"$", "-test.v")
	again.Env = append(os.Environ(), "TMPDIR="+dir, "HOME="+dir)
	again.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	said, err := again.CombinedOutput()
	require.NoError(t, err, "%s", said)
	require.Contains(t, string(said), "--- PASS: "+t.Name())
}
