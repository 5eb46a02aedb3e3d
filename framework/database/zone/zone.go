// Package zone knows the time zones of the IANA database by name, and when days begin in them.
//
// What belongs here: names of zones, local midnight, and the function of SQLite that says it. Not here:
// which rows are asked for, or how the other databases spell it.
package zone

import (
	_ "embed"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // the same zones on every machine

	"github.com/koan-go/koan/framework/fault"
)

// UTC is the zone in which times are kept.
const UTC = "UTC"

// Function is the function of SQLite that does what Bucket does: of a time as "2006-01-02 15:04:05" in UTC,
// a unit and the name of a zone. Its result is written as Koan's stores write times.
const Function = "koan_bucket"

//go:embed names.txt
var list string

// Names returns the names of all zones. Callers must not change the slice.
var Names = sync.OnceValue(func() []string { return strings.Fields(list) })

// known are the zones that were asked for: to load one takes longer than to group a row.
var known sync.Map // name -> *time.Location

// Load returns a zone by its name, as the IANA database spells it; ok is false for any other name.
func Load(name string) (loc *time.Location, ok bool) {
	if loc, ok := known.Load(name); ok {
		return loc.(*time.Location), true
	}
	for _, n := range Names() {
		if n == name {
			loc, err := time.LoadLocation(name)
			if err == nil {
				known.Store(name, loc)
			}
			return loc, err == nil
		}
	}
	return nil, false
}

// Suggestion returns `; did you mean "Europe/Berlin"?` for what is near the name of a zone, its city
// alone included; "" for anything else.
func Suggestion(name string) string {
	for _, n := range Names() {
		city := n[strings.LastIndexByte(n, '/')+1:]
		if strings.EqualFold(n, name) || strings.EqualFold(city, strings.ReplaceAll(name, " ", "_")) {
			return `; did you mean "` + n + `"?`
		}
	}
	return fault.DidYouMean(name, Names())
}

// Bucket returns when the day, week (from Monday), month or year begins in a zone into which a moment falls
// there: the first moment that has its date, which is not midnight where clocks skip that. unit is one of these words.
func Bucket(at time.Time, unit string, loc *time.Location) time.Time {
	year, month, day := at.In(loc).Date()
	switch unit {
	case "week":
		day -= (int(at.In(loc).Weekday()) + 6) % 7
	case "month":
		day = 1
	case "year":
		month, day = time.January, 1
	}
	return midnight(time.Date(year, month, day, 0, 0, 0, 0, time.UTC), loc)
}

// midnight returns the first moment that clocks in a zone show a time, which is given as if it were in UTC.
// Where they skip it, it is the moment at which they do.
func midnight(wall time.Time, loc *time.Location) time.Time {
	const apart = 24 * time.Hour // than which no two changes are nearer
	before, after := offset(wall.Add(-apart), loc), offset(wall.Add(apart), loc)
	first, second := wall.Add(-before), wall.Add(-after)
	if second.Before(first) {
		first, second = second, first
	}
	for _, at := range []time.Time{first, second} {
		if offset(at, loc) == wall.Sub(at) {
			return at
		}
	}
	return wall.Add(-before)
}

// offset returns by how much clocks in a zone are ahead of UTC at a moment.
func offset(at time.Time, loc *time.Location) time.Duration {
	_, seconds := at.In(loc).Zone()
	return time.Duration(seconds) * time.Second
}

// Value is Function; nil for what is no such time, unit or zone.
func Value(moment any, unit, name string) any {
	text, ok := moment.(string)
	if !ok {
		return nil
	}
	at, err := time.Parse(time.DateTime, strings.Replace(text, "T", " ", 1))
	loc, ok := Load(name)
	if err != nil || !ok {
		return nil
	}
	return Bucket(at, unit, loc).UTC().Format(time.DateTime + "+00:00")
}
