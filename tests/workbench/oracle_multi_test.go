package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// multiOracles are those of templates over several domains, without metrics.
var multiOracles = map[string]oracle{
	"multi-01": func(o *world, a map[string]string) []change {
		for _, c := range o.customers {
			if o.named(a)(c) && c.lastContact < daysAgo(14).Format(time.DateOnly) {
				return o.meetTomorrow("Update on "+a["current_customer_name"], c.assignedTo)
			}
		}
		return nil
	},
	// In the examples, the fewest are of those who have any.
	"multi-02": func(o *world, a map[string]string) []change {
		people := slices.DeleteFunc(slices.Sorted(slices.Values(o.directory)), func(e string) bool { return o.overdue(e) == 0 })
		slices.SortStableFunc(people, func(x, y string) int { return o.overdue(x) - o.overdue(y) })
		return newLead(a["new_customer_name"], people[0])
	},
	"multi-03": func(o *world, a map[string]string) []change {
		day := dated(a["natural_language_email_date"])
		found := newest(o.inbox(func(m mail) bool { return sameDay(m.sentAt, day) && about(a["subject"])(m) }))
		if len(found) == 0 {
			return nil
		}
		at := clock(dated(a["natural_language_event_date"]), a["natural_language_time"])
		return []change{booked(a["subject"], found[0].address, at, length(a["natural_language_duration"]))}
	},
	"multi-04": func(o *world, a map[string]string) []change {
		for _, e := range o.on(dated(a["natural_language_event_date"]), anything) {
			return mailTo(e.participant, e.name, "Remember to attend this event.")
		}
		return nil
	},
	"multi-05": func(o *world, a map[string]string) []change {
		who, from := o.person(a["sender_name"]), o.fromPerson(a["sender_name"])
		recent := o.inbox(func(m mail) bool { return from(m) && !m.sentAt.Before(daysAgo(whole(a["days"]))) })
		if who == "" || len(recent) > 0 {
			return nil
		}
		at := clock(nextNamed(a["day_of_week"]), a["natural_language_time"])
		return []change{booked("Catch up with "+a["sender_name"], who, at, 30)}
	},
	"multi-06": func(o *world, a map[string]string) []change {
		who := o.person(a["name"])
		if len(o.between(daysAgo(whole(a["days"])), now, with(who))) > 0 {
			return nil
		}
		return mailTo(who, "Catch up soon?", "We haven't caught up in a while - can you send some availability over next week?")
	},
	"multi-07": func(o *world, a map[string]string) []change {
		who := o.person(a["name"])
		if len(o.between(now, daysAgo(-whole(a["days"])), with(who))) > 0 {
			return nil
		}
		return mailTo(who, "Catch up soon?", "We have not caught up in a while - can you send some availability over next week?")
	},
	"multi-08": func(o *world, a map[string]string) []change {
		if who := o.person(a["name"]); o.overdue(who) > 0 {
			return mailTo(who, "Overdue tasks", "You have a few overdue tasks - can you update me on them?")
		}
		return o.praise(a)
	},
	"multi-09": func(o *world, a map[string]string) []change {
		if who := o.person(a["name"]); o.overdue(who) > 0 {
			return o.meetTomorrow("Catch up on overdue tasks", who)
		}
		return nil
	},
	"multi-16": func(o *world, a map[string]string) []change {
		who := o.person(a["name"])
		if o.overdue(who) == 0 {
			return o.praise(a)
		}
		meeting := o.meetTomorrow("Catch up on overdue tasks", who)
		if len(meeting) == 0 { // the mail would promise it
			return nil
		}
		notice := mailTo(who, "Discuss overdue tasks", "I noticed you have a few overdue tasks - let's catch up tomorrow.")
		return append(notice, meeting...)
	},
}

func (o *world) praise(a map[string]string) []change {
	return mailTo(o.person(a["name"]), "Good work this sprint", "Nice work keeping on top of your tasks this sprint!")
}

// meetTomorrow is half an hour with somebody at the first time that is free tomorrow.
func (o *world) meetTomorrow(name, who string) []change {
	at, ok := o.free(tomorrow, 30)
	if who == "" || !ok {
		return nil
	}
	return []change{booked(name, who, at, 30)}
}

// metricOracles are those of templates that ask for a metric first.
var metricOracles = map[string]oracle{
	"multi-10": ifEver(func(o *world, a map[string]string, name string) []change {
		body := fmt.Sprintf("I noticed %s was %s than %s - can you update me?", name, a["more_or_less"], a["threshold"])
		to := a["sender"]
		if !strings.Contains(to, "@") {
			to = o.person(to)
		}
		return mailTo(to, "Update on "+name, body)
	}, nothing),
	"multi-11": ifEver(func(o *world, a map[string]string, name string) []change {
		return o.meetTomorrow("Discuss "+name, o.person(a["sender_name"]))
	}, nothing),
	"multi-12": ifEver(improve, nothing),
	"multi-13": ifEver(func(o *world, a map[string]string, name string) []change {
		completed := map[string]int{}
		for _, t := range o.tasks {
			if t.board == "Front end" && t.list == "Completed" {
				completed[t.assignedTo]++
			}
		}
		people := slices.Sorted(slices.Values(o.directory))
		slices.SortStableFunc(people, func(x, y string) int { return completed[y] - completed[x] })
		return []change{carded("Improve "+name, people[0], nextFriday, "Front end")}
	}, nothing),
	"multi-14": ifGrewMore(func(o *world, a map[string]string) []change {
		return improve(o, a, a["natural_language_metric_2"])
	}),
	"multi-15": ifEver(func(o *world, a map[string]string, _ string) []change {
		return o.deleteCustomers(o.leads(o.employee(a["assigned_to_first_name"])))
	}, nothing),
	"multi-17": ifEver(improve, func(o *world, a map[string]string, name string) []change {
		return mailTo(o.employee(a["name"]), "Recent "+name, "I noticed "+name+" has been stable, nice work!")
	}),
	"multi-18": ifGrewMore(func(o *world, a map[string]string) []change {
		meeting := o.meetTomorrow("Discuss "+a["natural_language_metric"], o.employee(a["name"]))
		return append(improve(o, a, a["natural_language_metric_2"]), meeting...)
	}),
	// In the examples, "more than" holds where the metric was less than the threshold.
	"multi-19": func(o *world, a map[string]string) []change {
		asked := map[string]string{"natural_language_metric": a["natural_language_metric"], "more_or_less": "less", "threshold": a["threshold"]}
		who, name := o.employee(a["assigned_to_first_name"]), a["natural_language_metric"]
		if who == "" {
			return nil
		}
		if !o.ever(asked, isoDay(a["natural_language_date"])) {
			return mailTo(who, "Reprioritising", "We need you to improve "+name+" - TBD.")
		}
		mail := mailTo(who, "Reprioritising", name+" looks good, so we no longer need you finding new leads")
		return append(mail, o.deleteCustomers(o.leads(who))...)
	},
	"multi-20": ifEver(improveAndDiscuss, func(o *world, a map[string]string, name string) []change {
		return mailTo(o.employee(a["name"]), name, "I noticed "+name+" has been stable, nice work!")
	}),
	"multi-21": ifEver(improveAndDiscuss, func(o *world, a map[string]string, name string) []change {
		who, from := o.employee(a["name"]), o.employee(a["assigned_to_first_name"])
		if who == "" || from == "" {
			return nil
		}
		mail := mailTo(who, "New leads for you", name+" looks good, so there are new leads for you")
		return append(mail, o.assignCustomers(who, o.leads(from))...)
	}),
}

// consequence is what a request wants done, given what its metric is called.
type consequence func(o *world, a map[string]string, name string) []change

func nothing(*world, map[string]string, string) []change { return nil }

// ifEver does one thing if the metric was more, or less, than the threshold on any day
// since one, else another.
func ifEver(yes, no consequence) oracle {
	return func(o *world, a map[string]string) []change {
		name, _ := metricAsked(a)
		if o.ever(a, isoDay(a["natural_language_date"])) {
			return yes(o, a, name)
		}
		return no(o, a, name)
	}
}

// ifGrewMore does something if the first metric grew by more than the second.
func ifGrewMore(yes oracle) oracle {
	return func(o *world, a map[string]string) []change {
		since := lastNamed(a["day_of_week"]).Format(time.DateOnly)
		if !o.grewMore(a["natural_language_metric"], a["natural_language_metric_2"], since) {
			return nil
		}
		return yes(o, a)
	}
}

// improve is a card for somebody.
func improve(o *world, a map[string]string, name string) []change {
	who := o.employee(a["name"])
	if who == "" {
		return nil
	}
	return []change{carded("Improve "+name, who, nextFriday, "Front end")}
}

func improveAndDiscuss(o *world, a map[string]string, name string) []change {
	return append(improve(o, a, name), o.meetTomorrow("Discuss "+name, o.employee(a["name"]))...)
}

// first is a person's first name as requests have it.
func first(address string) string {
	name, _, _ := strings.Cut(address, ".")
	return name
}
