package main

import "time"

var calendarOracles = map[string]oracle{
	"calendar-01": func(o *world, a map[string]string) []change {
		return cancel(head(o.on(dated(a["natural_language_date"]), anything)))
	},
	"calendar-02": func(o *world, a map[string]string) []change {
		day := o.on(dated(a["natural_language_date"]), anything)
		if len(day) == 0 {
			return nil
		}
		return []change{o.set("Event", day[len(day)-1].id, "name", a["event_name"])}
	},
	"calendar-03": func(o *world, a map[string]string) []change {
		for _, e := range o.on(dated(a["natural_language_date"]), with(o.person(a["name"]))) {
			later := e.startsAt.Add(time.Duration(length(a["duration"])) * time.Minute)
			return []change{updated("Event", e.id, "startsAt", moment(later))}
		}
		return nil
	},
	"calendar-04": func(o *world, a map[string]string) []change {
		return cancel(head(o.upcoming(called(a["event_name"]))))
	},
	"calendar-05": func(o *world, a map[string]string) []change {
		for _, e := range o.upcoming(called(a["event_name"])) {
			return []change{o.set("Event", e.id, "name", a["new_event_name"])}
		}
		return nil
	},
	"calendar-06": func(o *world, a map[string]string) []change {
		return cancel(head(o.upcoming(with(o.person(a["name"])))))
	},
	"calendar-07": func(o *world, a map[string]string) []change {
		who := o.person(a["name"])
		if who == "" || len(o.between(daysAgo(whole(a["duration"])), now, with(who))) > 0 {
			return nil
		}
		day := tomorrow
		for {
			if day.Weekday() != time.Saturday && day.Weekday() != time.Sunday {
				if at, ok := o.free(day, 30); ok {
					return []change{booked("catch-up", who, at, 30)}
				}
			}
			day = day.AddDate(0, 0, 1)
		}
	},
	"calendar-08": func(o *world, a map[string]string) []change {
		day := nextNamed(a["next_day"])
		at := clock(day, a["natural_language_time"])
		return cancel(o.on(day, func(e event) bool {
			if a["before_or_after"] == "before" {
				return e.startsAt.Before(at)
			}
			return e.startsAt.After(at)
		}))
	},
	"calendar-09": func(o *world, a map[string]string) []change { return cancel(o.upcoming(with(o.person(a["name"])))) },
	"calendar-10": func(o *world, a map[string]string) []change { return cancel(o.upcoming(called(a["event_name"]))) },
	"calendar-11": func(o *world, a map[string]string) []change {
		who := o.person(a["name"])
		if who == "" {
			return nil
		}
		return []change{booked(a["event_name"], who, clock(dated(a["natural_language_date"]), a["natural_language_time"]), length(a["duration"]))}
	},
}

// head is the first event of some, if there is one.
func head(events []event) []event { return events[:min(1, len(events))] }

func cancel(events []event) []change {
	var out []change
	for _, e := range events {
		out = append(out, deleted("Event", e.id))
	}
	return out
}
