package engine_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/approval"
	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/framework/run/approve"
)

func TestGrantsAreKeptForAllProcesses(t *testing.T) {
	t.Parallel()
	if forEach(t, TestGrantsAreKeptForAllProcesses) {
		return
	}
	sends := func(call func(id, input string) (string, error), _ *run.Attempt) (string, error) {
		_, err := call("plugin::world.send", `{}`)
		return "sent", err
	}
	place, jobs := place(t), map[string]job{"sends": sends}
	settings := approve.Settings{Policy: approval.Policy{Mode: approval.Writes}}
	one, two := newDesk(t, place, &world{}, settings, jobs), newDesk(t, place, &world{}, settings, jobs)
	_, _, err := two.run(nil, "sends")
	require.Equal(t, fault.ApprovalRequired, fault.CodeOf(err))

	ctx := context.Background()
	r := approve.GrantRequest{Operation: "plugin::world.send", Subject: robot.Subject, By: boss, Snapshot: one.snapshot}
	require.NoError(t, one.guard.Grant(ctx, r))
	require.NoError(t, one.guard.Grant(ctx, r), "a later one is in its place")
	_, outcome, err := two.run(nil, "sends")
	require.NoError(t, err)
	require.True(t, outcome.Approved)
	two.as = auth.Principal{Subject: "ann", Scopes: robot.Scopes, Sets: robot.Sets}
	_, _, err = two.run(nil, "sends")
	require.Equal(t, fault.ApprovalRequired, fault.CodeOf(err), "it is another caller")
	two.as = robot

	grants, err := two.guard.ListGrants(ctx, boss, two.snapshot)
	require.NoError(t, err)
	require.Len(t, grants, 1)
	require.WithinDuration(t, time.Now(), grants[0].At, time.Minute)
	_, err = two.guard.ListGrants(ctx, robot, two.snapshot)
	require.Equal(t, fault.Forbidden, fault.CodeOf(err))

	// An operation that is no longer what it was.
	changed := *two.snapshot.Operation(catalog.PluginID("world", "send"))
	changed.Declared = map[string]json.RawMessage{"description": json.RawMessage(`"Sends it to eve."`)}
	other, err := catalog.NewSnapshot(catalog.Offer{Operations: []*catalog.Operation{&changed}})
	require.NoError(t, err)
	grants, err = two.guard.ListGrants(ctx, boss, other)
	require.NoError(t, err)
	require.True(t, grants[0].Void)

	require.NoError(t, two.guard.Revoke(ctx, r))
	require.Equal(t, fault.NotFound, fault.CodeOf(one.guard.Revoke(ctx, r)))
	_, _, err = one.run(nil, "sends")
	require.Equal(t, fault.ApprovalRequired, fault.CodeOf(err))
}
