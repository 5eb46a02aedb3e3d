package migrate

import (
	"context"
	"fmt"
	"strings"

	"entgo.io/ent/dialect"
)

// Leftovers looks for values of enums that the schema does not have any more: reads give them,
// although no type says so, and filters do not take them. No migration changes them.
func (s *Schema) Leftovers(ctx context.Context, drv dialect.Driver) (out []string, err error) {
	at, err := open(drv)
	if err != nil {
		return nil, err
	}
	there, err := inspect(ctx, at)
	if err != nil {
		return nil, err
	}
	for _, e := range s.Entities {
		t, ok := there.Table(e.Table)
		if !ok {
			continue
		}
		for i := range e.Columns {
			c, f := &e.Columns[i], &e.Resource.Fields[i]
			if _, ok := t.Column(c.Name); !ok || len(f.Enum) == 0 || c.Form != nil {
				continue
			}
			values := make([]string, len(f.Enum))
			for j, v := range f.Enum {
				values[j] = "'" + strings.ReplaceAll(v, "'", "''") + "'"
			}
			r, err := s.rowsOf(ctx, drv, e.Table, []string{c.Name}, quote(c.Name)+" IS NOT NULL AND CAST("+quote(c.Name)+" AS TEXT) NOT IN ("+strings.Join(values, ",")+")")
			if err != nil {
				return nil, err
			}
			if r.n > 0 {
				out = append(out, fmt.Sprintf("in %s %s has a value that the schema does not have any more (%s): give them another one, or put the value back", s.of(e.Table, r.n), f.Name, r.some))
			}
		}
	}
	return out, nil
}
