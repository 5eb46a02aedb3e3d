package main

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/koantest"
)

const lake = "lake-house"

// mover is a kitchen with a lot that goes to the lake house and back.
type mover struct {
	kitchen
	lot string
}

func newMover(t *testing.T) mover {
	t.Helper()
	k := open(t, koantest.Setting{Key: "journal.enabled", Value: "true"}, koantest.Setting{Key: "approval.mode", Value: "never"})
	return mover{k, value[string](k, `SDK.Entities.PantryItem.upsert({name: "Polenta", amount: 500, unit: "g", bestBefore: "2027-05-01"}).id`)}
}

// script moves the lot.
func (m mover) script(from, to string) string {
	return fmt.Sprintf(`SDK.Out.answer(SDK.Actions.move({lots: [%q], from: %q, to: %q}))`, m.lot, from, to)
}

// move moves the lot until it is done, which takes calls of them.
func (m mover) move(from, to string, calls int) {
	m.t.Helper()
	for i := range calls {
		var out struct{ Done bool }
		m.Run(m.script(from, to), koantest.Input{}).AnswerInto(&out)
		require.Equal(m.t, i == calls-1, out.Done)
	}
}

// where is how much of the lot is in each household.
func (m mover) where() (out [2]float64) {
	m.t.Helper()
	for i, set := range []string{"default", lake} {
		m.Run(`(l => l?.status === "available" ? l.amount : 0)(SDK.Entities.PantryItem.findById(SDK.args))`, koantest.Input{Args: m.lot, Set: set}).ResultInto(&out[i])
	}
	return out
}

// patch changes the lot in a household.
func (m mover) patch(set, changes string) {
	m.t.Helper()
	m.Run(fmt.Sprintf(`SDK.Entities.PantryItem.patch(%q, %s)`, m.lot, changes), koantest.Input{Set: set})
}

// What goes to the lake house and comes back is whole, each call can be run dry and undone, and
// nothing is ever in neither.
func TestMoveThereAndBack(t *testing.T) {
	t.Parallel()
	m := newMover(t)
	states := func() string {
		return m.state() + string(m.Run(everything, koantest.Input{Set: lake}).Result)
	}
	steps := []json.RawMessage{}
	for _, s := range []struct {
		from, to string
		where    [2]float64
	}{
		{"default", lake, [2]float64{500, 500}},
		{"default", lake, [2]float64{0, 500}},
		{"default", lake, [2]float64{0, 500}},
		{lake, "default", [2]float64{500, 500}},
		{lake, "default", [2]float64{500, 0}},
		{lake, "default", [2]float64{500, 0}},
		{"default", lake, [2]float64{500, 500}},
		{"default", lake, [2]float64{0, 500}},
	} {
		before := states()
		dry := m.Run(m.script(s.from, s.to), koantest.Input{DryRun: true})
		require.True(t, before == states(), "a dry run changes nothing")
		r := m.Run(m.script(s.from, s.to), koantest.Input{})
		require.Equal(t, golden(t, dry), golden(t, r), "a dry run says what a run says")
		require.Equal(t, s.where, m.where())
		if len(r.ChangeCounts) > 0 {
			m.undo(r.RunID)
			require.True(t, before == states(), "undone")
			r = m.Run(m.script(s.from, s.to), koantest.Input{})
			require.Equal(t, golden(t, dry), golden(t, r), "the same again")
			require.Equal(t, s.where, m.where())
		}
		steps = append(steps, json.RawMessage(golden(t, r)))
	}
	m.expectText("move", indented(t, steps))
}

// A lot that nobody has touched since the app's start is moved like any other: the lake house is
// there, and what was read of it stays true.
func TestMoveOfWhatWasThereFromTheStart(t *testing.T) {
	t.Parallel()
	m := newMover(t)
	const first = `SDK.Entities.PantryItem.all({filter: {status: "available"}, sort: "id"})[0]`
	var lot struct {
		ID     string
		Amount float64
	}
	read := m.Run(first, koantest.Input{Set: lake})
	read.ResultInto(&lot)
	require.JSONEq(t, string(read.Result), string(m.Run(first, koantest.Input{Set: lake}).Result))
	m.lot = lot.ID
	require.Equal(t, [2]float64{0, lot.Amount}, m.where())
	m.move(lake, "default", 2)
	require.Equal(t, [2]float64{lot.Amount, 0}, m.where())
	m.move(lake, "default", 1)
	require.Equal(t, [2]float64{lot.Amount, 0}, m.where())
}

// Of a lot that is partly used, what is left of it goes, wherever and whenever it was used.
func TestMoveOfPartlyUsedLot(t *testing.T) {
	t.Parallel()
	m := newMover(t)
	eat := func(set string, left int) { m.patch(set, fmt.Sprintf(`{amount: %d, reason: "eaten"}`, left)) }
	eat("default", 400)
	m.move("default", lake, 2)
	require.Equal(t, [2]float64{0, 400}, m.where())
	eat(lake, 300)
	m.move(lake, "default", 2)
	require.Equal(t, [2]float64{300, 0}, m.where())
	back := m.Run(`(l => [l.initialAmount, l.bestBefore, l.reason])(SDK.Entities.PantryItem.getById(SDK.args))`, koantest.Input{Args: m.lot})
	require.JSONEq(t, `[500, "2027-05-01", "moved"]`, string(back.Result))

	// Between the two calls it is in both: what is used of either is used.
	m.Run(m.script("default", lake), koantest.Input{})
	eat(lake, 250)
	m.move("default", lake, 1)
	require.Equal(t, [2]float64{0, 250}, m.where())
	m.Run(m.script(lake, "default"), koantest.Input{})
	eat(lake, 200)
	m.move(lake, "default", 2)
	require.Equal(t, [2]float64{200, 0}, m.where())

	// Somebody who thinks better of it between the two calls has it back.
	m.Run(m.script("default", lake), koantest.Input{})
	m.move(lake, "default", 1)
	require.Equal(t, [2]float64{200, 0}, m.where())
}

// What is in neither household, or came by the same id since, is not moved in silence.
func TestMoveOfWhatIsNotThere(t *testing.T) {
	t.Parallel()
	m := newMover(t)
	refused := func(want string) {
		t.Helper()
		_, err := m.TryAction("move", map[string]any{"lots": []string{m.lot}})
		require.ErrorContains(t, err, want)
		require.Equal(t, "/lots/0", fault.From(err).Path)
		require.NotEmpty(t, fault.From(err).Hint)
	}
	m.move("default", lake, 2)
	m.patch("default", `{amount: 100, status: "available"}`) // there was some left in the cupboard
	refused("was moved to lake-house and is there still")
	require.Equal(t, [2]float64{100, 500}, m.where())
	m.patch("default", `{amount: 0, status: "consumed"}`)
	m.patch(lake, `{amount: 0, status: "consumed"}`)
	refused("is not in the house any more")
	m.patch("default", `{amount: 100, status: "available"}`)
	m.move("default", lake, 2)
	require.Equal(t, [2]float64{0, 100}, m.where())
}
