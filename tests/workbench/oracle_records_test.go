package main

import (
	"slices"
	"strings"
	"time"
)

var crmOracles = map[string]oracle{
	"crm-01": func(o *world, a map[string]string) []change {
		return o.customersTo("status", titled(a["new_status_natural_language"]), o.named(a))
	},
	"crm-02": func(o *world, a map[string]string) []change {
		return o.deleteCustomers(o.named(a))
	},
	"crm-03": func(o *world, a map[string]string) []change {
		return newLead(a["new_customer_name"], o.employee(a["assigned_to_first_name"]))
	},
	"crm-04": func(o *world, a map[string]string) []change {
		return o.assignCustomers(o.employee(a["assigned_to_first_name"]), o.named(a))
	},
	"crm-05": func(o *world, a map[string]string) []change { return o.handOver(a, "Lead") },
	"crm-06": func(o *world, a map[string]string) []change { return o.handOver(a, "Qualified", "Proposal") },
	"crm-07": func(o *world, a map[string]string) []change {
		return o.deleteCustomers(func(c customer) bool {
			return c.assignedTo == o.employee(a["assigned_to_first_name"]) && strings.EqualFold(c.status, a["new_status_natural_language"]) &&
				strings.EqualFold(c.interest, a["natural_language_product_interest"])
		})
	},
	"crm-08": func(o *world, a map[string]string) []change {
		limit := daysAgo(7 * whole(a["weeks"])).Format(time.DateOnly)
		return o.customersTo("status", "Lost", func(c customer) bool {
			return c.status == "Proposal" && strings.EqualFold(c.interest, a["natural_language_product_interest"]) && c.lastContact < limit
		})
	},
}

// named fits the one customer whose name a request has, and nobody where there are several.
func (o *world) named(a map[string]string) func(customer) bool {
	var ids []string
	for _, c := range o.customers {
		if strings.EqualFold(c.name, a["current_customer_name"]) {
			ids = append(ids, c.id)
		}
	}
	return func(c customer) bool { return c.id == only(ids) }
}

// newLead is a new customer of an employee, if there is one.
func newLead(name, assignedTo string) []change {
	if assignedTo == "" {
		return nil
	}
	return []change{created("Customer", map[string]any{"name": name, "assignedToEmail": assignedTo, "status": "Lead"})}
}

func titled(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

func (o *world) customersTo(field, value string, fits func(customer) bool) []change {
	var out []change
	for _, c := range o.customers {
		if fits(c) {
			out = append(out, o.set("Customer", c.id, field, value))
		}
	}
	return out
}

// set is an update that was asked for, of a row that may have the value already.
func (o *world) set(entity, id, field, value string) change {
	if o.value(entity, id, field) == value {
		return change{Entity: entity, Action: "update", ID: id, Fields: map[string]any{}}
	}
	return updated(entity, id, field, value)
}

func (o *world) assignCustomers(to string, fits func(customer) bool) []change {
	if to == "" {
		return nil
	}
	return o.customersTo("assignedToEmail", to, fits)
}

func (o *world) deleteCustomers(fits func(customer) bool) []change {
	var out []change
	for _, c := range o.customers {
		if fits(c) {
			out = append(out, deleted("Customer", c.id))
		}
	}
	return out
}

func (o *world) leads(of string) func(customer) bool {
	return func(c customer) bool { return c.assignedTo == of && c.status == "Lead" }
}

func (o *world) handOver(a map[string]string, statuses ...string) []change {
	return o.assignCustomers(o.employee(a["new_assigned_to_first_name"]), func(c customer) bool {
		return c.assignedTo == o.employee(a["assigned_to_first_name"]) && slices.Contains(statuses, c.status) &&
			strings.EqualFold(c.interest, a["natural_language_product_interest"])
	})
}

var emailOracles = map[string]oracle{
	"email-01": func(o *world, a map[string]string) []change {
		return deleteMails(newest(o.inbox(o.fromPerson(a["name"]))))
	},
	"email-02": func(o *world, a map[string]string) []change {
		who, since := o.fromPerson(a["name"]), daysAgo(whole(a["days"]))
		return deleteMails(o.inbox(func(m mail) bool { return who(m) && !m.sentAt.Before(since) }))
	},
	"email-03": func(o *world, a map[string]string) []change {
		return mailTo(o.person(a["name"]), a["subject"], strings.ReplaceAll(a["body"], `\n`, "\n"))
	},
	"email-04": func(o *world, a map[string]string) []change {
		who := o.fromPerson(a["name"])
		for _, m := range newest(o.inbox(func(m mail) bool { return who(m) && about(a["subject"])(m) })) {
			return mailTo(m.address, m.subject, "Thanks for the update - I will get back to you tomorrow.")
		}
		return nil
	},
	"email-05": func(o *world, a map[string]string) []change {
		monday := time.Date(2023, 11, 20, 0, 0, 0, 0, time.UTC) // of the week before this one
		who := o.fromPerson(a["name"])
		return o.forward(a["recipient_name"], o.inbox(func(m mail) bool {
			return who(m) && about(a["subject"])(m) && !m.sentAt.Before(monday) && m.sentAt.Before(monday.AddDate(0, 0, 7))
		}))
	},
	"email-06": func(o *world, a map[string]string) []change {
		return o.forward(a["recipient_name"], newest(o.inbox(about(a["subject"]))))
	},
	"email-07": func(o *world, a map[string]string) []change {
		return o.forward(a["recipient_name"], newest(o.inbox(o.fromPerson(a["sender_name"]))))
	},
	"email-08": func(o *world, a map[string]string) []change {
		if o.person(a["recipient_name1"]) == "" || o.person(a["recipient_name2"]) == "" {
			return nil
		}
		m := newest(o.inbox(about(a["subject"])))
		return append(o.forward(a["recipient_name1"], m), o.forward(a["recipient_name2"], m)...)
	},
	"email-09": func(o *world, a map[string]string) []change {
		for _, m := range newest(o.inbox(o.fromPerson(a["sender_name"]))) {
			return mailTo(m.address, m.subject, "Got it, thank you!")
		}
		return nil
	},
}

func (o *world) fromPerson(name string) func(mail) bool {
	who := o.person(name)
	return func(m mail) bool { return m.address == who }
}

// newest is the last of some mails, if there is one.
func newest(mails []mail) []mail { return mails[max(0, len(mails)-1):] }

func mailTo(address, subject, body string) []change {
	if address == "" {
		return nil
	}
	return []change{sent(address, subject, body)}
}

func (o *world) forward(to string, mails []mail) []change {
	var out []change
	for _, m := range mails {
		out = append(out, mailTo(o.person(to), "FW: "+m.subject, m.body)...)
	}
	return out
}

func deleteMails(mails []mail) []change {
	var out []change
	for _, m := range mails {
		out = append(out, deleted("Email", m.id))
	}
	return out
}

var projectOracles = map[string]oracle{
	"projects-01": func(o *world, a map[string]string) []change {
		return o.tasksTo("listName", "In Review", o.list(a["name"], "In Progress"))
	},
	"projects-02": func(o *world, a map[string]string) []change {
		who := o.employee(a["name"])
		if who == "" {
			return nil
		}
		return []change{carded(a["task_name"], who, isoDay(a["natural_language_due_date"]), a["board"])}
	},
	"projects-03": func(o *world, a map[string]string) []change {
		return o.tasksTo("listName", "In Progress", late(o.list(a["name"], "Backlog")))
	},
	"projects-04": func(o *world, a map[string]string) []change {
		return o.tasksTo("listName", "Completed", o.list(a["name"], "In Review"))
	},
	"projects-05": func(o *world, a map[string]string) []change {
		return o.giveTasks(a["name_2"], o.list(a["name_1"], "In Progress"))
	},
	// In the examples, what is in review counts as finished.
	"projects-06": func(o *world, a map[string]string) []change {
		return o.tasksTo("listName", "Backlog", o.list(a["name_1"], "In Progress"))
	},
	"projects-07": func(o *world, a map[string]string) []change {
		return o.giveTasks(a["name_2"], late(o.list(a["name_1"], "Backlog")))
	},
	// Here too. Of several that are due on one day, what nobody has started is taken.
	"projects-08": func(o *world, a map[string]string) []change {
		open := append(o.list(a["name_1"], "Backlog"), o.list(a["name_1"], "In Progress")...)
		slices.SortStableFunc(open, func(x, y task) int { return strings.Compare(x.due, y.due) })
		return o.giveTasks(a["name_2"], open[:min(1, len(open))])
	},
}

// list are an employee's tasks of a list, by their ids.
func (o *world) list(name, list string) []task {
	var out []task
	for _, t := range o.tasks {
		if t.assignedTo == o.employee(name) && t.list == list {
			out = append(out, t)
		}
	}
	slices.SortFunc(out, func(x, y task) int { return strings.Compare(x.id, y.id) })
	return out
}

func late(tasks []task) []task {
	return slices.DeleteFunc(tasks, func(t task) bool { return t.due >= today })
}

func (o *world) tasksTo(field, value string, tasks []task) []change {
	var out []change
	for _, t := range tasks {
		out = append(out, o.set("Task", t.id, field, value))
	}
	return out
}

func (o *world) giveTasks(to string, tasks []task) []change {
	if o.employee(to) == "" {
		return nil
	}
	return o.tasksTo("assignedToEmail", o.employee(to), tasks)
}

// overdue counts somebody's tasks that should be completed and are not.
func (o *world) overdue(who string) int {
	n := 0
	for _, t := range o.tasks {
		if t.assignedTo == who && t.due < today && t.list != "Completed" {
			n++
		}
	}
	return n
}
