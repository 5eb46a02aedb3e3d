package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/tests/specimen/ent"
)

// A UUID is the same in capital letters, wherever it is given, and comes back in small ones.
func TestUUIDsInCapitalLetters(t *testing.T) {
	t.Parallel()
	if forEach(t, TestUUIDsInCapitalLetters) {
		return
	}
	const id, ref = "0198c0de-0000-7000-8000-00000000abcd", "0198c0de-0000-7000-8000-0000000000ef"
	large, largeRef := strings.ToUpper(id), strings.ToUpper(ref)
	a := start(t, ent.Entities())
	made := a.call("Specimen.upsert", fmt.Sprintf(`{"model":{"id":%q,"ref":%q,"i":1}}`, large, largeRef))
	require.Equal(t, id, made["id"])
	require.Equal(t, ref, made["ref"])
	require.Equal(t, id, a.call("Specimen.upsert", fmt.Sprintf(`{"model":{"id":%q,"i":2}}`, id))["id"])
	require.EqualValues(t, 1, a.call("Specimen.count", `{}`)["count"], "it is the same row")
	require.EqualValues(t, 1, a.number(fmt.Sprintf(`SELECT count(*) FROM specimen WHERE id = '%s' AND ref = '%s'`, id, ref)), "as it is kept")
	for _, given := range []string{id, large, strings.ToUpper(id[:10]) + id[10:]} {
		require.EqualValues(t, 2, a.call("Specimen.get-by-id", fmt.Sprintf(`{"id":%q}`, given))["i"], given)
		require.Equal(t, id, a.call("Specimen.patch", fmt.Sprintf(`{"id":%q,"changes":{"ref":%q}}`, given, largeRef))["id"], given)
	}
	for _, filter := range []string{`{"id":%[1]q}`, `{"id":{"$in":[%[1]q]}}`, `{"id":{"$nin":[%[1]q]}}`, `{"id":{"$ne":%[1]q}}`, `{"ref":%[2]q}`, `{"ref":{"$eq":%[2]q}}`, `{"ref":{"$in":[%[2]q]}}`, `{"ref":{"$ne":%[2]q}}`} {
		want := 1
		if strings.Contains(filter, "$n") {
			want = 0
		}
		for _, given := range [][2]string{{id, ref}, {large, largeRef}} {
			text := fmt.Sprintf(filter, given[0], given[1])
			text, _, _ = strings.Cut(text, "%!(EXTRA")
			require.EqualValues(t, want, a.call("Specimen.count", `{"filter":`+text+`}`)["count"], text)
		}
	}
	many := a.call("Specimen.upsert-many", fmt.Sprintf(`{"models":[{"id":%q,"i":3}]}`, large))
	require.Len(t, many["items"], 1)
	require.EqualValues(t, 1, a.call("Specimen.delete", fmt.Sprintf(`{"id":%q}`, large))["deleted"])
	require.EqualValues(t, 0, a.call("Specimen.count", `{}`)["count"])
}
