package main

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// valuesOfTypes has two values of each type of PostgreSQL whose values callers see as texts. Some types have no
// equality, and two boxes of one area are equal for it.
var valuesOfTypes = map[string][2]string{
	"xml": {"<a/>", "<b/>"}, "xdom": {"<a/>", "<b/>"}, "point": {"(1,2)", "(2,1)"}, "box": {"(1, 1), (0,0)", "(3,3),(2,2)"}, "polygon": {"((0,0),(1,1))", "((0,0),(2,1))"},
	"circle": {"<(0,0),1>", "<(5,0),1>"}, "line": {"{1,2,3}", "{1,2,4}"}, "lseg": {"[(0,0),(1,1)]", "[(0,0),(2,1)]"}, "path": {"[(0,0),(1,1)]", "[(0,0),(2,1)]"}, "tid": {"(0,1)", "(0,2)"},
	"xid": {"1", "2"}, "xid8": {"1", "2"}, "cid": {"1", "2"}, "jsonpath": {"$.a", "$.b"}, "inet": {"10.0.0.1", "10.0.0.2"}, "cidr": {"10.0.0.0/8", "11.0.0.0/8"}, "macaddr": {"08:00:2b:01:02:03", "08:00:2b:01:02:04"},
	"tsvector": {"'a' 'b'", "'c'"}, "tsquery": {"'a'", "'b'"}, "bit(3)": {"101", "100"}, "int4range": {"[1,2]", "[1,4)"}, "int4multirange": {"{[1,2)}", "{[1,3)}"}, "oid": {"1", "2"}, "regclass": {"pg_class", "pg_type"},
	"pg_lsn": {"0/1", "0/2"}, "pg_snapshot": {"10:20:10", "10:30:10"}, "money": {"1", "2"}, "pt": {"(1,2)", "(2,2)"}, "spot": {`("(1,2)",2)`, `("(1,2)",3)`}, "hstore": {"a=>b", "a=>c"}, "aclitem": {"postgres=r/postgres", "postgres=w/postgres"},
	"interval": {"1 day", "2 days"}, "time": {"08:00", "09:00"}, "timetz": {"08:00+00", "09:00+00"}, `"char"`: {"a", "b"}, "refcursor": {"a", "b"}, "citext": {"a", "b"}, "char(3)": {"a", "b"},
}

// Rows are found by a value of every type, in the words in which it is written and in those in which it is read.
func TestComparesValuesOfEveryType(t *testing.T) {
	names := slices.Sorted(maps.Keys(valuesOfTypes))
	ddl := "CREATE EXTENSION hstore; CREATE EXTENSION citext; CREATE TYPE pt AS (x int, y int); CREATE TYPE spot AS (p point, y int); CREATE DOMAIN xdom AS xml;\nCREATE TABLE things (id int PRIMARY KEY"
	for n, name := range names {
		ddl += fmt.Sprintf(", v%d %s", n, name)
	}
	place, _ := foreign(t, ddl+"); INSERT INTO things (id) VALUES (1), (2), (3)", true)
	i, err := start(t, map[string]string{"database": place, "readOnly": "false", "approval.mode": "never"})
	require.NoError(t, err)
	for n, name := range names {
		field := fmt.Sprintf("v%d", n)
		seen := map[string]string{}
		for row, v := range valuesOfTypes[name] {
			out := does(t, i, "koan::Thing.patch", fmt.Sprintf(`{"id":"%d","changes":{%q:%s}}`, row+1, field, encode(t, v)))
			seen[v] = out[field].(string)
		}
		for row, v := range valuesOfTypes[name] {
			for _, text := range []string{v, seen[v]} {
				own, others := fmt.Sprint(row+1), []string{"23", "13"}[row]
				for op, want := range map[string]string{"$eq": own, "$in": own, "$ne": others} {
					value := string(encode(t, text))
					if op == "$in" {
						value = "[" + value + "]"
					}
					got := ""
					for _, item := range does(t, i, "koan::Thing.collection", fmt.Sprintf(`{"filter":{%q:{%q:%s}},"sort":"id","fields":["id"]}`, field, op, value))["items"].([]any) {
						got += item.(map[string]any)["id"].(string)
					}
					require.Equal(t, want, got, "%s %s %s", name, op, text)
				}
			}
		}
		require.Len(t, does(t, i, "koan::Thing.collection", fmt.Sprintf(`{"sort":%q}`, field))["items"], 3)
		require.Len(t, does(t, i, "koan::Thing.aggregate", fmt.Sprintf(`{"groupBy":[%q],"count":true}`, field))["rows"], 3)
	}
}
