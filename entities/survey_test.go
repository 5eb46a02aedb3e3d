package entities

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// A password stands in no file that koan init writes, however the address has it.
func TestSurveyWritesNoPassword(t *testing.T) {
	for database, want := range map[string]string{
		"sqlite:shop.db":                         "sqlite:shop.db",
		"postgres://ann@host/shop":               "postgres://ann@host/shop",
		"postgres://ann:hunter2@host/shop":       "postgres://ann@host/shop",
		"postgres://host/shop?password=hunter2":  "postgres://host/shop",
		"postgresql://a:hunter2@h/s?sslmode=off": "postgresql://a@h/s?sslmode=off",
	} {
		place, comment := withoutPassword(database)
		require.Equal(t, want, place)
		require.Equal(t, place != database, comment != "", database)
	}
}

// Somebody who names a file alone is told how to name it.
func TestFileWithoutScheme(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("shop.db", nil, 0o600))
	require.ErrorContains(t, checkExisting("shop.db"), `; did you mean "sqlite:shop.db"?`)
	require.NotContains(t, checkExisting("none.db").Error(), "did you mean")
}
