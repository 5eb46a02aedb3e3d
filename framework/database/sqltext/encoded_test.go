package sqltext_test

import (
	"strings"
	"testing"

	"entgo.io/ent/dialect"
	"entgo.io/ent/dialect/sql"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/database/sqltext"
)

// Whatever a name is, ent's statement has it quoted once, and nothing else of the statement changes.
func FuzzEncodedNames(f *testing.F) {
	for _, name := range []string{"plain", `a"b`, "a`b", "a.b", "count(*)", "x AS y", "DISTINCT x", "ALL", "*", ";--", `\`, "'", "é😀", " ", "1"} {
		f.Add(name, name+"2")
	}
	f.Fuzz(func(t *testing.T, table, column string) {
		if strings.Contains(table+column, "\x00") || table == "" || column == "" {
			return // no database has such names
		}
		for _, d := range []string{dialect.Postgres, dialect.SQLite} {
			b := sql.Dialect(d)
			query, args := b.Update(sqltext.EncodeName(table)).Set(sqltext.EncodeName(column), "?\"`").Where(sql.IsNull(sqltext.EncodeName(column))).Query()
			require.Len(t, args, 1)
			mark := map[string]string{dialect.Postgres: "$1", dialect.SQLite: "?"}[d]
			names := func(s string) string { // ent quotes a plain word in its own way
				if sqltext.EncodeName(s) == s && d == dialect.SQLite {
					return "`" + s + "`"
				}
				return string(sqltext.AppendName(nil, s))
			}
			require.Equal(t, "UPDATE "+names(table)+" SET "+names(column)+" = "+mark+" WHERE "+names(column)+" IS NULL", sqltext.DecodeNames(query))
		}
	})
}
