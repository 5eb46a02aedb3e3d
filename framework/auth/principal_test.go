package auth_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/auth"
)

func TestRights(t *testing.T) {
	p := auth.Principal{Subject: "ann", Scopes: []string{"todo.read"}, Sets: []string{"default", "tenant-*"}}
	require.True(t, p.Has("todo.read"))
	require.False(t, p.Has("todo.write"))
	require.Equal(t, "todo.write", p.Missing([]string{"todo.read", "todo.write"}))
	require.Empty(t, p.Missing(nil))
	for set, want := range map[string]bool{"default": true, "tenant-a": true, "tenant-": true, "tenant": false, "defaults": false, "": false} {
		require.Equal(t, want, p.MayName(set), set)
	}
	require.True(t, auth.Local().Has("anything"))
	require.True(t, auth.Local().MayName("anything"))
	require.False(t, auth.Principal{}.MayName("default"))
}

func TestSetOr(t *testing.T) {
	for want, sets := range map[string][]string{"default": {"a", "default"}, "a": {"a", "b"}} {
		require.Equal(t, want, auth.Principal{Sets: sets}.SetOr("default"), sets)
	}
	for _, sets := range [][]string{nil, {"tenant-*", "a"}, {auth.All}} {
		require.Equal(t, "default", auth.Principal{Sets: sets}.SetOr("default"), sets)
	}
}

func TestKeyDependsOnRightsOnly(t *testing.T) {
	a := auth.Principal{Subject: "a", Scopes: []string{"x", "y"}, Sets: []string{"s"}}
	b := auth.Principal{Subject: "b", Scopes: []string{"y", "x"}, Sets: []string{"s"}}
	c := auth.Principal{Subject: "a", Scopes: []string{"x"}, Sets: []string{"s", "y"}}
	require.Equal(t, a.Key(), b.Key())
	require.NotEqual(t, a.Key(), c.Key())
}

func TestContext(t *testing.T) {
	require.Equal(t, auth.Principal{}, auth.From(t.Context()))
	require.Equal(t, "local", auth.From(auth.With(t.Context(), auth.Local())).Subject)
}
