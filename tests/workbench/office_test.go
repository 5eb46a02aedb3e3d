package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/tests/workbench/ent/schema"
)

// tables is the folder of the tables, from this package's own.
const tables = "testdata/tables"

// The rows of the tables, as the tests know them: read here, not by the app.
type (
	mail struct {
		id, box, address, subject, body string
		sentAt                          time.Time
	}
	event struct {
		id, name, participant string
		startsAt              time.Time
		minutes               int
	}
	customer struct{ id, name, email, assignedTo, lastContact, interest, status string }
	task     struct{ id, assignedTo, list, due, board string }
	visit    struct {
		date, source string
		seconds      int
		engaged      bool
	}
)

// world is all that is known there, in the order of the tables.
type world struct {
	mails     []mail
	events    []event
	customers []customer
	tasks     []task
	visits    []visit
	directory []string
}

// readTable returns the lines of a table, and where its columns are.
func readTable(t testing.TB, folder, name string, headed bool) ([][]string, map[string]int) {
	t.Helper()
	f, err := os.Open(filepath.Join(folder, name))
	require.NoError(t, err)
	defer f.Close()
	lines, err := csv.NewReader(f).ReadAll()
	require.NoError(t, err)
	at := map[string]int{}
	if headed {
		for i, column := range lines[0] {
			at[column] = i
		}
		lines = lines[1:]
	}
	return lines, at
}

func readOffice(t testing.TB, folder string) *world {
	t.Helper()
	o := &world{}
	moment := func(s string) time.Time {
		at, err := time.Parse(time.DateTime, s)
		require.NoError(t, err)
		return at
	}
	number := func(s string) int {
		n, err := strconv.Atoi(s)
		require.NoError(t, err)
		return n
	}
	lines, at := readTable(t, folder, "emails.csv", true)
	for _, l := range lines {
		o.mails = append(o.mails, mail{l[at["email_id"]], l[at["inbox/outbox"]], l[at["sender/recipient"]], l[at["subject"]], l[at["body"]], moment(l[at["sent_datetime"]])})
	}
	lines, at = readTable(t, folder, "events.csv", true)
	for _, l := range lines {
		o.events = append(o.events, event{l[at["event_id"]], l[at["event_name"]], l[at["participant_email"]], moment(l[at["event_start"]]), number(l[at["duration"]])})
	}
	lines, at = readTable(t, folder, "customers.csv", true)
	for _, l := range lines {
		o.customers = append(o.customers, customer{
			l[at["customer_id"]], l[at["customer_name"]], l[at["customer_email"]], l[at["assigned_to_email"]],
			l[at["last_contact_date"]], l[at["product_interest"]], l[at["status"]],
		})
	}
	lines, at = readTable(t, folder, "tasks.csv", true)
	for _, l := range lines {
		o.tasks = append(o.tasks, task{l[at["task_id"]], l[at["assigned_to_email"]], l[at["list_name"]], l[at["due_date"]], l[at["board"]]})
	}
	lines, at = readTable(t, folder, "visits.csv", true)
	for _, l := range lines {
		o.visits = append(o.visits, visit{
			l[at["date_of_visit"]], l[at["traffic_source"]],
			number(l[at["session_duration_seconds"]]), l[at["user_engaged"]] == "True",
		})
	}
	lines, _ = readTable(t, folder, "directory.csv", false)
	for _, l := range lines {
		o.directory = append(o.directory, l[0])
	}
	return o
}

// change is one change of a row: what a deleted one was, what an updated one has that
// differs, all that a created one has but its id.
type change struct {
	Entity string
	Action string
	ID     string         // not of a created row
	Fields map[string]any // not of a deleted row
}

func created(entity string, fields map[string]any) change {
	return change{Entity: entity, Action: "create", Fields: fields}
}

func updated(entity, id, field string, value any) change {
	return change{Entity: entity, Action: "update", ID: id, Fields: map[string]any{field: value}}
}

func deleted(entity, id string) change { return change{Entity: entity, Action: "delete", ID: id} }

func sent(address, subject, body string) change {
	return created("Email", map[string]any{"box": "outbox", "address": address, "subject": subject, "body": body, "sentAt": moment(schema.Now())})
}

func booked(name, participant string, startsAt time.Time, minutes int) change {
	return created("Event", map[string]any{"name": name, "participantEmail": participant, "startsAt": moment(startsAt), "durationMinutes": minutes})
}

func carded(name, assignedTo, due, board string) change {
	return created("Task", map[string]any{"name": name, "assignedToEmail": assignedTo, "listName": "Backlog", "dueDate": due, "board": board})
}

func plotted(from, to, value, kind string) change {
	return created("Plot", map[string]any{"timeMin": from, "timeMax": to, "valueToPlot": value, "plotType": kind})
}

// moment is a time as it is read.
func moment(at time.Time) string { return at.Format(time.RFC3339) }

// lines are changes in a form and an order that can be compared.
func lines(t testing.TB, changes []change) []string {
	t.Helper()
	out := make([]string, len(changes))
	for i, c := range changes {
		b, err := json.Marshal(c)
		require.NoError(t, err)
		out[i] = string(b)
	}
	sort.Strings(out)
	return out
}

// rewritten writes the tables of a folder to a new one with what other makes of the rows of
// each, and returns the new folder. The directory has no header.
func rewritten(t testing.TB, from string, other func(name string, header []string, rows [][]string) [][]string) string {
	t.Helper()
	folder := t.TempDir()
	for _, name := range []string{"emails.csv", "events.csv", "customers.csv", "tasks.csv", "visits.csv", "directory.csv"} {
		rows, at := readTable(t, from, name, name != "directory.csv")
		header := make([]string, len(at))
		for column, i := range at {
			header[i] = column
		}
		rows = other(name, header, rows)
		if len(header) > 0 {
			rows = append([][]string{header}, rows...)
		}
		var b bytes.Buffer
		require.NoError(t, csv.NewWriter(&b).WriteAll(rows))
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), b.Bytes(), 0o600))
	}
	return folder
}

// shuffled is the awkward office with the same people and things in it, where everything else
// is different: the values of each column but the ids are in another order.
func shuffled(t testing.TB, r *rand.Rand) string {
	t.Helper()
	return rewritten(t, awkward(t), func(_ string, header []string, rows [][]string) [][]string {
		for i, column := range header { // always in one order: r is what it was seeded with
			if strings.HasSuffix(column, "_id") || column == "customer_name" || column == "customer_email" { // an address tells the name
				continue
			}
			r.Shuffle(len(rows), func(x, y int) { rows[x][i], rows[y][i] = rows[y][i], rows[x][i] })
		}
		return rows
	})
}

// awkward is the data set's office with what it does not have: days without visits or without
// an engaged visitor, a morning that is free but for an event of the evening before, and the
// rows of testdata/further, such as mails that were sent, two people of one name, quotes and
// wildcards in names, times at the bounds of days.
func awkward(t testing.TB) string {
	t.Helper()
	return rewritten(t, tables, func(name string, header []string, rows [][]string) [][]string {
		switch name {
		case "visits.csv":
			date, engaged := slices.Index(header, "date_of_visit"), slices.Index(header, "user_engaged")
			return slices.DeleteFunc(rows, func(row []string) bool {
				return slices.Contains([]string{"2023-10-10", "2023-11-15", "2023-11-22", "2023-11-26"}, row[date]) ||
					row[date] == "2023-11-20" && row[engaged] == "True"
			})
		case "events.csv":
			start := slices.Index(header, "event_start")
			rows = slices.DeleteFunc(rows, func(row []string) bool {
				return row[start] >= "2023-12-01 00:00:00" && row[start] < "2023-12-01 13:00:00"
			})
		}
		added, _ := readTable(t, "testdata/further", name, false)
		return append(rows, added...)
	})
}
