package seed

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/koan-go/koan/tests/workbench/ent"
	"github.com/koan-go/koan/tests/workbench/ent/customer"
	"github.com/koan-go/koan/tests/workbench/ent/email"
	"github.com/koan-go/koan/tests/workbench/ent/task"
)

// batch is how many rows one statement stores.
const batch = 500

// Fill writes the tables into the default set when it is created; other sets start
// empty. It fits ent.OnCreateSet.
func (t *Tables) Fill(ctx context.Context, set string, c *ent.Client) error {
	if set != "default" {
		return nil
	}
	for _, table := range []func(context.Context, *ent.Client) error{t.emails, t.events, t.customers, t.tasks, t.visits, t.directory} {
		if err := table(ctx, c); err != nil {
			return fmt.Errorf("WorkBench's tables: %w", err)
		}
	}
	return nil
}

// moment returns a column's time, which has no zone.
func (r row) moment(column string) time.Time {
	at, err := time.Parse(time.DateTime, r.text(column))
	if err != nil {
		r.refuse(column, err)
	}
	return at
}

// day returns a column's day.
func (r row) day(column string) time.Time {
	day, err := time.Parse(time.DateOnly, r.text(column))
	if err != nil {
		r.refuse(column, err)
	}
	return day
}

// number returns a column's whole number.
func (r row) number(column string) int {
	n, err := strconv.Atoi(r.text(column))
	if err != nil {
		r.refuse(column, err)
	}
	return n
}

// truth returns a column's "True" or "False".
func (r row) truth(column string) bool {
	v, err := strconv.ParseBool(r.text(column))
	if err != nil {
		r.refuse(column, err)
	}
	return v
}

// store saves rows in batches.
func store[T any](ctx context.Context, rows []T, save func(ctx context.Context, rows ...T) error) error {
	for len(rows) > 0 {
		n := min(batch, len(rows))
		if err := save(ctx, rows[:n]...); err != nil {
			return err
		}
		rows = rows[n:]
	}
	return nil
}

func (t *Tables) emails(ctx context.Context, c *ent.Client) error {
	rows, err := read(t, "emails.csv", nil, func(r row, _ int) *ent.EmailCreate {
		return c.Email.Create().SetID(r.text("email_id")).SetBox(email.Box(r.text("inbox/outbox"))).SetAddress(r.text("sender/recipient")).
			SetSubject(r.text("subject")).SetSentAt(r.moment("sent_datetime")).SetBody(r.text("body"))
	})
	if err != nil {
		return err
	}
	return store(ctx, rows, func(ctx context.Context, rows ...*ent.EmailCreate) error {
		return c.Email.CreateBulk(rows...).Exec(ctx)
	})
}

func (t *Tables) events(ctx context.Context, c *ent.Client) error {
	rows, err := read(t, "events.csv", nil, func(r row, _ int) *ent.EventCreate {
		return c.Event.Create().SetID(r.text("event_id")).SetName(r.text("event_name")).SetParticipantEmail(r.text("participant_email")).
			SetStartsAt(r.moment("event_start")).SetDurationMinutes(r.number("duration"))
	})
	if err != nil {
		return err
	}
	return store(ctx, rows, func(ctx context.Context, rows ...*ent.EventCreate) error {
		return c.Event.CreateBulk(rows...).Exec(ctx)
	})
}

func (t *Tables) customers(ctx context.Context, c *ent.Client) error {
	rows, err := read(t, "customers.csv", nil, func(r row, _ int) *ent.CustomerCreate {
		return c.Customer.Create().SetID(r.text("customer_id")).SetName(r.text("customer_name")).
			SetNillableAssignedToEmail(r.optional("assigned_to_email")).SetNillableEmail(r.optional("customer_email")).
			SetNillablePhone(r.optional("customer_phone")).SetLastContactDate(r.day("last_contact_date")).
			SetNillableProductInterest(r.optional("product_interest")).SetStatus(customer.Status(r.text("status"))).
			SetFollowUpBy(r.day("follow_up_by")).SetNillableNotes(r.optional("notes"))
	})
	if err != nil {
		return err
	}
	return store(ctx, rows, func(ctx context.Context, rows ...*ent.CustomerCreate) error {
		return c.Customer.CreateBulk(rows...).Exec(ctx)
	})
}

func (t *Tables) tasks(ctx context.Context, c *ent.Client) error {
	rows, err := read(t, "tasks.csv", nil, func(r row, _ int) *ent.TaskCreate {
		return c.Task.Create().SetID(r.text("task_id")).SetName(r.text("task_name")).SetAssignedToEmail(r.text("assigned_to_email")).
			SetListName(task.ListName(r.text("list_name"))).SetDueDate(r.day("due_date")).SetBoard(task.Board(r.text("board")))
	})
	if err != nil {
		return err
	}
	return store(ctx, rows, func(ctx context.Context, rows ...*ent.TaskCreate) error { return c.Task.CreateBulk(rows...).Exec(ctx) })
}

// visits have no id of their own, and a visitor may come twice: they are numbered.
func (t *Tables) visits(ctx context.Context, c *ent.Client) error {
	rows, err := read(t, "visits.csv", nil, func(r row, line int) *ent.VisitCreate {
		return c.Visit.Create().SetID(fmt.Sprintf("%08d", line)).SetVisitorID(r.text("visitor_id")).SetDate(r.day("date_of_visit")).
			SetPageViews(r.number("page_views")).SetSessionSeconds(r.number("session_duration_seconds")).
			SetTrafficSource(r.text("traffic_source")).SetEngaged(r.truth("user_engaged"))
	})
	if err != nil {
		return err
	}
	return store(ctx, rows, func(ctx context.Context, rows ...*ent.VisitCreate) error {
		return c.Visit.CreateBulk(rows...).Exec(ctx)
	})
}

func (t *Tables) directory(ctx context.Context, c *ent.Client) error {
	rows, err := read(t, "directory.csv", []string{"email"}, func(r row, line int) *ent.EmployeeCreate {
		return c.Employee.Create().SetID(fmt.Sprintf("%08d", line)).SetEmail(r.text("email"))
	})
	if err != nil {
		return err
	}
	return store(ctx, rows, func(ctx context.Context, rows ...*ent.EmployeeCreate) error {
		return c.Employee.CreateBulk(rows...).Exec(ctx)
	})
}
