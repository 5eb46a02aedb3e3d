package filter

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/framework/database/sqltext"
)

// TestNativeColumns: a column of a type of PostgreSQL's own is compared for equality as
// that type, and as text for all else. SQLite has no such types.
func TestNativeColumns(t *testing.T) {
	column := &descriptor.Column{Name: "address", Storage: descriptor.Text, Native: "address", Nullable: true}
	document := &descriptor.Column{Name: "doc", Storage: descriptor.Text, Native: "xml", Folding: descriptor.AsTexts}
	for name, c := range map[string]struct {
		node             node
		postgres, sqlite string
	}{
		"equality": {&compare{equalityColumn(column), "=", "x"}, `t0."address"=CAST($1 AS address)`, `t0."address"=?`},
		"list":     {&oneOf{equalityColumn(column), []any{"x", "y"}, false}, `t0."address" IN (CAST($1 AS address),CAST($2 AS address))`, `t0."address" IN (?,?)`},
		"as text":  {&oneOf{equalityColumn(document), []any{"x"}, false}, `CAST(t0."doc" AS TEXT) IN (CAST(CAST($1 AS xml) AS TEXT))`, `t0."doc" IN (?)`},
		"order":    {&compare{plain{column}, "<", "x"}, `CAST(t0."address" AS TEXT)<$1`, `t0."address"<?`},
		"null":     {&isNull{plain{column}}, `CAST(t0."address" AS TEXT) IS NULL`, `t0."address" IS NULL`},
		"part":     {&match{plain{column}, contains, "x"}, `strpos(CAST(t0."address" AS TEXT),$1)>0`, `instr(t0."address",?)>0`},
	} {
		for _, d := range []struct {
			dialect sqltext.Dialect
			want    string
		}{{sqltext.PostgreSQL{}, c.postgres}, {sqltext.SQLite{}, c.sqlite}} {
			b := &sqltext.Builder{Dialect: d.dialect}
			c.node.where(b, b.NewAlias(), false)
			require.Equal(t, d.want, string(b.Text()), "%s on %s", name, d.dialect.Name())
		}
	}
}
