package entities

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/koan-go/koan/entities/internal/derive"
	"github.com/koan-go/koan/entities/internal/inspect"
)

// Survey is what `koan init` finds in a database, or in a folder of ent schemas.
type Survey struct {
	Entities, Links, NotServed int
	// Config is the text of a koan.yaml that serves the database as it was found.
	Config string
}

// SurveyDatabase looks at a database that exists, as the setting `database` names it. It writes nothing.
func SurveyDatabase(ctx context.Context, database string) (_ *Survey, err error) {
	if err := checkExisting(database); err != nil {
		return nil, fmt.Errorf("--database %w", err)
	}
	db, err := inspectDatabase(ctx, database, true)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.pool.Close()) }()
	d, err := derive.Graph(db.found, derive.Options{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	s := &Survey{Entities: len(d.Graph.Entities), Links: len(d.Links), NotServed: len(d.Omitted)}
	s.Config, err = surveyText(database, d)
	return s, err
}

// surveyText writes the file. Everything in it that is no key is a comment for the person who edits it.
func surveyText(database string, d *derive.Derived) (string, error) {
	var b strings.Builder
	place, comment := withoutPassword(database)
	b.WriteString("# What `koan init` found. `koan serve` serves it; docs/howto/existing-database.md says what can be set here.\n")
	fmt.Fprintf(&b, "database: %s%s\n", scalar(place), comment)
	b.WriteString("# The database itself enforces that nothing is written; false lets callers write, here or under one entity.\nreadOnly: true\nentities:\n")
	for _, e := range d.Graph.Entities {
		r := &e.Resource
		source := d.Sources[r.Name]
		name := source.Qualified()
		fmt.Fprintf(&b, "  %s:\n    table: %s%s\n", scalar(r.Name), scalar(name), kindNote(source, d))
		if len(r.Fields) > 0 {
			var names []string
			for i := range r.Fields {
				names = append(names, r.Fields[i].Name)
			}
			fmt.Fprintf(&b, "    # fields: %s\n", strings.Join(names, ", "))
		}
		if len(r.Edges) > 0 {
			var names []string
			for i := range r.Edges {
				names = append(names, r.Edges[i].Name)
			}
			fmt.Fprintf(&b, "    # relationships: %s\n", strings.Join(names, ", "))
		}
	}
	if len(d.Graph.Entities) == 0 {
		b.WriteString("  # the database has no tables and no views\n")
	}
	if len(d.Links) > 0 {
		b.WriteString("# Tables that are many-to-many relationships:\n")
		for _, l := range d.Links {
			fmt.Fprintf(&b, "#   %s: %s\n", oneLine(l.Table), strings.Join(l.Edges, ", "))
		}
	}
	if len(d.Omitted) > 0 {
		b.WriteString("# Not served:\n")
		for _, o := range d.Omitted {
			fmt.Fprintf(&b, "#   %s: %s\n", oneLine(o.Name), oneLine(o.Reason))
		}
	}
	return b.String(), nil
}

// kindNote says why the rows of a relation cannot be written, "" where they can.
func kindNote(r *inspect.Relation, d *derive.Derived) string {
	if !r.Writable() {
		return " # a " + string(r.Kind) + ", read-only"
	}
	for _, o := range d.Unwritable {
		if o.Name == r.Qualified() {
			return " # read-only: " + oneLine(o.Reason)
		}
	}
	return ""
}

// oneLine keeps a name from ending the comment that it stands in.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// scalar writes a text as YAML.
func scalar(text string) string {
	out, err := yaml.Marshal(text)
	if err != nil || strings.Count(string(out), "\n") > 1 {
		return fmt.Sprintf("%q", text)
	}
	return strings.TrimSuffix(string(out), "\n")
}

// withoutPassword returns the name of a database as it may stand in a file, and a comment on what is
// missing.
func withoutPassword(database string) (place, comment string) {
	u, err := url.Parse(database)
	if err != nil || !onPostgres(database) {
		return database, ""
	}
	query := u.Query()
	_, secret := u.User.Password()
	if !secret && !query.Has("password") {
		return database, ""
	}
	if secret {
		u.User = url.User(u.User.Username())
	}
	query.Del("password")
	u.RawQuery = query.Encode()
	return u.String(), " # the password: in the variable PGPASSWORD, or in ~/.pgpass"
}
