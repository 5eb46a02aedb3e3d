package sources_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/codemode/internal/language/sources"
	"github.com/koan-go/koan/codemode/languages"
)

func TestHostAndWorkersKnowTheSameLanguages(t *testing.T) {
	all := sources.All()
	running := languages.All()
	require.Len(t, all, len(running))
	for i := range all {
		require.Equal(t, running[i].Names(), all[i].Names())
		require.NotNil(t, all[i].Types())
	}
}
