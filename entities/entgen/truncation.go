package entgen

import (
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"entgo.io/ent/dialect/sql/schema"
)

// maxIdentifier is how many bytes PostgreSQL keeps of a name. It cuts off the rest without an error.
const maxIdentifier = 63

// identifiers are names that a database must be able to tell apart, by what it keeps of them, and
// whose they are.
type identifiers map[string]string

// checkIdentifiers reports names that databases take for the same one, and names of which PostgreSQL
// keeps a part only, so that each migration finds others than it looks for: of tables, of their columns
// and checks, and of the indexes of unique columns. Longer names of other indexes and of foreign keys end
// in a digest, which ent sees to.
func (m *review) checkIdentifiers(tables []*schema.Table) {
	relations := map[string]identifiers{} // by database schema: tables and indexes share their names
	for _, t := range tables {
		if relations[t.Schema] == nil {
			relations[t.Schema] = identifiers{}
		}
		m.distinct(relations[t.Schema], t.Name, "the table "+t.Name, `entsql.Annotation{Table: "..."}, for a join table edge.StorageKey(edge.Table("..."))`)
	}
	for _, t := range tables {
		columns, checks := identifiers{}, identifiers{}
		for _, c := range t.Columns {
			m.distinct(columns, c.Name, "the column "+t.Name+"."+c.Name, `StorageKey("...") of the field, for a foreign key edge.StorageKey(edge.Column("..."))`)
			if c.Unique {
				m.distinct(relations[t.Schema], t.Name+"_"+c.Name+"_key", "the index of the unique column "+t.Name+"."+c.Name, `index.Fields(...).Unique() in place of Unique(), or StorageKey("...") of the field`)
			}
		}
		if t.Annotation == nil {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(t.Annotation.Checks)) {
			m.distinct(checks, name, "the check "+name+" of the table "+t.Name, `another name in entsql.Checks`)
		}
	}
}

// distinct notes a name, and reports one that another one is taken for, or that is not kept whole.
// shorter is what to write for another one.
func (m *review) distinct(known identifiers, name, whose, shorter string) {
	kept := strings.ToLower(truncated(name))
	other, taken := known[kept]
	switch {
	case !taken:
		known[kept] = whose
		if len(name) > maxIdentifier {
			m.problem("%s: PostgreSQL keeps %d bytes of a name, %q, and this one has %d: write %s", whose, maxIdentifier, truncated(name), len(name), shorter)
		}
	case len(name) > maxIdentifier:
		m.problem("%s: PostgreSQL keeps %d bytes of a name, %q, and those are the name of %s too: write %s", whose, maxIdentifier, truncated(name), other, shorter)
	default:
		m.problem("%s: SQLite does not tell it from %s, as case makes no difference there: rename one of the two", whose, other)
	}
}

// truncated returns what PostgreSQL keeps of a name: whole characters.
func truncated(name string) string {
	if len(name) <= maxIdentifier {
		return name
	}
	end := maxIdentifier
	for !utf8.RuneStart(name[end]) {
		end--
	}
	return name[:end]
}
