package migrate

import (
	"context"
	"fmt"
	"strconv"

	"ariga.io/atlas/sql/schema"
	"entgo.io/ent/dialect"
)

// manyRows is from how many rows of a table on it matters that each is read.
const manyRows = 10_000

// Unindexed names references of large tables that no index begins with: whenever a row goes that they
// could refer to, the database reads the whole table to find those that do.
func (s *Schema) Unindexed(ctx context.Context, drv dialect.Driver) (out []string, err error) {
	at, err := open(drv)
	if err != nil {
		return nil, err
	}
	there, err := inspect(ctx, at)
	if err != nil {
		return nil, err
	}
	for _, wanted := range s.Tables {
		t, ok := there.Table(wanted.Name)
		if !ok {
			continue
		}
		many := -1
		for _, f := range t.ForeignKeys {
			if len(f.Columns) == 0 || isIndexed(t, f.Columns[0].Name) {
				continue
			}
			if many < 0 {
				counted, err := column[int](ctx, drv, "SELECT count(*) FROM (SELECT 1 FROM "+quote(t.Name)+" LIMIT "+strconv.Itoa(manyRows)+") AS first_rows")
				if err != nil {
					return nil, err
				}
				many = counted[0]
			}
			if many < manyRows {
				break
			}
			out = append(out, fmt.Sprintf("%s.%s has no index, so deleting a row of %s reads all rows of %s", t.Name, f.Columns[0].Name, s.name(f.RefTable.Name), s.name(t.Name)))
		}
	}
	return out, nil
}

// isIndexed reports whether an index of all rows, or the key, begins with a column.
func isIndexed(t *schema.Table, name string) bool {
	begins := func(x *schema.Index) bool {
		return x != nil && len(x.Parts) > 0 && x.Parts[0].C != nil && x.Parts[0].C.Name == name
	}
	if begins(t.PrimaryKey) {
		return true
	}
	for _, x := range t.Indexes {
		if where, _ := predicate(x); where == "" && begins(x) {
			return true
		}
	}
	return false
}
