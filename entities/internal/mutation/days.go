package mutation

import (
	"context"
	"fmt"
	"time"

	"entgo.io/ent"

	"github.com/koan-go/koan/entities/internal/model"
)

// dayOf returns the date of a time in its own location, as midnight in UTC: the form in
// which both databases keep it as that day.
func dayOf(t time.Time) time.Time {
	year, month, day := t.Date()
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
}

// NormalizeTimes makes of the times that callers in Go, and ent's defaults, set what both
// databases keep.
func NormalizeTimes(k *model.Kind, m ent.Mutation) error {
	if err := normalizeDays(k, m); err != nil {
		return err
	}
	return roundTimes(k, m)
}

// normalizeDays makes days of the times that callers in Go, and ent's defaults, set in fields
// of days.
func normalizeDays(k *model.Kind, m ent.Mutation) error {
	for _, column := range k.Days {
		v, _ := m.Field(column)
		at, ok := v.(time.Time)
		if !ok {
			continue
		}
		day := dayOf(at)
		if day.Year() < 1 || day.Year() > 9999 {
			return fmt.Errorf("%s of %s is a day from 0001-01-01 to 9999-12-31, not one of the year %d", column, k.Type, day.Year())
		}
		if !at.Equal(day) || at.Location() != time.UTC {
			if err := k.Set(m, column, day); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkingDays is next, and an error where other hooks set a field of days to anything but
// midnight in UTC. They run after normalizeDays, and SQLite would keep the date that the time
// has in UTC, PostgreSQL the one that it has in its own location.
func checkingDays(k *model.Kind, next ent.Mutator) ent.Mutator {
	if len(k.Days) == 0 {
		return next
	}
	return ent.MutateFunc(func(ctx context.Context, m ent.Mutation) (ent.Value, error) {
		v, err := next.Mutate(ctx, m)
		if err != nil {
			return v, err
		}
		for _, column := range k.Days {
			set, _ := m.Field(column)
			if at, ok := set.(time.Time); ok && !at.Equal(dayOf(at)) {
				return nil, fmt.Errorf("a hook set %s of %s to %s: set a day to its midnight in UTC, as time.Date(year, month, day, 0, 0, 0, 0, time.UTC) does", column, k.Type, at.Format(time.RFC3339))
			}
		}
		return v, nil
	})
}
