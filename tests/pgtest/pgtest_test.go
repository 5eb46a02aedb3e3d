package pgtest

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const child = "KOAN_PGTEST_CHILD"

func TestPlacesAreIsolated(t *testing.T) {
	one, two := Open(t), Open(t)
	_, err := one.Exec("CREATE TABLE things (id integer)")
	require.NoError(t, err)
	_, err = two.Exec("SELECT * FROM things")
	require.Error(t, err)
	require.NotEqual(t, Place(t), Place(t))
}

// A server outlives its test by no more than a moment, even where the test is
// killed.
func TestServerEndsWithProcess(t *testing.T) {
	if os.Getenv(child) != "" {
		Psql(t, Server(t), "SELECT 1")
		_, _ = os.Stdout.WriteString("folder " + folder + "\n")
		time.Sleep(time.Minute)
	}
	c := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$")
	c.Env = append(os.Environ(), child+"=1")
	out, err := c.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, c.Start())
	said := make([]byte, 4096)
	n, err := out.Read(said)
	require.NoError(t, err)
	require.NoError(t, c.Process.Kill())
	_ = c.Wait()
	_, where, ok := strings.Cut(string(said[:n]), "folder ")
	require.True(t, ok, string(said[:n]))
	require.Eventually(t, func() bool {
		_, err := os.Stat(strings.TrimSpace(where))
		return os.IsNotExist(err)
	}, 10*time.Second, 20*time.Millisecond)
}
