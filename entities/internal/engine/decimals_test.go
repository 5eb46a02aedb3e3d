package engine_test

import (
	"context"
	"fmt"
	"testing"

	stdent "entgo.io/ent"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/tests/specimen/ent"
	"github.com/koan-go/koan/tests/specimen/owned"
)

// longDecimals are decimals that no binary number holds.
var longDecimals = []string{"12345678901234567.89", "1000000000000000.01", "0.12345678901234567891", "-99999999999999999999", "9223372036854775809"}

// What SQLite cannot keep in a column of numbers is refused, on every path that writes;
// PostgreSQL keeps it.
func TestDecimalsAreKeptOrRefused(t *testing.T) {
	t.Parallel()
	if forEach(t, TestDecimalsAreKeptOrRefused) {
		return
	}
	for name, opts := range map[string][]ent.EntitiesOption{"plain": nil, "hooked": {ent.OnClient(func(c *ent.Client) { c.Use(passing) })}} {
		t.Run(name, func(t *testing.T) {
			a := start(t, ent.Entities(opts...)).within(t)
			id := a.call("Specimen.upsert", `{"model":{"fee":"1.25"}}`)["id"]
			writes := map[string][2]string{ // with the path of the value
				"Specimen.upsert":          {`{"model":{"fee":%q}}`, "/model/fee"},
				"Specimen.upsert-many":     {`{"models":[{"fee":"1"},{"fee":%q}]}`, "/models/1/fee"},
				"Specimen.patch":           {fmt.Sprintf(`{"id":%q,"changes":{"fee":%%q}}`, id), "/changes/fee"},
				"Specimen.update-by-query": {fmt.Sprintf(`{"filter":{"id":%q},"changes":{"fee":%%q}}`, id), "/changes/fee"},
			}
			for _, v := range longDecimals {
				for op, w := range writes {
					if postgres(t) {
						a.call(op, fmt.Sprintf(w[0], v))
						continue
					}
					f := a.fails(fault.InvalidPayload, op, fmt.Sprintf(w[0], v))
					require.Equal(t, w[1], f.Path, "%s %s", op, v)
					says(t, f, v)
					require.Contains(t, f.Hint, "SchemaType")
				}
				if !postgres(t) {
					require.Equal(t, "1.25", a.call("Specimen.get-by-id", fmt.Sprintf(`{"id":%q}`, id))["fee"])
				}
			}
			for _, v := range []string{"0", "-0.5", "123456789012.345", "9223372036854775807", "-9223372036854775808", "999999999999999", "0.000000123456789012345", "0.30000000000000004"} {
				got := a.call("Specimen.upsert", fmt.Sprintf(`{"model":{"fee":%q}}`, v))
				require.Equal(t, v, got["fee"])
				require.EqualValues(t, 1, a.call("Specimen.count", fmt.Sprintf(`{"filter":{"fee":%q,"id":%q}}`, v, got["id"]))["count"], v)
				require.Equal(t, v, a.call("Specimen.patch", fmt.Sprintf(`{"id":%q,"changes":{"fee":%q}}`, got["id"], v))["fee"])
			}
		})
	}
}

// The app's own code gets an error for them, in its hooks as well.
func TestDecimalsOfTheAppsCodeAreKeptOrRefused(t *testing.T) {
	t.Parallel()
	a := start(t, ent.Entities(ent.OnClient(func(c *ent.Client) {
		c.Specimen.Use(func(next stdent.Mutator) stdent.Mutator {
			return stdent.MutateFunc(func(ctx context.Context, m stdent.Mutation) (stdent.Value, error) {
				var fee owned.Decimal
				if err := fee.UnmarshalText([]byte("12345678901234567.89")); err != nil {
					return nil, err
				}
				m.(*ent.SpecimenMutation).SetFee(fee)
				return next.Mutate(ctx, m)
			})
		})
	})))
	f := a.fails(fault.InvalidPayload, "Specimen.upsert", `{"model":{"text":"x"}}`)
	require.Equal(t, "/model/fee", f.Path)
	require.Zero(t, a.number(`SELECT count(*) FROM specimen`))
}

// Equal are decimals that are the same number, whatever digits they have and however they
// are kept.
func TestDecimalsAreEqualToTheLastDigit(t *testing.T) {
	t.Parallel()
	if forEach(t, TestDecimalsAreEqualToTheLastDigit) {
		return
	}
	a := start(t, ent.Entities())
	kept := []string{"1.0000000000000001", "1.0000000000000002", "1", "1.50", "-12345678901234567.89", "12345678901234567.89", "9007199254740993", "0.0", "-0.00000000000000000"}
	for _, v := range kept {
		a.call("Specimen.upsert", fmt.Sprintf(`{"model":{"price":%q,"amount":%q,"text":"x"}}`, v, v))
	}
	a.call("Specimen.upsert", `{"model":{}}`)
	for v, want := range map[string]int{
		"1.0000000000000001": 1, "1.00000000000000010000": 1, "1.00000000000000015": 0, "1": 1, "1.00000000000000000000": 1, "1.5": 1, "15e-1": 1, "1.5000000000000000000000": 1,
		"12345678901234567.89": 1, "12345678901234567.88": 0, "12345678901234568": 0, "-12345678901234567.890": 1, "9007199254740993": 1, "9007199254740992": 0, "0": 2, "0.000": 2,
	} {
		for _, field := range []string{"price", "amount"} {
			count := func(filter string) any { return a.call("Specimen.count", `{"filter":`+filter+`}`)["count"] }
			require.EqualValues(t, want, count(fmt.Sprintf(`{%q:%q}`, field, v)), "%s %s", field, v)
			require.EqualValues(t, want, count(fmt.Sprintf(`{%q:{"$in":[%q,"777"]}}`, field, v)), "%s %s", field, v)
			require.EqualValues(t, len(kept)+1-want, count(fmt.Sprintf(`{%q:{"$ne":%q}}`, field, v)), "%s %s", field, v)
			require.EqualValues(t, len(kept)+1-want, count(fmt.Sprintf(`{%q:{"$nin":[%q,"777"]}}`, field, v)), "%s %s", field, v)
			require.EqualValues(t, want+1, count(fmt.Sprintf(`{%q:{"$in":[%q,null]}}`, field, v)), "%s %s", field, v)
		}
	}
	// A column of numbers has none that is equal to what it cannot keep.
	a.call("Specimen.upsert", `{"model":{"fee":"1"}}`)
	require.EqualValues(t, 0, a.call("Specimen.count", `{"filter":{"fee":"1.00000000000000000001"}}`)["count"])
	require.EqualValues(t, 1, a.call("Specimen.count", `{"filter":{"fee":"1.0000"}}`)["count"])
}
