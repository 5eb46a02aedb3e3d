package zone_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/database/zone"
)

func TestEveryZoneThatIsNamedLoads(t *testing.T) {
	t.Parallel()
	for _, name := range zone.Names() {
		loc, ok := zone.Load(name)
		require.True(t, ok, name)
		require.Equal(t, name, loc.String())
	}
	for _, name := range []string{"", "Local", "berlin", "../Europe/Berlin", "Europe/Berlin'", "GMT+25"} {
		_, ok := zone.Load(name)
		require.False(t, ok, name)
	}
}

func TestSuggestion(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"Europe/Belrin": "Europe/Berlin", "europe/berlin": "Europe/Berlin", "Berlin": "Europe/Berlin", "New York": "America/New_York",
	} {
		require.Equal(t, `; did you mean "`+want+`"?`, zone.Suggestion(given), given)
	}
	require.Empty(t, zone.Suggestion("Middle-earth/Mordor"))
}

// A bucket begins with the first moment of its date, whatever clocks do then.
func TestBucketsBeginWithTheirFirstMoment(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, at, unit, zone, want string }{
		{"winter", "2026-01-15T12:00:00Z", "day", "Europe/Berlin", "2026-01-14T23:00:00Z"},
		{"summer", "2026-07-15T12:00:00Z", "day", "Europe/Berlin", "2026-07-14T22:00:00Z"},
		{"the evening before in UTC", "2026-07-14T22:30:00Z", "day", "Europe/Berlin", "2026-07-14T22:00:00Z"},
		{"a day of 23 hours", "2026-03-29T21:59:59Z", "day", "Europe/Berlin", "2026-03-28T23:00:00Z"},
		{"a day of 25 hours", "2026-10-25T22:59:59Z", "day", "Europe/Berlin", "2026-10-24T22:00:00Z"},
		{"a week over a change", "2026-03-29T21:59:59Z", "week", "Europe/Berlin", "2026-03-22T23:00:00Z"},
		{"a month over a change", "2026-03-31T21:59:59Z", "month", "Europe/Berlin", "2026-02-28T23:00:00Z"},
		{"a year", "2025-12-31T23:00:00Z", "year", "Europe/Berlin", "2025-12-31T23:00:00Z"},
		{"half an hour", "2026-01-15T18:29:59Z", "day", "Asia/Kolkata", "2026-01-14T18:30:00Z"},
		{"clocks skip midnight", "2018-11-04T12:00:00Z", "day", "America/Sao_Paulo", "2018-11-04T03:00:00Z"},
		{"midnight comes twice", "2025-11-02T12:00:00Z", "day", "America/Havana", "2025-11-02T04:00:00Z"},
		{"before the second midnight", "2025-11-02T04:30:00Z", "day", "America/Havana", "2025-11-02T04:00:00Z"},
		{"clocks go back into the day before", "2019-02-17T02:30:00Z", "day", "America/Sao_Paulo", "2019-02-16T02:00:00Z"},
		{"a day is skipped", "2011-12-30T10:30:00Z", "day", "Pacific/Apia", "2011-12-30T10:00:00Z"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			at, err := time.Parse(time.RFC3339, c.at)
			require.NoError(t, err)
			loc, ok := zone.Load(c.zone)
			require.True(t, ok)
			require.Equal(t, c.want, zone.Bucket(at, c.unit, loc).UTC().Format(time.RFC3339))
		})
	}
}

// FuzzBucket: a bucket has the moment in it, and is the bucket of its own beginning.
func FuzzBucket(f *testing.F) {
	f.Add(int64(1541289600), "day", "America/Sao_Paulo")
	f.Add(int64(1762056000), "week", "America/Havana")
	f.Add(int64(0), "year", "Europe/Berlin")
	f.Fuzz(func(t *testing.T, seconds int64, unit, name string) {
		loc, ok := zone.Load(name)
		if !ok || seconds < 0 || seconds > 4e9 { // before, clocks followed the sun, and changed as towns chose
			return
		}
		at := time.Unix(seconds, 0)
		start := zone.Bucket(at, unit, loc)
		require.False(t, start.After(at), "%s begins at %s", at, start)
		require.True(t, start.Equal(zone.Bucket(start, unit, loc)))
	})
}
