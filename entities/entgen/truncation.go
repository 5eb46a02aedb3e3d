package entgen

import (
	"strings"
	"unicode/utf8"

	"entgo.io/ent/dialect/sql/schema"
)

// maxIdentifier is how many bytes PostgreSQL keeps of a name. It cuts off the rest without an error.
const maxIdentifier = 63

// identifiers are names that a database must be able to tell apart, by what it keeps of them, and
// whose they are.
type identifiers map[string]string

// checkIdentifiers reports names that databases take for the same one: of tables, of their columns,
// and of the indexes of unique columns. Longer names of other indexes and of foreign keys end in a
// digest, which ent sees to.
func (m *model) checkIdentifiers(tables []*schema.Table) {
	relations := map[string]identifiers{} // by database schema: tables and indexes share their names
	for _, t := range tables {
		if relations[t.Schema] == nil {
			relations[t.Schema] = identifiers{}
		}
		m.distinct(relations[t.Schema], t.Name, "the table "+t.Name)
	}
	for _, t := range tables {
		columns := identifiers{}
		for _, c := range t.Columns {
			m.distinct(columns, c.Name, "the column "+t.Name+"."+c.Name)
			if c.Unique {
				m.distinct(relations[t.Schema], t.Name+"_"+c.Name+"_key", "the index of the unique column "+t.Name+"."+c.Name)
			}
		}
	}
}

// distinct notes a name, and reports one that another one is taken for.
func (m *model) distinct(known identifiers, name, whose string) {
	kept := strings.ToLower(truncated(name))
	other, taken := known[kept]
	switch {
	case !taken:
		known[kept] = whose
	case len(name) > maxIdentifier:
		m.problem("%s: PostgreSQL keeps %d bytes of a name, %q, and those are the name of %s too: rename one of the two", whose, maxIdentifier, truncated(name), other)
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
