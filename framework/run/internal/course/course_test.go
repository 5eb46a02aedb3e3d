package course_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run/internal/course"
)

func TestFirstReasonEndsAnAttempt(t *testing.T) {
	var c course.Course
	first := errors.New("first")
	require.NoError(t, c.Count(0, nil))
	require.Equal(t, first, c.End(first))
	require.Equal(t, first, c.End(errors.New("second")))
	require.Equal(t, first, c.Count(0, nil))
	c.Close()
	require.Equal(t, first, c.Ended())
	_, counted := c.Calls()
	require.Equal(t, 1, counted)
}

func TestClosedAttempt(t *testing.T) {
	var c course.Course
	c.Close()
	require.Error(t, c.Closed())
	require.NoError(t, c.Ended())
	require.True(t, course.IsRestart(c.Restart("the commit found the data changed")))
	require.True(t, course.AllowsAnother(c.Ended()))
}

func TestLimitEndsAnAttempt(t *testing.T) {
	var c course.Course
	exceeded := fault.New(fault.SDKCallsExceeded, "")
	limit := func() error { return exceeded }
	require.NoError(t, c.Count(1, limit))
	require.Equal(t, error(exceeded), c.Count(1, limit))
	require.Equal(t, error(exceeded), c.Ended())
	require.True(t, course.Ends(c.Ended()))
}
