package cli

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"
)

// A port that is taken is named with a way out.
func TestTakenPort(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = l.Close() }()
	_, err = net.Listen("tcp", l.Addr().String())
	require.ErrorContains(t, withPort(err), "hint: Another program listens there")
	_, err = net.Listen("tcp", "256.0.0.1:0")
	require.NotContains(t, withPort(err).Error(), "hint")
}
