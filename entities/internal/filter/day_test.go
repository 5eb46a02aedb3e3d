package filter

import (
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// FuzzDay: what is taken for a day is one as it is written, and what is not says why.
func FuzzDay(f *testing.F) {
	for _, s := range []string{"2026-01-31", "2026-2-3", "2026-02-30", "0000-01-01", "9999-12-31", "2026-01-31T00:00:00Z", "2026-01-31x", "", "٢٠٢٦-01-31"} {
		f.Add(s)
	}
	form := regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}$`)
	f.Fuzz(func(t *testing.T, s string) {
		day, problem := parseDay(s)
		if problem != "" {
			require.False(t, form.MatchString(s) && validDay(s), "%q: %s", s, problem)
			return
		}
		require.Regexp(t, form, s)
		require.Equal(t, s, day.Format(time.DateOnly))
		require.Equal(t, time.UTC, day.Location())
		require.True(t, day.Year() >= 1 && day.Year() <= 9999)
	})
}

// validDay asks the calendar in another way: the day before the next one.
func validDay(s string) bool {
	at, err := time.ParseInLocation("2006-01-02 15:04:05", s+" 12:00:00", time.UTC)
	return err == nil && at.Year() >= 1 && at.AddDate(0, 0, 1).AddDate(0, 0, -1).Format(time.DateOnly) == s
}
