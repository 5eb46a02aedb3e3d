package schema

import (
	"time"

	"entgo.io/ent"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"
)

// Employee works here.
type Employee struct{ ent.Schema }

// Fields of the Employee.
func (Employee) Fields() []ent.Field {
	return []ent.Field{field.String("name")}
}

// Edges of the Employee.
func (Employee) Edges() []ent.Edge {
	return []ent.Edge{edge.To("roles", Role.Type), edge.To("reports", Employee.Type).From("boss").Unique()}
}

// Role is what somebody may do.
type Role struct{ ent.Schema }

// Fields of the Role.
func (Role) Fields() []ent.Field {
	return []ent.Field{field.String("name").Unique()}
}

// Edges of the Role.
func (Role) Edges() []ent.Edge {
	return []ent.Edge{edge.From("employees", Employee.Type).Ref("roles"), edge.To("permissions", Permission.Type)}
}

// Permission is one thing that somebody may do.
type Permission struct{ ent.Schema }

// Fields of the Permission.
func (Permission) Fields() []ent.Field {
	return []ent.Field{field.String("name").Unique()}
}

// Edges of the Permission.
func (Permission) Edges() []ent.Edge {
	return []ent.Edge{edge.From("roles", Role.Type).Ref("permissions")}
}

// Session is a login.
type Session struct{ ent.Schema }

// Fields of the Session.
func (Session) Fields() []ent.Field {
	return []ent.Field{field.String("token").Sensitive(), field.Time("ends_at").Default(time.Now)}
}

// AuditEntry is something that happened.
type AuditEntry struct{ ent.Schema }

// Fields of the AuditEntry.
func (AuditEntry) Fields() []ent.Field {
	return []ent.Field{field.String("what"), field.Time("at").Default(time.Now)}
}

// Notification tells somebody something.
type Notification struct{ ent.Schema }

// Fields of the Notification.
func (Notification) Fields() []ent.Field {
	return []ent.Field{field.Text("text")}
}

// Setting is a setting.
type Setting struct{ ent.Schema }

// Fields of the Setting.
func (Setting) Fields() []ent.Field {
	return []ent.Field{field.String("key").Unique(), field.JSON("value", map[string]any{})}
}

// Webhook is called when something happens.
type Webhook struct{ ent.Schema }

// Fields of the Webhook.
func (Webhook) Fields() []ent.Field {
	return []ent.Field{field.String("url"), field.String("secret").Sensitive()}
}

// APIKey lets programs in.
type APIKey struct{ ent.Schema }

// Fields of the APIKey.
func (APIKey) Fields() []ent.Field {
	return []ent.Field{field.String("digest").Sensitive()}
}
