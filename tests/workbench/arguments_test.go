package main

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"
)

// arguments makes arguments as the data set's requests have them: of names, texts and days
// that are in the tables, and of some that are not.
type arguments struct {
	*rand.Rand
	o *world
}

func pick[T any](r arguments, from []T) T { return from[r.IntN(len(from))] }

// rarely is true of one in ten.
func (r arguments) rarely() bool { return r.IntN(10) == 0 }

func (r arguments) number(from, to int) string { return strconv.Itoa(from + r.IntN(to-from+1)) }

func (r arguments) day(from, to time.Time) string {
	days := int(to.Sub(from).Hours() / 24)
	return from.AddDate(0, 0, r.IntN(days+1)).Format("January 2")
}

// past is a day on which visits are known; coming is one from today on.
func (r arguments) past() string   { return r.day(now.AddDate(0, 0, -90), now.AddDate(0, 0, -1)) }
func (r arguments) coming() string { return r.day(now, now.AddDate(0, 0, 24)) }

// employee is mostly the first name of somebody in the directory, in either spelling.
func (r arguments) employee() string {
	name := first(pick(r, r.o.directory))
	if r.rarely() {
		name = "zebedee"
	}
	if r.IntN(2) == 0 {
		name = titled(name)
	}
	return name
}

// person is an employee, or sometimes a customer, of whom there may be several.
func (r arguments) person() string {
	if r.rarely() {
		return strings.Fields(pick(r, r.o.customers).name)[0]
	}
	return r.employee()
}

func (r arguments) spelt(s string) string {
	return pick(r, []string{s, strings.ToLower(s), strings.ToUpper(s)})
}

var (
	metrics  = []string{"total visits", "engaged users", "average session duration"}
	sources  = []string{"direct", "referral", "search engine", "social media"}
	weekdays = []string{"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"}
	times    = []string{"9", "9:30", "10", "10:30", "11", "11:30", "12", "12:30", "1", "1:30", "2", "2:30", "3", "3:30", "4", "4:30", "5", "5:30"}
	lengths  = []string{"30 minute", "45 minute", "1 hour", "1.5 hour", "2 hour"}
)

// of returns the arguments of a template by their names.
func (r arguments) of(script string, names []string) map[string]string {
	a := map[string]string{}
	for _, name := range names {
		a[name] = r.argument(script, name)
	}
	if a["natural_language_date_max"] != "" && dated(a["natural_language_date_max"]).Before(dated(a["natural_language_date"])) {
		a["natural_language_date"], a["natural_language_date_max"] = a["natural_language_date_max"], a["natural_language_date"]
	}
	if r.IntN(3) > 0 {
		r.related(script, a)
	}
	if split := script == "analytics-04" || script == "analytics-06"; split && r.IntN(2) == 0 {
		head, rest, _ := strings.Cut(a["natural_language_metric"], " ")
		a["natural_language_metric"], a["more_or_less"] = head, rest+" "+a["more_or_less"]
	}
	return a
}

// related has what several arguments say of a mail be true of one that there is.
func (r arguments) related(script string, a map[string]string) {
	m := pick(r, r.o.mails)
	if script == "email-05" { // one of the last two weeks
		recent := r.o.inbox(func(m mail) bool { return m.sentAt.After(daysAgo(14)) })
		m = pick(r, recent)
	}
	if a["subject"] == "" || script == "email-03" {
		return
	}
	a["subject"] = m.subject
	if a["name"] != "" {
		a["name"] = first(m.address)
	}
	if a["natural_language_email_date"] != "" {
		a["natural_language_email_date"] = m.sentAt.Format("January 2")
	}
}

// argument returns one argument.
func (r arguments) argument(script, name string) string {
	switch name {
	case "natural_language_date":
		if strings.HasPrefix(script, "calendar") {
			return r.coming()
		}
		return r.past()
	case "natural_language_email_date", "subject":
		m := pick(r, r.o.mails)
		if name == "subject" {
			return m.subject
		}
		return m.sentAt.Format("January 2")
	case "natural_language_date_max":
		return r.past()
	case "natural_language_due_date", "natural_language_event_date":
		return r.coming()
	case "date_min":
		return dated(r.past()).Format(time.DateOnly)
	case "natural_language_metric", "natural_language_metric_2":
		return pick(r, metrics)
	case "plot_type":
		return pick(r, []string{"bar", "line", "histogram", "scatter"})
	case "more_or_less":
		return pick(r, []string{"more", "less"})
	case "most_or_least":
		return pick(r, []string{"most", "least"})
	case "before_or_after":
		return pick(r, []string{"before", "after"})
	case "higher_or_lower":
		return pick(r, []string{"higher", "lower"})
	case "threshold":
		return r.number(0, 45)
	case "natural_language_growth_threshold":
		return r.number(0, 50) + "%"
	case "day_of_week", "next_day":
		return r.spelt(pick(r, weekdays))
	case "traffic_source_1", "traffic_source_2":
		return pick(r, sources)
	case "natural_language_time":
		return pick(r, times)
	case "natural_language_duration":
		return pick(r, lengths)
	}
	return r.who(script, name)
}

// who returns an argument that is a count, somebody, or what something is called.
func (r arguments) who(script, name string) string {
	switch name {
	case "n_weeks", "past_n_weeks", "weeks":
		return r.number(1, 8)
	case "days":
		if script == "email-02" {
			return r.number(1, 14)
		}
		return r.number(1, 4)
	case "duration":
		if script == "calendar-07" {
			return r.number(1, 20)
		}
		return pick(r, lengths)
	case "name", "sender_name", "recipient_name", "recipient_name1", "recipient_name2":
		if strings.HasPrefix(script, "projects") || script >= "multi-12" && script < "multi-16" || script > "multi-16" && script < "multi-99" {
			return r.employee()
		}
		return r.person()
	case "name_1", "name_2", "new_assigned_to_first_name":
		return r.employee()
	case "assigned_to_first_name": // mostly of those who have customers
		if r.IntN(3) > 0 {
			return first(pick(r, r.o.customers).assignedTo)
		}
		return r.employee()
	case "sender":
		if r.rarely() {
			return r.person()
		}
		return pick(r, r.o.directory)
	case "current_customer_name":
		if r.rarely() {
			return "Zebedee Zimt"
		}
		return pick(r, r.o.customers).name
	case "new_customer_name":
		return pick(r, r.o.customers).name + "son"
	case "new_status_natural_language":
		return pick(r, []string{"qualified", "won", "lost", "lead", "proposal"})
	case "natural_language_product_interest":
		return pick(r, []string{"hardware", "software", "services", "consulting", "training"})
	case "event_name":
		if r.rarely() {
			return "no such meeting"
		}
		return r.spelt(pick(r, r.o.events).name)
	case "new_event_name", "task_name":
		return fmt.Sprintf("Something % x else: \"%%_\\ 'ß'", r.IntN(1000))
	case "board":
		return pick(r, []string{"Back end", "Front end", "Design"})
	case "body":
		return `Hello,\n\n` + pick(r, r.o.events).name + `\n\nSam`
	}
	panic("no argument " + name)
}
