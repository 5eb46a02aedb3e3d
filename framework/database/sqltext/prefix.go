package sqltext

import (
	"fmt"
	"hash/fnv"
	"strings"
)

// PrefixIndex is what finds the rows of a table in which a text begins with another one, where the
// indexes that the table has are in the order of a language, in which such rows need not be beside each other.
type PrefixIndex struct{ Table, Column string }

// PrefixPrefix is what names of such indexes begin with, and no name of an app's.
const PrefixPrefix = "koan_starts_"

// Name identifies the index in a database, with what it is made of.
func (x *PrefixIndex) Name() string {
	h := fnv.New32a()
	fmt.Fprintf(h, "%q %q", x.Table, x.Column)
	return fmt.Sprintf("%s%08x", PrefixPrefix, h.Sum32())
}

// DropPrefix returns what takes such an index away.
func DropPrefix(name string) Statement {
	return Statement{"DROP INDEX IF EXISTS " + quoted(name), "drop an index of how texts begin"}
}

// Prefixes implements Dialect.
func (postgresIndexes) Prefixes() string {
	return "SELECT indexname FROM pg_indexes WHERE schemaname=current_schema() AND starts_with(indexname,'" + PrefixPrefix + "')"
}

// MakePrefix implements Dialect: the order of bytes is that of characters in UTF-8.
func (postgresIndexes) MakePrefix(x *PrefixIndex) []Statement {
	return []Statement{{
		"CREATE INDEX " + quoted(x.Name()) + " ON " + quoted(x.Table) + " (" + quoted(x.Column) + " text_pattern_ops)",
		"index how " + x.Column + " of " + x.Table + " begins",
	}}
}

// Prefixes implements Dialect: the files that Koan makes order texts by their bytes, and so do their indexes.
func (sqliteIndexes) Prefixes() string { return "" }

// MakePrefix implements Dialect.
func (sqliteIndexes) MakePrefix(*PrefixIndex) []Statement { return nil }

// IsIndex reports whether an index is one of those that this package makes beside what the schema has.
func IsIndex(name string) bool {
	for _, prefix := range []string{IndexPrefix, KeyPrefix, PrefixPrefix} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// likePrefix is the pattern of LIKE for all texts that begin with prefix.
var likePrefix = strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`)

// Prefixed implements Dialect. LIKE asks an index in the order of bytes, be it one of MakePrefix or of a column of
// the collation C, and knows from what it looks for how many rows there may be.
func (PostgreSQL) Prefixed(b *Builder, text func(*Builder), prefix string) {
	text(b)
	b.Raw(" LIKE ").Arg(likePrefix.Replace(prefix) + "%").Raw(" AND ")
}
