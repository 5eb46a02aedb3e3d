package engine_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run/once"
)

func TestOnceIsForgotten(t *testing.T) {
	t.Parallel()
	if forEach(t, TestOnceIsForgotten) {
		return
	}
	place := place(t)
	p := newProcess(t, place, &world{}, once.Options{Retention: 300 * time.Millisecond})
	first, _, err := p.once("k", atomic, adds("a"))
	require.NoError(t, err)
	time.Sleep(lease + 200*time.Millisecond)
	second, _, err := p.once("k", atomic, adds("a"))
	require.NoError(t, err)
	require.NotEqual(t, first, second)
	require.Equal(t, 2, p.count("a"))
	var kept int
	require.NoError(t, beside(t, place, "default").QueryRow("SELECT count(*) FROM koan_replies").Scan(&kept))
	require.Equal(t, 1, kept, "what is forgotten takes no room")
}

func TestOnceKeepsNoMoreThanAllowed(t *testing.T) {
	t.Parallel()
	if forEach(t, TestOnceKeepsNoMoreThanAllowed) {
		return
	}
	p := newProcess(t, place(t), &world{}, once.Options{ReplyBytes: 50})
	_, _, err := p.once("k", atomic, adds("a"))
	require.Equal(t, fault.ResultTooLarge, fault.CodeOf(err))
	require.Zero(t, p.count("a"), "refused before the commit")
	_, o, err := p.once("", atomic, adds("a"))
	require.NoError(t, err)
	require.True(t, o.Committed)
}
