package shim

import (
	"encoding/json"
	"math/big"
	"testing"
	"unicode/utf8"

	"entgo.io/ent/schema/field"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/tests/specimen/owned"
)

// setter stands for a mutation's typed setter.
func setter[T any](struct{}, T) {}

var scanner field.TypeValueScanner[*big.Int] = field.TextValueScanner[*big.Int]{}

var forms = map[string]descriptor.Form{
	"text":    NewForm(setter[owned.Decimal], AsText, nil),
	"is":      NewForm(setter[owned.Secret], AsIs, nil),
	"kept":    NewForm(setter[owned.Phone], AsKept, nil),
	"bytes":   NewForm(setter[owned.ID], AsText, nil),
	"level":   NewForm(setter[owned.Level], AsKept, nil),
	"scanner": NewForm(setter[*big.Int], AsText, &scanner),
}

// FuzzForms: any text is refused, or is the same however often it is kept and shown.
func FuzzForms(f *testing.F) {
	for _, s := range []string{"", "12.50", "-0.00", "+41 555", "cab_000102030405060708090a0b0c0d0e0f", "LOW", "123456789012345678901234567890", "\xff", "1e9"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if !utf8.ValidString(s) || len(s) > 256 { // JSON has no such texts, and long ones take the types of the test long
			return
		}
		for name, form := range forms {
			seen, err := form.Canonical(s)
			if err != nil {
				_, err := form.Bind(s)
				require.Error(t, err, name)
				continue
			}
			held, err := form.Bind(s)
			require.NoError(t, err, name)
			shown, err := form.Show(held)
			require.NoError(t, err, "%s: %q was kept as %v", name, s, held)
			require.Equal(t, seen, shown, "%s: %q was kept as %v", name, s, held)
			again, err := form.Canonical(seen)
			require.NoError(t, err, name)
			require.Equal(t, seen, again, name)
		}
	})
}

func TestFormsSet(t *testing.T) {
	var point owned.Point
	form := NewForm(setter[owned.Point], AsJSON, nil)
	require.NoError(t, form.Set(json.RawMessage(`{"x":1,"y":2}`), func(p owned.Point) { point = p }))
	require.Equal(t, owned.Point{X: 1, Y: 2}, point)
	require.NoError(t, form.Set(owned.Point{X: 3}, func(p owned.Point) { point = p }), "one of the type")
	require.Equal(t, 3, point.X)
	for _, bad := range []any{nil, "x", json.RawMessage(`{"z":1}`), json.RawMessage(`[]`)} {
		require.Error(t, form.Set(bad, func(owned.Point) { t.Fatal("it was set") }), "%v", bad)
	}
	shown, err := form.Show("4;5")
	require.NoError(t, err)
	require.Equal(t, json.RawMessage(`{"x":4,"y":5}`), shown)

	narrow := NewForm(setter[owned.Cents], AsIs, nil)
	require.ErrorContains(t, narrow.Set("x", func(owned.Cents) {}), "want a value")
	require.NoError(t, narrow.Set(int64(5), func(c owned.Cents) { require.EqualValues(t, 5, c) }))
	_, err = narrow.Bind(int64(5))
	require.ErrorContains(t, err, "has no Value")
}

func TestIDsOfOwnTypes(t *testing.T) {
	ids := OwnIDs(NewForm(setter[owned.ID], AsText, nil))
	const text = "cab_000102030405060708090a0b0c0d0e0f"
	id, err := ids.ParseID(text)
	require.NoError(t, err)
	require.Equal(t, text, ids.FormatID(id))
	held, err := ids.BindID(id)
	require.NoError(t, err)
	require.Len(t, held, 16)
	again, err := ids.ScanID(held)
	require.NoError(t, err)
	require.Equal(t, id, again)
	_, err = ids.ParseID("")
	require.Error(t, err)
	require.Equal(t, "a", TextIDs[owned.Slug]().FormatID(owned.Slug("a")), "what it is, not what String says")
}
