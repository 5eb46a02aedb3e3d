package engine_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/tests/specimen/ent"
)

func TestValidatorsOfEntSayTheirLimit(t *testing.T) {
	t.Parallel()
	if forEach(t, TestValidatorsOfEntSayTheirLimit) {
		return
	}
	for name, opts := range hookings {
		t.Run(name, func(t *testing.T) {
			a := start(t, ent.Entities(opts...))
			a.call("NickName.upsert", `{"model":{"id":"1","serialNo":"a"}}`)
			a.call("Slot.upsert", `{"model":{"shelf":"s","place":1}}`)
			for _, c := range []struct{ entity, field, value, want string }{
				{"Renamed", "title", `"x"`, "title must have at least 2 characters, not 1"},
				{"Renamed", "title", `""`, "title must have at least 2 characters, not 0"},
				{"NickName", "motto", `"ab"`, "motto must have at least 3 characters, not 2"},
				{"NickName", "motto", `"ééé ééé"`, "motto must have at most 5 characters, not 7"},
				{"NickName", "plate", `"ÄÖÜÄ"`, "plate must have at most 6 bytes of UTF-8, not 8"},
				{"NickName", "plate", `"a"`, "plate does not match the pattern that the app checks"},
				{"NickName", "score", `0.25`, "score must be from 0.5 to 9.75, not 0.25"},
				{"NickName", "score", `-1e300`, "score must be from 0.5 to 9.75, not -1e+300"},
				{"NickName", "score", `10`, "score must be from 0.5 to 9.75, not 10"},
				{"NickName", "bornIn", `3`, "bornIn must be from 1900 to 2100, not 3"},
				{"NickName", "seal", `"AAECAwQF"`, "seal must have at most 4 bytes, not 6"},
				{"Slot", "place", `-3`, "place must be at least 0, not -3"},
			} {
				model := fmt.Sprintf(`{"model":{"id":"9","serialNo":"z",%q:%s}}`, c.field, c.value)
				if c.entity == "Slot" {
					model = fmt.Sprintf(`{"model":{"shelf":"t",%q:%s}}`, c.field, c.value)
				}
				f := a.fails(fault.InvalidPayload, c.entity+".upsert", model)
				require.Equal(t, "/model/"+c.field, f.Path)
				require.Equal(t, c.want, f.Message)
				if c.entity == "NickName" && c.field != "bornIn" {
					f = a.fails(fault.InvalidPayload, "NickName.patch", fmt.Sprintf(`{"id":"1","changes":{%q:%s}}`, c.field, c.value))
					require.Equal(t, "/changes/"+c.field, f.Path)
					require.Equal(t, c.want, f.Message)
				}
			}
			says(t, a.fails(fault.InvalidPayload, "NickName.upsert-many", `{"models":[{"id":"2","serialNo":"b","score":99},{"id":"3","serialNo":"c","motto":"x"}]}`), "score must be from 0.5 to 9.75, not 99")
			require.EqualValues(t, 1, a.call("NickName.count", `{}`)["count"], "nothing was stored")
		})
	}
}
