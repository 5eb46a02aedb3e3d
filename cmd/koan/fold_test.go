package main

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// towns are names with accents, in both cases and normal forms.
const towns = `CREATE TABLE towns (id INTEGER PRIMARY KEY, name VARCHAR(40) NOT NULL, plain VARCHAR(40) NOT NULL, founded TIMESTAMP);
INSERT INTO towns VALUES (1, 'Łódź', 'Łódź', '2024-03-31 00:30:00'), (2, 'ÄRZTEHAUSEN', 'ÄRZTEHAUSEN', '2024-03-31 23:30:00'), (3, 'Saint-Étienne', 'Saint-Étienne', '2024-04-01 12:00:00'),
  (4, 'Smørrebrød am Café', 'Smørrebrød am Café', '2024-10-27 02:30:00'), (5, 'Lodz', 'Lodz', NULL);`

// ids are those of the rows that a filter finds, in their order.
func ids(rows any) (out []string) {
	for _, row := range rows.([]any) {
		out = append(out, row.(map[string]any)["id"].(string))
	}
	return out
}

// Case is ignored in any alphabet and normal form, in a database that exists too, and accents where the field says so.
func TestSearchesIgnoreAccentsWhereAFieldSaysSo(t *testing.T) {
	each(t, func(t *testing.T, s store) {
		_, err := s.db.Exec(towns)
		require.NoError(t, err)
		i, err := start(t, map[string]string{
			"database": s.place, "entities.Town.fields.name.fold": "accents", "entities.Town.fields.name.searchable": "true", "entities.Town.fields.plain.searchable": "false",
		})
		require.NoError(t, err)
		for in, want := range map[string][]string{
			`{"filter":{"name":{"$icontains":"lodz"}}}`:           {"1", "5"},
			`{"filter":{"name":{"$icontains":"ŁÓD"}}}`:            {"1", "5"},
			`{"filter":{"plain":{"$icontains":"lodz"}}}`:          {"5"},
			`{"filter":{"plain":{"$icontains":"łódź"}}}`:          {"1"},
			`{"filter":{"plain":{"$icontains":"ärzte"}}}`:         {"2"},
			`{"filter":{"plain":{"$ieq":"ärztehausen"}}}`:         {"2"},
			`{"filter":{"plain":{"$icontains":"CAFÉ"}}}`:          {"4"},
			`{"filter":{"name":{"$ieq":"saint-etienne"}}}`:        {"3"},
			`{"filter":{"name":{"$iin":["arztehausen","LODZ"]}}}`: {"1", "2", "5"},
			`{"filter":{"name":"Lodz"}}`:                          {"5"},
			`{"filter":{"name":{"$contains":"Lodz"}}}`:            {"5"},
			`{"filter":{"$not":{"name":{"$icontains":"lodz"}}}}`:  {"2", "3", "4"},
			`{"q":"etienne"}`:                {"3"},
			`{"q":"smorre cafe"}`:            {"4"},
			`{"q":"Étienne"}`:                {"3"},
			`{"filter":{"$search":"arzte"}}`: {"2"},
			`{"q":"lodz","sort":"id"}`:       {"1", "5"},
			`{"q":"tienne"}`:                 nil,
		} {
			require.Equal(t, want, ids(does(t, i, "koan::Town.collection", in)["items"]), in)
		}
		require.Equal(t, []string{"1", "5"}, ids(does(t, i, "koan::Town.collection", `{"q":"łodz"}`)["items"]), "both are the whole name")
	})
}

// The days of a zone can be counted in a database that exists.
func TestDaysOfAZone(t *testing.T) {
	each(t, func(t *testing.T, s store) {
		_, err := s.db.Exec(towns)
		require.NoError(t, err)
		i, err := start(t, map[string]string{"database": s.place})
		require.NoError(t, err)
		got, err := json.Marshal(does(t, i, "koan::Town.aggregate", `{"filter":{"founded":{"$lt":"2024-06-01T00:00:00Z"}},"groupBy":[{"field":"founded","by":"day"}],"timeZone":"Europe/Berlin","count":true,"sort":"foundedDay"}`)["rows"])
		require.NoError(t, err)
		require.JSONEq(t, `[{"foundedDay":"2024-03-30T23:00:00Z","count":1},{"foundedDay":"2024-03-31T22:00:00Z","count":2}]`, string(got))
	})
}
