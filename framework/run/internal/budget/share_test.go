package budget_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/run/internal/budget"
)

func TestSpareGivesWay(t *testing.T) {
	account := budget.New(90, 90).Open()
	share := account.Share()
	require.True(t, share.TakeSpare(30))
	require.NoError(t, share.Take(60))
	require.True(t, share.KeepsSpare())
	require.NoError(t, share.Take(20))
	require.False(t, share.KeepsSpare())
	require.False(t, share.TakeSpare(1))
	require.EqualValues(t, 10, account.Free())
	require.Error(t, share.Take(11))
	share.End()
	require.EqualValues(t, 90, account.Free())
	require.ErrorIs(t, share.Take(1), budget.ErrEnded)
}

func TestSpareIsBounded(t *testing.T) {
	account := budget.New(90, 90).Open()
	share := account.Share()
	require.True(t, share.TakeSpare(45))
	share.GiveSpare(10)
	require.True(t, share.TakeSpare(10))
	require.False(t, share.TakeSpare(1))
	require.False(t, share.KeepsSpare())
	share.GiveSpare(10)
	require.EqualValues(t, 90, account.Free(), "what was dropped is given back once")
}
