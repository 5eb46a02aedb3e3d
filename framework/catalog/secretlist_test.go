package catalog_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/catalog"
)

// No secret that is in use is forgotten, however many there are, and those that were renewed do not pile
// up.
func TestSecretsInUseAreNotForgotten(t *testing.T) {
	var l catalog.SecretList
	for i := range 600 {
		l.Add("configured " + strconv.Itoa(i))
		l.Renew("user "+strconv.Itoa(i), "access "+strconv.Itoa(i), "refresh "+strconv.Itoa(i), "")
	}
	require.Len(t, l.Secrets(), 3*600)
	require.Subset(t, l.Secrets(), []string{"configured 0", "access 0", "refresh 0", "configured 599", "access 599"})

	for i := range 100 {
		l.Renew("user 0", "renewed "+strconv.Itoa(i), "refresh 0")
	}
	require.Subset(t, l.Secrets(), []string{"renewed 99", "renewed 98", "renewed 97", "refresh 0", "access 1"})
	require.NotContains(t, l.Secrets(), "renewed 90")
	require.NotContains(t, l.Secrets(), "access 0")
	l.Renew("user 0", "renewed 99", "refresh 0") // read again
	require.Contains(t, l.Secrets(), "renewed 97")
	l.Add("configured 0", "")
	require.Len(t, l.Secrets(), 3*600+2)
}
