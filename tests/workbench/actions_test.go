package main

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var (
	call     = regexp.MustCompile(`(?s)^(\w+)\.(\w+)\((.*)\)$`)
	argument = regexp.MustCompile(`(\w+)=("(?:[^"\\]|\\.)*")`)
)

// columns are the entities' names of what the data set's tools update.
var columns = map[string]map[string]string{
	"Event":    {"event_name": "name", "event_start": "startsAt"},
	"Customer": {"status": "status", "assigned_to_email": "assignedToEmail"},
	"Task":     {"list_name": "listName", "assigned_to_email": "assignedToEmail"},
}

// entities are those that the data set's tools change.
var entityOf = map[string]string{
	"calendar": "Event", "customer_relationship_manager": "Customer", "project_management": "Task", "email": "Email", "analytics": "Plot",
}

// expected returns what the right calls for a request change.
func (o *world) expected(t testing.TB, r request) []change {
	t.Helper()
	out := make([]change, len(r.Actions))
	for i, a := range r.Actions {
		out[i] = o.changed(t, a)
	}
	return out
}

// changed returns what one call of the data set's own tools changes.
func (o *world) changed(t testing.TB, action string) change {
	t.Helper()
	parts := call.FindStringSubmatch(action)
	require.NotNil(t, parts, "%s is a call", action)
	args := map[string]string{}
	for _, a := range argument.FindAllStringSubmatch(parts[3], -1) {
		v, err := strconv.Unquote(a[2])
		require.NoError(t, err, action)
		args[a[1]] = v
	}
	entity := entityOf[parts[1]]
	require.NotEmpty(t, entity, action)
	verb, _, _ := strings.Cut(parts[2], "_")
	switch verb {
	case "delete":
		return deleted(entity, args[strings.ToLower(entity)+"_id"])
	case "update":
		field := columns[entity][args["field"]]
		require.NotEmpty(t, field, action)
		value := args["new_value"]
		if field == "startsAt" {
			value = moment(atTime(t, value))
		}
		id := args[strings.ToLower(entity)+"_id"]
		if o.value(entity, id, field) == value { // asked for, and so already
			return change{Entity: entity, Action: "update", ID: id, Fields: map[string]any{}}
		}
		return updated(entity, id, field, value)
	}
	return o.made(t, action, parts[1]+"."+parts[2], args)
}

// value returns what a row has, of those fields that the data set's tools update.
func (o *world) value(entity, id, field string) string {
	for _, e := range o.events {
		if entity == "Event" && e.id == id {
			return map[string]string{"name": e.name, "startsAt": moment(e.startsAt)}[field]
		}
	}
	for _, c := range o.customers {
		if entity == "Customer" && c.id == id {
			return map[string]string{"status": c.status, "assignedToEmail": c.assignedTo}[field]
		}
	}
	for _, k := range o.tasks {
		if entity == "Task" && k.id == id {
			return map[string]string{"listName": k.list, "assignedToEmail": k.assignedTo}[field]
		}
	}
	return ""
}

// made returns what a call creates.
func (o *world) made(t testing.TB, action, tool string, args map[string]string) change {
	t.Helper()
	switch tool {
	case "analytics.create_plot":
		return plotted(args["time_min"], args["time_max"], args["value_to_plot"], args["plot_type"])
	case "calendar.create_event":
		minutes, err := strconv.Atoi(args["duration"])
		require.NoError(t, err, action)
		return booked(args["event_name"], args["participant_email"], atTime(t, args["event_start"]), minutes)
	case "customer_relationship_manager.add_customer":
		return created("Customer", map[string]any{"name": args["customer_name"], "assignedToEmail": args["assigned_to_email"], "status": args["status"]})
	case "project_management.create_task":
		require.Equal(t, "Backlog", args["list_name"], action)
		return carded(args["task_name"], args["assigned_to_email"], args["due_date"], args["board"])
	case "email.send_email":
		return sent(args["recipient"], args["subject"], args["body"])
	case "email.reply_email":
		m := o.mail(t, args["email_id"])
		return sent(m.address, m.subject, args["body"])
	case "email.forward_email":
		m := o.mail(t, args["email_id"])
		return sent(args["recipient"], "FW: "+m.subject, m.body)
	}
	require.Fail(t, "no such tool", action)
	return change{}
}

func (o *world) mail(t testing.TB, id string) mail {
	t.Helper()
	for _, m := range o.mails {
		if m.id == id {
			return m
		}
	}
	require.Fail(t, "no such mail", id)
	return mail{}
}

func atTime(t testing.TB, s string) time.Time {
	t.Helper()
	at, err := time.Parse(time.DateTime, s)
	require.NoError(t, err)
	return at
}
