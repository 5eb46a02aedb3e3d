package sandbox

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
)

// TestWorkerWithManyThreadsIsKilled is for Linux, where the host can count the threads of another process.
func TestWorkerWithManyThreadsIsKilled(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	s, err := New(Options{Program: scripted(t, "exec "+self+" "+brokenMarker+" '"+manyThreads+"'"), Layers: []string{}, PoolSize: 1})
	require.NoError(t, err)
	defer s.Close()
	r := execute(t, s, job("1"), newHost())
	require.NotNil(t, r.Fault)
	require.Equal(t, fault.ExecutionError, r.Fault.Code)
	require.Contains(t, r.Fault.Message, "more than 100 threads")
}
