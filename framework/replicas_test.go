package framework_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
)

func TestReplicasNeedSharedSecret(t *testing.T) {
	start := func(flags map[string]string) error {
		app, err := framework.New(t.Context(), framework.App{Name: "many"}, framework.Options{Config: framework.Source{Flags: flags}})
		if err == nil {
			require.NoError(t, app.Stop(t.Context()))
		}
		return err
	}
	long := strings.Repeat("x", 32)
	require.NoError(t, start(nil))
	require.NoError(t, start(map[string]string{"server.replicas": "3", "server.secret": long}))
	require.NoError(t, start(map[string]string{"server.secret": long + "," + strings.Repeat("y", 40)}))
	err := start(map[string]string{"server.replicas": "3"})
	require.ErrorContains(t, err, "server.replicas is 3, but server.secret is empty")
	for _, bad := range []string{"hunter2", long + ",hunter2"} {
		err = start(map[string]string{"server.secret": bad})
		require.ErrorContains(t, err, "server.secret has a secret of 7 characters")
		require.NotContains(t, err.Error(), "hunter2")
	}
}
