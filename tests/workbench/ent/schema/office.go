package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"

	"github.com/koan-go/koan/entities/expose"
)

// Email is a mail in the user's mailbox.
type Email struct{ ent.Schema }

func (Email) Mixin() []ent.Mixin { return []ent.Mixin{identity{}} }

func (Email) Annotations() []schema.Annotation {
	return []schema.Annotation{expose.Entity{Description: "A mail that the user got or sent.", Aliases: []string{"mail", "message"}}}
}

func (Email) Fields() []ent.Field {
	return []ent.Field{
		field.Enum("box").Values("inbox", "outbox").Comment("Where it is: received or sent."),
		field.String("address").NotEmpty().MaxLen(200).Comment("Of the sender in the inbox, of the recipient in the outbox."),
		field.String("subject").MaxLen(500),
		field.Time("sent_at").Default(Now),
		field.Text("body").Default(""),
	}
}

// Event is a meeting in the user's calendar.
type Event struct{ ent.Schema }

func (Event) Mixin() []ent.Mixin { return []ent.Mixin{identity{}} }

func (Event) Annotations() []schema.Annotation {
	return []schema.Annotation{expose.Entity{Description: "A meeting of the user with somebody.", Aliases: []string{"meeting", "calendar", "appointment"}}}
}

func (Event) Fields() []ent.Field {
	return []ent.Field{
		field.String("name").NotEmpty().MaxLen(500),
		field.String("participant_email").NotEmpty().MaxLen(200),
		field.Time("starts_at"),
		field.Int("duration_minutes").Positive().Annotations(expose.Field{Min: expose.Number(1)}),
	}
}

// Customer is an entry of the CRM.
type Customer struct{ ent.Schema }

func (Customer) Mixin() []ent.Mixin { return []ent.Mixin{identity{}} }

func (Customer) Annotations() []schema.Annotation {
	return []schema.Annotation{expose.Entity{Description: "A customer in the CRM.", Aliases: []string{"crm", "lead"}}}
}

func (Customer) Fields() []ent.Field {
	return []ent.Field{
		field.String("name").NotEmpty().MaxLen(200),
		field.String("assigned_to_email").Optional().Nillable().MaxLen(200).Comment("Of the employee who looks after them."),
		field.String("email").Optional().Nillable().MaxLen(200),
		field.String("phone").Optional().Nillable().MaxLen(50),
		field.Time("last_contact_date").Optional().Nillable().Annotations(day("When somebody last spoke to them.")),
		field.String("product_interest").Optional().Nillable().MaxLen(100).Annotations(expose.Field{Example: "Software"}),
		field.Enum("status").Values("Qualified", "Won", "Lost", "Lead", "Proposal").Optional().Nillable(),
		field.Time("follow_up_by").Optional().Nillable().Annotations(day("By when they are to be contacted again.")),
		field.Text("notes").Optional().Nillable(),
	}
}

// Task is a card on the task board.
type Task struct{ ent.Schema }

func (Task) Mixin() []ent.Mixin { return []ent.Mixin{identity{}} }

func (Task) Annotations() []schema.Annotation {
	return []schema.Annotation{expose.Entity{Description: "A card on the task board.", Aliases: []string{"project", "board"}}}
}

func (Task) Fields() []ent.Field {
	return []ent.Field{
		field.String("name").NotEmpty().MaxLen(500),
		field.String("assigned_to_email").NotEmpty().MaxLen(200),
		field.Enum("list_name").NamedValues("Backlog", "Backlog", "InProgress", "In Progress", "InReview", "In Review", "Completed", "Completed"),
		field.Time("due_date").Annotations(day("When it is to be done.")),
		field.Enum("board").NamedValues("BackEnd", "Back end", "FrontEnd", "Front end", "Design", "Design"),
	}
}

// Visit is one visit to the web site.
type Visit struct{ ent.Schema }

func (Visit) Mixin() []ent.Mixin { return []ent.Mixin{identity{}} }

func (Visit) Annotations() []schema.Annotation {
	return []schema.Annotation{expose.Entity{Description: "A visit to the web site.", Aliases: []string{"analytics", "traffic"}, ReadOnly: expose.Yes()}}
}

func (Visit) Fields() []ent.Field {
	return []ent.Field{
		field.String("visitor_id").MaxLen(50),
		field.Time("date").Annotations(day("")),
		field.Int("page_views"),
		field.Int("session_seconds"),
		field.String("traffic_source").MaxLen(50).Annotations(expose.Field{Example: "search engine"}),
		field.Bool("engaged"),
	}
}

// Plot is a chart of the web site's analytics.
type Plot struct{ ent.Schema }

func (Plot) Mixin() []ent.Mixin { return []ent.Mixin{identity{}} }

func (Plot) Annotations() []schema.Annotation {
	return []schema.Annotation{expose.Entity{Description: "A chart of visits over days.", Aliases: []string{"chart"}}}
}

func (Plot) Fields() []ent.Field {
	return []ent.Field{
		field.Time("time_min").Annotations(day("The first day.")),
		field.Time("time_max").Annotations(day("The last day.")),
		field.String("value_to_plot").NotEmpty().MaxLen(100).Annotations(expose.Field{Example: "total_visits"}).
			Comment("total_visits, session_duration_seconds, user_engaged, visits_direct, visits_referral, visits_search_engine or visits_social_media."),
		field.String("plot_type").NotEmpty().MaxLen(50).Annotations(expose.Field{Example: "line"}),
	}
}

// Employee is an address of the directory.
type Employee struct{ ent.Schema }

func (Employee) Mixin() []ent.Mixin { return []ent.Mixin{identity{}} }

func (Employee) Annotations() []schema.Annotation {
	return []schema.Annotation{expose.Entity{Description: "Somebody who works here.", Aliases: []string{"directory", "colleague"}, ReadOnly: expose.Yes()}}
}

func (Employee) Fields() []ent.Field {
	return []ent.Field{field.String("email").Unique().MaxLen(200).Annotations(expose.Field{Example: "first.last@atlas.com"})}
}
