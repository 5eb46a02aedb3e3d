//go:build pictures

package console

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/sample-pantrypal/diary"
	pantry "github.com/koan-go/koan/sample-pantrypal/ent"
	"github.com/koan-go/koan/sample-pantrypal/seed"
)

func init() {
	apps["pantrypal"] = func() framework.App {
		return framework.App{
			Name: "pantrypal", Description: "What is in the house.", Entities: pantry.Entities(pantry.OnClient(diary.Keep), pantry.OnCreateSet(seed.Fill)),
		}
	}
}

// TestPictures takes the pictures in docs.
func TestPictures(t *testing.T) {
	t.Setenv(asApp, "pantrypal")
	link, _ := serve(t, "--approval.mode", "destructive")
	folder, err := filepath.Abs("../../docs/images")
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), "node", "console.mjs", link, folder)
	cmd.Dir, cmd.Stdout, cmd.Stderr = "../npm", os.Stdout, os.Stderr
	require.NoError(t, cmd.Run())
}
