//go:build pictures

package console

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	pantrypal "github.com/koan-go/koan/sample-pantrypal/app"
)

func init() { apps["pantrypal"] = pantrypal.New }

// TestPictures takes the pictures of the console in docs.
func TestPictures(t *testing.T) {
	t.Setenv(asApp, "pantrypal")
	link, _ := serve(t, "--approval.mode", "destructive")
	folder, err := filepath.Abs("../../docs/images")
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), "node", "console.mjs", link, folder)
	cmd.Dir, cmd.Stdout, cmd.Stderr = "../npm", os.Stdout, os.Stderr
	require.NoError(t, cmd.Run())
}
