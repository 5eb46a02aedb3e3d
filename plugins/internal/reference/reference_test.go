package reference

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestExpand(t *testing.T) {
	t.Setenv("KOAN_TEST_KEY", "k-1")
	file := filepath.Join(t.TempDir(), "key")
	require.NoError(t, os.WriteFile(file, []byte("k-2\n"), 0o600))
	out, secrets, err := Expand("${env:KOAN_TEST_KEY}/${file:" + file + "} ${name} ${env:KOAN_TEST_KEY}")
	require.NoError(t, err)
	require.Equal(t, "k-1/k-2 ${name} k-1", out)
	require.Equal(t, []string{"k-1", "k-2", "k-1"}, secrets)

	_, _, err = Expand("${env:KOAN_TEST_NONE} ${file:/no/such/file}")
	require.ErrorContains(t, err, "${env:KOAN_TEST_NONE}: the environment has no such variable")
	require.ErrorContains(t, err, "${file:/no/such/file}")
	require.NotContains(t, err.Error(), "k-1")
}
