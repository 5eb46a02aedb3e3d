package worker

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/codemode/script"
)

// TestTheUsualModuleNeedsNoCompiler: a rehearsal is to warm what scripts go through.
func TestTheUsualModuleNeedsNoCompiler(t *testing.T) {
	p, err := script.Compile(script.Source{Code: usual})
	require.NoError(t, err)
	require.Nil(t, p.Lowered)
}
