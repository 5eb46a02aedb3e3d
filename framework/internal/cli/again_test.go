package cli

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/catalog"
)

// What a process was started with is shown in hints without its secrets, and so that a shell reads it as it was.
func TestAgain(t *testing.T) {
	t.Chdir(t.TempDir())
	dir, err := os.Getwd()
	require.NoError(t, err)
	c := &invocation{
		app: App{
			Command:  "no-such-app tool",
			Settings: []catalog.Setting{{Key: "database", Default: ""}, {Key: "files.secretKey", Default: "", Secret: true}, {Key: "set", Default: ""}},
			Process:  Process{Env: []string{"KOAN_FILES_SECRETKEY=hush", "KOAN_DATABASE=overruled", "KOAN_SET=it's", "HOME=/"}},
		},
		flags: map[string]string{"database": "postgres://ann:hush@db/shop"}, config: "other.yaml", dir: "there",
	}
	require.Equal(t, "no-such-app tool approve 1 --config other.yaml --database SECRET --dir there", c.again(true).Typed("no-such-app tool approve", "1"))
	require.Equal(t, `KOAN_FILES_SECRETKEY=SECRET KOAN_SET='it'\''s' no-such-app tool approve 1 --config other.yaml --database SECRET --dir `+catalog.ShellWord(dir), c.again(false).Typed("no-such-app tool approve", "1"))

	bare := &invocation{app: App{Command: "no-such-app"}}
	require.Equal(t, "no-such-app approve 1", bare.again(false).Typed("no-such-app approve", "1"))
	require.Equal(t, "bin/no-such-app approve 1", catalog.Again{Program: "bin/no-such-app"}.Typed("no-such-app approve", "1"))
}
