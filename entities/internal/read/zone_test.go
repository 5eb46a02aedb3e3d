package read_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/entities/internal/library"
	"github.com/koan-go/koan/entities/internal/read"
	"github.com/koan-go/koan/framework/database/sqltext"
	"github.com/koan-go/koan/framework/database/zone"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/tests/pgtest"
)

// Both databases agree on when days begin, above all where clocks change.
func TestBucketsBeginAtLocalMidnight(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestBucketsBeginAtLocalMidnight) {
		return
	}
	data, moments := library.Data{}, map[string]time.Time{}
	for _, change := range []string{ // of clocks in one of the zones
		"2026-03-29T01:00:00Z", "2026-10-25T01:00:00Z", // Berlin
		"2018-11-04T03:00:00Z", "2019-02-17T02:00:00Z", // São Paulo, over midnight
		"2025-03-09T05:00:00Z", "2025-11-02T05:00:00Z", // Havana, over midnight and to it
		"2025-04-05T15:00:00Z", // Lord Howe, by half an hour
		"2011-12-30T10:00:00Z", // Apia, over a day
	} {
		at, err := time.Parse(time.RFC3339, change)
		require.NoError(t, err)
		for _, by := range []time.Duration{-25 * time.Hour, -90 * time.Minute, -30 * time.Minute, -time.Millisecond, 0, 30 * time.Minute, 90 * time.Minute, 25 * time.Hour} {
			id := fmt.Sprintf("b%03d", len(moments))
			moments[id] = at.Add(by)
			data.Books = append(data.Books, library.Book{ID: id, CreatedAt: at.Add(by)})
		}
	}
	db, e := open(t, data)
	for _, name := range []string{"Europe/Berlin", "America/Sao_Paulo", "America/Havana", "Australia/Lord_Howe", "Pacific/Apia", "Asia/Kolkata", "Etc/GMT+12", "UTC"} {
		loc, ok := zone.Load(name)
		require.True(t, ok)
		for _, unit := range []sqltext.Unit{sqltext.Day, sqltext.Week, sqltext.Month, sqltext.Year} {
			var out struct{ Rows []struct{ ID, Start string } }
			require.NoError(t, json.Unmarshal([]byte(aggregate(t, db, e, books, `{"groupBy":["id",{"field":"createdAt","by":"`+string(unit)+`","as":"start"}],"timeZone":"`+name+`","limit":1000}`)), &out))
			require.Len(t, out.Rows, len(moments))
			for _, r := range out.Rows {
				require.Equal(t, zone.Bucket(moments[r.ID], string(unit), loc).UTC().Format(time.RFC3339), r.Start, "the %s of %s in %s", unit, moments[r.ID], name)
			}
		}
	}
	got := aggregate(t, db, e, books, `{"groupBy":{"field":"createdAt","by":"day"},"timeZone":"Europe/Berlin","having":{"createdAtDay":{"$gte":"2026-10-25T22:59:59Z"}}}`)
	require.JSONEq(t, `{"rows":[{"createdAtDay":"2026-10-25T23:00:00Z","count":1}],"truncated":false}`, got, "a bucket is compared as a time")
}

func TestWrongTimeZones(t *testing.T) {
	t.Parallel()
	for given, says := range map[string]string{
		`"Europe/Belrin"`: `did you mean "Europe/Berlin"`, `"Tokyo"`: `did you mean "Asia/Tokyo"`, `"Local"`: "IANA", `""`: "IANA", `"+02:00"`: "IANA", `2`: "name of a time zone",
	} {
		_, err := read.DecodeAggregate([]byte(`{"timeZone":`+given+`}`), books, graph)
		f := fault.From(err)
		require.Equal(t, fault.InvalidPayload, f.Code)
		require.Equal(t, "/timeZone", f.Path)
		require.Contains(t, f.Message, says, given)
	}
}

// A driver of the app's own has none of Koan's functions.
func TestTimeZonesOfAnAppsOwnDriver(t *testing.T) {
	t.Parallel()
	db, _ := open(t, small())
	e := read.New(sqltext.SQLite{})
	a, err := read.DecodeAggregate([]byte(`{"groupBy":{"field":"createdAt","by":"day"},"timeZone":"Europe/Berlin"}`), books, graph)
	require.NoError(t, err)
	_, err = e.Aggregate(ctx, db, a)
	require.Equal(t, fault.CapabilityUnsupported, fault.CodeOf(err), "%v", err)
	aggregate(t, db, e, books, `{"groupBy":{"field":"createdAt","by":"day"},"timeZone":"UTC"}`)
	aggregate(t, db, e, books, `{"groupBy":{"field":"orderedOn","by":"week"},"timeZone":"Europe/Berlin"}`)
}
