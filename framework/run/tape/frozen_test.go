package tape_test

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run/tape"
)

type color string

// coin shows nothing of itself in JSON, but has the two methods of a column's type.
type coin struct{ cents int64 }

func (c coin) Value() (driver.Value, error) { return c.cents, nil }

func (c *coin) Scan(v any) error {
	n, ok := v.(int64)
	if !ok {
		return fmt.Errorf("a coin of type %T", v)
	}
	c.cents = n
	return nil
}

// opaque loses what it holds in JSON, and has nothing else.
type opaque struct{ secret int }

func always(v any) func() (any, error) { return func() (any, error) { return v, nil } }

// Whatever a schema's default makes comes back from the bytes as the Go value that
// it was.
func TestTapeOutlivesTheProcess(t *testing.T) {
	made := tape.New(time.Now())
	values := map[string][2]any{ // what was generated, what is generated now
		"text":    {"a\x00b <é>", "other"},
		"flag":    {true, false},
		"clock":   {int64(math.MaxInt64), int64(1)},
		"int":     {7, 8},
		"uint8":   {uint8(200), uint8(1)},
		"float":   {0.1, 2.5},
		"uuid":    {uuid.MustParse("01a1f9af-86a5-7c6b-96f4-1eb5600f6428"), uuid.New()},
		"time":    {time.Now(), time.Now().Add(time.Hour)},
		"zone":    {time.Now().In(time.FixedZone("x", 3600)), time.Now()},
		"enum":    {color("red"), color("blue")},
		"bytes":   {[]byte{0, 1, 255}, []byte{}},
		"list":    {[]string{"a", "b"}, []string(nil)},
		"map":     {map[string]int{"a": 1}, map[string]int{}},
		"coin":    {coin{314}, coin{1}},
		"pointer": {&coin{314}, &coin{1}},
	}
	for slot, v := range values {
		_, err := made.Value("3.1", slot, always(v[0]))
		require.NoError(t, err)
	}
	wrong := fault.Invalid(fault.Detail{Path: "/a", Message: "one"}, fault.Detail{Path: "/b", Message: "two"})
	made.RecordOutside("1", [32]byte{1}, json.RawMessage(`{"n":1.0}`), nil)
	made.RecordOutside("1", [32]byte{2}, nil, wrong)
	made.RecordOutside("2", [32]byte{3}, nil, errors.New("a secret"))
	made.Occurrence("2", [32]byte{4})

	kept, err := made.Freeze()
	require.NoError(t, err)
	again, err := made.Freeze()
	require.NoError(t, err)
	require.Equal(t, string(kept), string(again), "the bytes depend on the tape alone")
	require.NotContains(t, string(kept), "a secret")

	back, err := tape.Thaw(kept)
	require.NoError(t, err)
	again, err = back.Freeze()
	require.NoError(t, err)
	require.Equal(t, string(kept), string(again), "also where nobody has asked for its values yet")
	require.True(t, made.Now().Equal(back.Now()))
	require.Equal(t, made.Seed(), back.Seed())
	for slot, v := range values {
		for range 2 {
			got, err := back.Value("3.1", slot, always(v[1]))
			require.NoError(t, err, slot)
			require.IsType(t, v[0], got, slot)
			if at, ok := v[0].(time.Time); ok {
				require.True(t, at.Equal(got.(time.Time)), slot)
				continue
			}
			require.Equal(t, v[0], got, slot)
		}
	}
	again, err = back.Freeze()
	require.NoError(t, err)
	require.Equal(t, string(kept), string(again), "and after they were read")

	out, err, ok := back.Outside("1", [32]byte{1})
	require.True(t, ok)
	require.NoError(t, err)
	require.Equal(t, `{"n":1.0}`, string(out))
	_, err, ok = back.Outside("1", [32]byte{2})
	require.True(t, ok)
	require.Equal(t, wrong, fault.From(err))
	_, err, ok = back.Outside("2", [32]byte{3})
	require.True(t, ok)
	require.Equal(t, fault.Internal, fault.CodeOf(err))
	_, _, ok = back.Outside("2", [32]byte{4})
	require.False(t, ok)
	require.Equal(t, 1, back.Occurrence("2", [32]byte{4}))

	v, err := back.Value("9", "new", always("made now"))
	require.NoError(t, err)
	require.Equal(t, "made now", v, "a thawed tape goes on")
}

func TestTapeRefusesWhatWouldBeLost(t *testing.T) {
	for name, v := range map[string]any{"unexported": opaque{1}, "not a number": math.NaN(), "nil": nil, "a function": func() {}} {
		made := tape.New(time.Now())
		_, err := made.Value("1", "slot", always(v))
		require.NoError(t, err)
		_, err = made.Freeze()
		require.Equal(t, fault.CapabilityUnsupported, fault.CodeOf(err), name)
	}
	made := tape.New(time.Now())
	_, err := made.Value("1", "slot", always(uuid.New()))
	require.NoError(t, err)
	kept, err := made.Freeze()
	require.NoError(t, err)
	back, err := tape.Thaw(kept)
	require.NoError(t, err)
	_, err = back.Value("1", "slot", always(12))
	require.ErrorContains(t, err, "uuid.UUID where a int is generated now", "the schema is another one by now")
	_, err = back.Value("1", "slot", func() (any, error) { return nil, context.Canceled })
	require.ErrorIs(t, err, context.Canceled)
}

func TestThawRefuses(t *testing.T) {
	digest := fmt.Sprintf("%064d", 1)
	body := func(values, outside string) string {
		return `{"version":1,"now":"2026-01-02T03:04:05Z","seed":"1","values":[` + values + `],"outside":[` + outside + `]}`
	}
	_, err := tape.Thaw([]byte(body("", "")))
	require.NoError(t, err)
	for name, in := range map[string]string{
		"nothing":          "",
		"no object":        "[]",
		"another version":  `{"version":2,"now":"2026-01-02T03:04:05Z","seed":"1","values":[],"outside":[]}`,
		"an end":           body("", "") + "x",
		"unknown member":   `{"version":1,"more":1}`,
		"position":         body(`{"at":"1..2","slot":"s","kind":"bool","value":true}`, ""),
		"long position":    body(`{"at":"`+fmt.Sprintf("%0300d", 1)+`","slot":"s","kind":"bool","value":true}`, ""),
		"no value":         body(`{"at":"1","slot":"s"}`, ""),
		"null":             body(`{"at":"1","slot":"s","kind":"bool","value":null}`, ""),
		"wrong kind":       body(`{"at":"1","slot":"s","kind":"bool","value":"x"}`, ""),
		"unknown kind":     body(`{"at":"1","slot":"s","kind":"x","value":1}`, ""),
		"too large number": body(`{"at":"1","slot":"s","kind":"int64","value":"9223372036854775808"}`, ""),
		"twice":            body(`{"at":"1","slot":"s","kind":"bool","value":true},{"at":"1","slot":"s","kind":"bool","value":true}`, ""),
		"digest":           body("", `{"at":"1","digest":"00"}`),
		"call twice":       body("", `{"at":"1","digest":"`+digest+`"},{"at":"1","digest":"`+digest+`"}`),
		"no end":           body("", `{"at":"1","digest":"`+digest+`","output":1}`),
	} {
		_, err := tape.Thaw([]byte(in))
		require.ErrorIs(t, err, tape.ErrFormat, name)
	}
}

// Whatever somebody wrote into the ledger: no panic, and what is a tape stays the
// same through another freezing.
func FuzzThaw(f *testing.F) {
	made := tape.New(time.Now())
	for slot, v := range map[string]any{"a": "x", "b": int64(1), "c": true, "d": uuid.New(), "e": coin{5}} {
		_, _ = made.Value("1.2", slot, always(v))
	}
	made.RecordOutside("1", [32]byte{1}, json.RawMessage(`{"a":[1]}`), nil)
	made.RecordOutside("1", [32]byte{2}, nil, fault.Invalid(fault.Detail{Path: "/a", Message: "m"}))
	kept, err := made.Freeze()
	require.NoError(f, err)
	f.Add(kept)
	f.Add([]byte(`{"version":1,"now":"2026-01-02T03:04:05Z","seed":"1","values":[{"at":"","slot":"s","kind":"value:time.Time","type":"uuid.UUID","value":"x"}],"outside":[]}`))
	f.Add([]byte(`{}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		made, err := tape.Thaw(b)
		if err != nil {
			require.ErrorIs(t, err, tape.ErrFormat)
			return
		}
		for _, v := range []any{uuid.UUID{}, coin{}, &coin{}, time.Time{}, 1, []byte{}} {
			_, _ = made.Value("", "s", always(v))
			_, _ = made.Value("1.2", "d", always(v))
		}
		one, err := made.Freeze()
		if err != nil {
			return // what it holds is no value of its type
		}
		back, err := tape.Thaw(one)
		require.NoError(t, err, "%s", one)
		two, err := back.Freeze()
		require.NoError(t, err)
		require.Equal(t, string(one), string(two))
	})
}
