package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	stdent "entgo.io/ent"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/tests/specimen/ent"
)

func TestDayRefusesEverythingElse(t *testing.T) {
	t.Parallel()
	if forEach(t, TestDayRefusesEverythingElse) {
		return
	}
	a := start(t, ent.Entities())
	for value, why := range map[string]string{
		`"2026-02-30"`:                    "the calendar has no such day",
		`"2025-02-29"`:                    "the calendar has no such day",
		`"2026-13-01"`:                    "the calendar has no such day",
		`"0000-01-01"`:                    "from 0001-01-01 to 9999-12-31",
		`"2026-2-3"`:                      `two digits for month and day: "2026-02-03"`,
		`"2026-01-31T00:00:00Z"`:          `takes a day, not a time: write "2026-01-31"`,
		`"2026-01-31T00:00:00.000Z"`:      `takes a day, not a time: write "2026-01-31"`,
		`"2026-01-31T23:30:00+02:00"`:     "takes a day, not a time",
		`"2026-01-31 00:00:00"`:           "without anything behind it",
		`"12026-01-31"`:                   "takes a day such as 2026-01-31",
		`"-001-01-31"`:                    "takes a day such as 2026-01-31",
		`"31.01.2026"`:                    "takes a day such as 2026-01-31",
		`"today"`:                         "takes a day such as 2026-01-31",
		`""`:                              "takes a day such as 2026-01-31",
		`1769817600000`:                   "takes a day such as 2026-01-31",
		`{"year":2026,"month":1,"day":1}`: "takes a day such as 2026-01-31",
	} {
		says(t, a.fails(fault.InvalidPayload, "Specimen.upsert", `{"model":{"day":`+value+`}}`), why)
		if !strings.HasPrefix(value, "{") {
			says(t, a.fails(fault.InvalidPayload, "Specimen.count", `{"filter":{"day":{"$gte":`+value+`}}}`), why)
			says(t, a.fails(fault.InvalidPayload, "Specimen.count", `{"filter":{"day":{"$between":["2026-01-01",`+value+`]}}}`), why)
		}
	}
	for filter, why := range map[string]string{
		`{"day":{"$startsWith":"2026"}}`: "does not apply", `{"day":{"$contains":"-01-"}}`: "does not apply", `{"day":["2026-01-31"]}`: "needs $in",
	} {
		says(t, a.fails(fault.InvalidPayload, "Specimen.count", `{"filter":`+filter+`}`), why)
	}
	says(t, a.fails(fault.InvalidPayload, "Specimen.aggregate", `{"sum":"day"}`), "is not a number")
	for _, day := range []string{"0001-01-01", "9999-12-31", "2024-02-29"} {
		id := a.call("Specimen.upsert", `{"model":{"day":"`+day+`"}}`)["id"]
		require.EqualValues(t, 1, a.call("Specimen.count", fmt.Sprintf(`{"filter":{"id":%q,"day":%q}}`, id, day))["count"])
	}
}

// zoned has the app's process and the sessions of its database in a time zone.
func zoned(t *testing.T, name string) (at string, zone *time.Location) {
	t.Helper()
	zone, err := time.LoadLocation(name)
	require.NoError(t, err)
	was := time.Local
	t.Setenv("TZ", name) // refuses parallel tests, which would share the zone
	time.Local = zone
	t.Cleanup(func() { time.Local = was })
	if at = place(t); postgres(t) {
		at += "&timezone=" + name
	}
	return at, zone
}

// Days stay what they are in every zone of the server and of the database's sessions, however
// they are written, also where the clock skips midnight.
func TestDayIsTheSameInEveryZone(t *testing.T) {
	if forEach(t, TestDayIsTheSameInEveryZone) {
		return
	}
	for _, name := range []string{"UTC", "Pacific/Auckland", "America/Los_Angeles", "America/Sao_Paulo", "Asia/Kolkata"} {
		for _, hooked := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s hooks=%t", name, hooked), func(t *testing.T) {
				place, zone := zoned(t, name)
				seed := func(ctx context.Context, _ string, c *ent.Client) error { // writes in Go, at the zone's own midnight
					return c.Specimen.Create().SetDay(time.Date(2018, 11, 10, 0, 0, 0, 0, zone)).Exec(ctx)
				}
				opts := []ent.EntitiesOption{ent.OnCreateSet(seed)}
				if hooked {
					opts = append(opts, ent.OnClient(func(c *ent.Client) { c.Use(passing) }))
				}
				a := startIn(t, place, ent.Entities(opts...))
				seeded := found(a.call("Specimen.collection", `{"filter":{"day":"2018-11-10"}}`))
				require.Len(t, seeded, 1)
				a.call("Specimen.delete", `{"id":"`+seeded[0]+`"}`)
				const day = "2018-11-04" // the clock of Sao Paulo went from 23:59 to 1:00
				id := a.call("Specimen.upsert", `{"model":{"day":"`+day+`"}}`)["id"].(string)
				next := a.call("Specimen.upsert-many", `{"models":[{"day":"2018-11-05"}]}`)["items"].([]any)[0].(map[string]any)["id"].(string)
				for filter, want := range map[string]int{
					`{"day":"2018-11-04"}`: 1, `{"day":{"$ne":"2018-11-04"}}`: 1, `{"day":{"$lt":"2018-11-04"}}`: 0, `{"day":{"$lte":"2018-11-04"}}`: 1, `{"day":{"$gt":"2018-11-04"}}`: 1,
					`{"day":{"$gte":"2018-11-05"}}`: 1, `{"day":{"$between":["2018-11-04","2018-11-04"]}}`: 1, `{"day":{"$in":["2018-11-04","2018-11-03"]}}`: 1, `{"day":{"$nin":["2018-11-04"]}}`: 1,
				} {
					require.EqualValues(t, want, a.call("Specimen.count", `{"filter":`+filter+`}`)["count"], filter)
				}
				require.Equal(t, day, a.call("Specimen.get-by-id", `{"id":"`+id+`"}`)["day"])
				require.Equal(t, day, a.call("Specimen.patch", `{"id":"`+id+`","changes":{"text":"x"}}`)["day"])
				for by, first := range map[string]string{"day": day, "week": "2018-10-29", "month": "2018-11-01", "year": "2018-01-01"} {
					rows := a.call("Specimen.aggregate", `{"groupBy":{"field":"day","by":"`+by+`","as":"d"},"min":"day","filter":{"day":"2018-11-04"},"having":{"d":"`+first+`"}}`)["rows"]
					require.Equal(t, []any{map[string]any{"d": first, "minDay": day}}, rows)
				}
				page := a.call("Specimen.collection", `{"sort":"day","pageSize":1,"fields":"day"}`)
				page = a.call("Specimen.collection", fmt.Sprintf(`{"sort":"day","pageSize":1,"fields":"day","cursor":%q}`, page["nextCursor"]))
				require.Equal(t, []string{next}, found(page))

				stored := a.entBeside(t).Specimen.GetX(t.Context(), uuid.MustParse(id)).Day
				require.True(t, stored.Equal(time.Date(2018, 11, 4, 0, 0, 0, 0, time.UTC)), stored)
				require.Equal(t, 1, a.number(`SELECT count(*) FROM specimen WHERE substr(CAST("day" AS TEXT),1,10) = '2018-11-04'`))
				changes, err := a.recorded("Specimen.patch", `{"id":"`+id+`","changes":{"day":"2018-11-03"}}`)
				require.NoError(t, err)
				require.Contains(t, string(changes[0].Before), `"day":"2018-11-04"`)
				require.Contains(t, string(changes[0].After), `"day":"2018-11-03"`)
			})
		}
	}
}

// A hook of the app sets what it likes; SQLite would keep another day of it than PostgreSQL.
func TestDayOfAHookIsMidnightInUTC(t *testing.T) {
	if forEach(t, TestDayOfAHookIsMidnightInUTC) {
		return
	}
	place, zone := zoned(t, "Pacific/Auckland")
	var set time.Time
	a := startIn(t, place, ent.Entities(ent.OnClient(func(c *ent.Client) {
		c.Specimen.Use(func(next stdent.Mutator) stdent.Mutator {
			return stdent.MutateFunc(func(ctx context.Context, m stdent.Mutation) (stdent.Value, error) {
				m.(*ent.SpecimenMutation).SetDay(set)
				return next.Mutate(ctx, m)
			})
		})
	})))
	set = time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC)
	require.Equal(t, "2026-01-31", a.call("Specimen.upsert", `{"model":{}}`)["day"])
	set = time.Date(2026, 1, 31, 0, 0, 0, 0, zone)
	_, _, err := a.try("Specimen.upsert", `{"model":{"text":"lost"}}`)
	require.ErrorContains(t, fault.From(err).Unwrap(), "a hook set day of Specimen to 2026-01-31T00:00:00+13:00")
	require.EqualValues(t, 1, a.call("Specimen.count", `{}`)["count"])
}

// Other programs keep days as texts in SQLite, and so does a column that was one of texts.
func TestDaysThatOthersKeepAsTexts(t *testing.T) {
	t.Parallel()
	if forEach(t, TestDaysThatOthersKeepAsTexts) {
		return
	}
	a := start(t, ent.Entities())
	a.call("Specimen.upsert-many", `{"models":[{"day":"2026-01-31","i":3},{"day":"2026-01-31","i":1},{"day":"2026-02-01","i":9},{"day":"2026-01-30","i":9}]}`)
	db := beside(a, a.place, "default")
	_, err := db.Exec(marks(t, `UPDATE specimen SET "day" = ? WHERE i = 1`), "2026-01-31")
	require.NoError(t, err)
	for filter, want := range map[string]int{
		`{"day":"2026-01-31"}`: 2, `{"day":{"$ne":"2026-01-31"}}`: 2, `{"day":{"$lt":"2026-01-31"}}`: 1, `{"day":{"$lte":"2026-01-31"}}`: 3, `{"day":{"$gt":"2026-01-31"}}`: 1,
		`{"day":{"$gte":"2026-01-31"}}`: 3, `{"day":{"$in":["2026-01-31"]}}`: 2, `{"$not":{"day":{"$lte":"2026-01-31"}}}`: 1,
	} {
		require.EqualValues(t, want, a.call("Specimen.count", `{"filter":`+filter+`}`)["count"], filter)
	}
	var sorted []any
	for page := map[string]any{"nextCursor": ""}; page["nextCursor"] != nil; {
		cursor := ""
		if page["nextCursor"] != "" {
			cursor = fmt.Sprintf(`,"cursor":%q`, page["nextCursor"])
		}
		page = a.call("Specimen.collection", `{"sort":"day,i","fields":"day,i","pageSize":1`+cursor+`}`)
		for _, item := range page["items"].([]any) {
			sorted = append(sorted, fmt.Sprint(item.(map[string]any)["day"], " ", item.(map[string]any)["i"]))
		}
	}
	require.Equal(t, []any{"2026-01-30 9", "2026-01-31 1", "2026-01-31 3", "2026-02-01 9"}, sorted)
	rows := a.call("Specimen.aggregate", `{"groupBy":"day","count":{"all":true,"distinct":"day"},"sort":"-count,day","limit":1}`)["rows"]
	require.Equal(t, []any{map[string]any{"day": "2026-01-31", "count": 2.0, "distinctDay": 1.0}}, rows)
}
