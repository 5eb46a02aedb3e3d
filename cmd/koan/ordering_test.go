package main

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// valuesInOrder are values of types whose order is not that of their texts.
var valuesInOrder = map[string][3]string{
	"money": {"$9.00", "$10.00", "$1,000.00"}, "oid": {"9", "10", "100"}, "interval": {"2 days", "10 days", "1 year"}, "inet": {"10.0.0.9/32", "10.0.0.10/32", "10.0.0.100/32"},
	"cidr": {"9.0.0.0/8", "10.0.0.0/8", "100.0.0.0/8"}, "pg_lsn": {"9/0", "10/0", "100/0"}, "timetz": {"10:00:00+10", "02:00:00+00", "01:00:00-05"},
}

// Rows are sorted, compared, paged and computed in the order that a type of PostgreSQL has, and searched by their texts.
func TestOrdersAsTheTypeDoes(t *testing.T) {
	names := slices.Sorted(maps.Keys(valuesInOrder))
	ddl := "CREATE TABLE things (id int PRIMARY KEY"
	for n, name := range names {
		ddl += fmt.Sprintf(", v%d %s", n, name)
	}
	place, db := foreign(t, ddl+"); INSERT INTO things (id) VALUES (1), (2), (3), (4)", true)
	for n, name := range names {
		for row, v := range valuesInOrder[name] {
			_, err := db.Exec(fmt.Sprintf("UPDATE things SET v%d = '%s' WHERE id = %d", n, v, row+1))
			require.NoError(t, err)
		}
	}
	i, err := start(t, map[string]string{"database": place})
	require.NoError(t, err)
	for n, name := range names {
		field, values := fmt.Sprintf("v%d", n), valuesInOrder[name]
		ids := func(in string) (out string) {
			for page := does(t, i, "koan::Thing.collection", "{"+in+"}"); ; {
				for _, item := range page["items"].([]any) {
					out += item.(map[string]any)["id"].(string)
				}
				if page["nextCursor"] == nil {
					return out
				}
				page = does(t, i, "koan::Thing.collection", fmt.Sprintf(`{%s,"cursor":%q}`, in, page["nextCursor"]))
			}
		}
		require.Equal(t, "1234", ids(fmt.Sprintf(`"sort":[{"field":%q,"nulls":"last"}],"pageSize":1`, field)), name)
		require.Equal(t, "321", ids(fmt.Sprintf(`"sort":"-%s","pageSize":1,"filter":{%q:{"$null":false}}`, field, field)), name)
		require.Equal(t, "12", ids(fmt.Sprintf(`"sort":"id","filter":{%q:{"$lte":%q}}`, field, values[1])), name)
		require.Equal(t, "23", ids(fmt.Sprintf(`"sort":"id","filter":{%q:{"$between":[%q,%q]}}`, field, values[1], values[2])), name)
		require.Equal(t, "2", ids(fmt.Sprintf(`"sort":"id","filter":{%q:{"$endsWith":%q}}`, field, values[1])), name)
		require.Equal(t, "2", ids(fmt.Sprintf(`"sort":"id","filter":{%q:{"$ieq":%q}}`, field, values[1])), name)
		got := does(t, i, "koan::Thing.aggregate", fmt.Sprintf(`{"min":[%q],"max":[%q],"count":{"distinct":[%q]}}`, field, field, field))["rows"].([]any)[0].(map[string]any)
		require.Equal(t, values[0], got["minV"+field[1:]], name)
		require.Equal(t, values[2], got["maxV"+field[1:]], name)
		rows := does(t, i, "koan::Thing.aggregate", fmt.Sprintf(`{"groupBy":[%q],"count":true,"sort":"-%s","having":{%q:{"$gt":%q}}}`, field, field, field, values[0]))["rows"].([]any)
		require.Equal(t, values[2], rows[0].(map[string]any)[field], name)
		require.Len(t, rows, 2, name)
	}
}
