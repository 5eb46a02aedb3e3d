package plugins_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/koantest"
)

// The journal has for each call of a plugin which build was called: its version, and the digest of its files.
func TestJournalNamesTheBuild(t *testing.T) {
	t.Parallel()
	k, _ := post(t, declared{}, set("journal.enabled", "true"), set("journal.expose", "true"))
	k.Run(script, koantest.Input{})
	raw, err := os.ReadFile(filepath.Join(dirOf(k), "mail"))
	require.NoError(t, err)
	var calls struct {
		Items []struct{ Operation, Build string }
	}
	require.Eventually(t, func() bool {
		r := k.Run(`SDK.Out.answer(SDK.Entities.KoanCall.collection({ filter: { operation: "plugin::mail.send" } }))`, koantest.Input{})
		r.AnswerInto(&calls)
		return len(calls.Items) == 1
	}, 20*time.Second, 50*time.Millisecond)
	require.Equal(t, fmt.Sprintf("1.0.0 sha256:%x", sha256.Sum256(raw)), calls.Items[0].Build)
}
