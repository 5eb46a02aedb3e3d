package main

import (
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/koan-go/koan/tests/workbench/ent/schema"
)

// An oracle returns what a template's request has to change, worked out in Go from the
// tables and from what holds in that office. The scripts were not looked at.
type oracle func(o *world, a map[string]string) []change

// oracles are those of all templates, by script.
var oracles = map[string]oracle{}

func init() {
	for _, domain := range []map[string]oracle{analyticsOracles, calendarOracles, crmOracles, emailOracles, projectOracles, multiOracles, metricOracles} {
		for name, o := range domain {
			oracles[name] = o
		}
	}
}

var (
	now       = schema.Now()
	today     = now.Format(time.DateOnly)
	yesterday = now.AddDate(0, 0, -1).Format(time.DateOnly)
	tomorrow  = now.AddDate(0, 0, 1)
)

func daysAgo(n int) time.Time { return now.AddDate(0, 0, -n) }

func whole(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		panic(err)
	}
	return n
}

// dated is a day such as "November 21": of this year, which is what the tables know.
func dated(s string) time.Time {
	at, err := time.Parse("January 2 2006", s+" 2023")
	if err != nil {
		panic(err)
	}
	return at
}

func isoDay(s string) string { return dated(s).Format(time.DateOnly) }

func sameDay(a, b time.Time) bool { return a.Format(time.DateOnly) == b.Format(time.DateOnly) }

// The next and the last day of the week that has a name, today not among them.
func nextNamed(name string) time.Time { return named(name, 1) }
func lastNamed(name string) time.Time { return named(name, -1) }

func named(name string, step int) time.Time {
	at := now.AddDate(0, 0, step)
	for !strings.EqualFold(at.Weekday().String(), name) {
		at = at.AddDate(0, 0, step)
	}
	return at
}

// nextFriday is "next Friday": not tomorrow's, but that of the next week.
const nextFriday = "2023-12-08"

// clock is a day at a time such as "2:30", which is the one in working hours.
func clock(day time.Time, s string) time.Time {
	hour, minute, _ := strings.Cut(s, ":")
	if minute == "" {
		minute = "0"
	}
	h := whole(hour)
	for _, working := range []int{1, 2, 3, 4, 5, 6, 7, 8} {
		if h == working {
			h += 12
			break
		}
	}
	return day.Add(time.Duration(h)*time.Hour + time.Duration(whole(minute))*time.Minute)
}

// length is that of "30 minute" or "1.5 hour".
func length(s string) int {
	number, unit, _ := strings.Cut(s, " ")
	n, err := strconv.ParseFloat(number, 64)
	if err != nil {
		panic(err)
	}
	if unit == "hour" {
		n *= 60
	}
	return int(n)
}

// employees returns the addresses that the directory has for a first name.
func (o *world) employees(name string) []string {
	var found []string
	for _, e := range o.directory {
		if first(e) == strings.ToLower(name) {
			found = append(found, e)
		}
	}
	return found
}

// employee returns an employee's address, "" where nobody or several are meant.
func (o *world) employee(name string) string { return only(o.employees(name)) }

// only returns the only one there is, "" where there are none or several.
func only(found []string) string {
	if len(found) == 1 {
		return found[0]
	}
	return ""
}

// person returns somebody's address: an employee's, else that of the one customer with the
// first name, "" where nobody or several are meant.
func (o *world) person(name string) string {
	found := o.employees(name)
	if len(found) > 0 {
		return only(found)
	}
	for _, c := range o.customers {
		if strings.EqualFold(strings.Fields(c.name)[0], name) {
			found = append(found, c.email)
		}
	}
	return only(found)
}

// upcoming are the events from now on that fit, in their order.
func (o *world) upcoming(fits func(event) bool) []event {
	return o.between(now, now.AddDate(100, 0, 0), fits)
}

// on are the events of a day that fit, in their order.
func (o *world) on(day time.Time, fits func(event) bool) []event {
	return o.between(day, day.AddDate(0, 0, 1), fits)
}

// between are the events that begin at from or later, and before to.
func (o *world) between(from, to time.Time, fits func(event) bool) []event {
	var out []event
	for _, e := range o.events {
		if !e.startsAt.Before(from) && e.startsAt.Before(to) && fits(e) {
			out = append(out, e)
		}
	}
	slices.SortFunc(out, func(a, b event) int { return a.startsAt.Compare(b.startsAt) })
	return out
}

func anything(event) bool { return true }
func with(participant string) func(event) bool {
	return func(e event) bool { return e.participant == participant }
}

func called(name string) func(event) bool {
	return func(e event) bool { return strings.EqualFold(e.name, name) }
}

// free returns the first gap in a day's working hours, by trying each minute.
func (o *world) free(day time.Time, minutes int) (time.Time, bool) {
	busy := make([]bool, 24*60)
	for _, e := range o.events { // one may have begun on an earlier day
		begins := int(e.startsAt.Sub(day).Minutes())
		for m := max(0, begins); m < begins+e.minutes && m < len(busy); m++ {
			busy[m] = true
		}
	}
	for m := 9 * 60; m+minutes <= 18*60; m++ {
		if !slices.Contains(busy[m:m+minutes], true) {
			return day.Add(time.Duration(m) * time.Minute), true
		}
	}
	return time.Time{}, false
}

// inbox are the mails that fit, the oldest first.
func (o *world) inbox(fits func(mail) bool) []mail {
	var out []mail
	for _, m := range o.mails {
		if m.box == "inbox" && fits(m) {
			out = append(out, m)
		}
	}
	slices.SortFunc(out, func(a, b mail) int { return a.sentAt.Compare(b.sentAt) })
	return out
}

func about(subject string) func(mail) bool {
	return func(m mail) bool { return strings.Contains(strings.ToLower(m.subject), strings.ToLower(subject)) }
}

// metric is a metric on each day from one until yesterday; the average of a day without
// visits is nil.
func (o *world) metric(name, since string) []*big.Rat {
	type sums struct{ visits, seconds, engaged int64 }
	days := map[string]*sums{}
	for _, v := range o.visits {
		if v.date < since {
			continue
		}
		if days[v.date] == nil {
			days[v.date] = &sums{}
		}
		d := days[v.date]
		d.visits++
		d.seconds += int64(v.seconds)
		if v.engaged {
			d.engaged++
		}
	}
	var out []*big.Rat
	for day := since; day <= yesterday; day = next(day) {
		d := days[day]
		if d == nil {
			d = &sums{}
		}
		switch name {
		case "total visits":
			out = append(out, big.NewRat(d.visits, 1))
		case "engaged users":
			out = append(out, big.NewRat(d.engaged, 1))
		case "average session duration":
			if d.visits == 0 {
				out = append(out, nil)
				continue
			}
			out = append(out, big.NewRat(d.seconds, d.visits))
		default:
			panic("no metric " + name)
		}
	}
	return out
}

func next(day string) string {
	at, err := time.Parse(time.DateOnly, day)
	if err != nil {
		panic(err)
	}
	return at.AddDate(0, 0, 1).Format(time.DateOnly)
}

// ever reports whether the metric of a request was more, or less, than its threshold.
func (o *world) ever(a map[string]string, since string) bool {
	name, more := metricAsked(a)
	for _, v := range o.metric(name, since) {
		if v == nil {
			continue
		}
		c := v.Cmp(big.NewRat(int64(whole(a["threshold"])), 1))
		if more && c > 0 || !more && c < 0 {
			return true
		}
	}
	return false
}

// metricAsked returns the metric, and whether more is asked for: the words of "total
// visits more" may be split in another place.
func metricAsked(a map[string]string) (string, bool) {
	all := a["natural_language_metric"] + " " + a["more_or_less"]
	if name, ok := strings.CutSuffix(all, " more"); ok {
		return name, true
	}
	return strings.TrimSuffix(all, " less"), false
}

// exceeds reports whether one value is more than so many percent above, or below, another.
func exceeds(value, base *big.Rat, percent string, higher bool) bool {
	if value == nil || base == nil {
		return false
	}
	p, ok := new(big.Rat).SetString(strings.TrimSuffix(percent, "%"))
	if !ok {
		panic(percent)
	}
	change := new(big.Rat).Sub(value, base)
	if !higher {
		change.Neg(change)
	}
	limit := new(big.Rat).Mul(base, p.Quo(p, big.NewRat(100, 1)))
	return change.Cmp(limit) > 0
}

// grewMore reports whether one metric grew by more, in percent, than another. From nothing
// to something is more than any percentage, and from nothing to nothing is none.
func (o *world) grewMore(one, other, since string) bool {
	growth := func(name string) (percentage *big.Rat, endless, undefined bool) {
		v := o.metric(name, since)
		was, is := v[0], v[len(v)-1]
		if was == nil || is == nil {
			return nil, false, true
		}
		if was.Sign() == 0 {
			return new(big.Rat), is.Sign() > 0, is.Sign() == 0
		}
		grown := new(big.Rat).Sub(is, was)
		return grown.Quo(grown, was), false, false
	}
	a, aEndless, aUndefined := growth(one)
	b, bEndless, bUndefined := growth(other)
	if aUndefined || bUndefined || bEndless {
		return false
	}
	return aEndless || a.Cmp(b) > 0
}

// columnOf is what a metric is called in a plot.
var columnOf = map[string]string{
	"total visits": "total_visits", "engaged users": "user_engaged", "average session duration": "session_duration_seconds",
}
