package main

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// Cursors come to each row once, whatever a page ends with: a day before the year 1 or behind the year 9999, and rows of
// SQLite whose key is null, of which there may be several.
func TestCursorsReachEveryRow(t *testing.T) {
	onBoth(t, func(onPostgreSQL bool) string {
		if onPostgreSQL {
			return `CREATE TABLE things (id int PRIMARY KEY, k date, at timestamptz, plain timestamp);
INSERT INTO things SELECT n, d::date, d::timestamptz, d::timestamp FROM (VALUES (1, '0044-03-15 BC'), (2, '10000-01-01'), (3, '2020-01-01'), (4, 'infinity'), (5, '-infinity'), (7, '0001-01-01'), (8, '9999-12-31'), (9, '294276-12-31'), (10, '4713-01-01 BC')) AS v(n, d);
INSERT INTO things (id, k) VALUES (6, NULL), (11, '5874897-12-31');
CREATE TABLE days (k date PRIMARY KEY, n int); INSERT INTO days SELECT k, id FROM things WHERE k IS NOT NULL;
CREATE TABLE moments (k timestamptz PRIMARY KEY, n int); INSERT INTO moments SELECT at, id FROM things WHERE at IS NOT NULL`
		}
		return `CREATE TABLE things (id INTEGER PRIMARY KEY, k DATE, at DATETIME, plain DATETIME);
INSERT INTO things VALUES (1, '-0044-03-15', '-0044-03-15 00:00:00', '2020'), (2, '10000-01-01', '10000-01-01 00:00:00', 5), (3, '2020-01-01', '2020-01-01 00:00:00', NULL), (4, '2021-01-01', NULL, 'x');
CREATE TABLE days (k DATE PRIMARY KEY, n INTEGER); INSERT INTO days VALUES (NULL, 1), ('2020-01-01', 2), (NULL, 3), ('x', 4), (NULL, 5);
CREATE TABLE words (k TEXT PRIMARY KEY, n INTEGER); INSERT INTO words VALUES (NULL, 1), ('a', 2), (NULL, 3), ('b', 4), (NULL, 5);
CREATE TABLE numbers (k INT PRIMARY KEY, n INTEGER); INSERT INTO numbers VALUES (NULL, 1), (2, 2), (NULL, 2), (4, 4), (NULL, 2);
CREATE TABLE pairs (a TEXT, b INTEGER, n INTEGER, PRIMARY KEY (a, b)); INSERT INTO pairs VALUES (NULL, 1, 1), ('a', NULL, 2), (NULL, NULL, 3), ('b', 4, 4), (NULL, NULL, 5);
CREATE TABLE apart (k TEXT PRIMARY KEY, n INTEGER) WITHOUT ROWID; INSERT INTO apart VALUES ('a', 1), ('b', 2), ('c', 1);
CREATE TABLE strict_ones (k TEXT PRIMARY KEY, n INTEGER) STRICT; INSERT INTO strict_ones VALUES ('a', 1), ('b', 2), ('c', 1)`
	}, func(t *testing.T, place string, onPostgreSQL bool) {
		i, err := start(t, map[string]string{"database": place})
		require.NoError(t, err)
		rows := map[string]int{"Day": 10, "Moment": 9, "Thing": 11}
		if !onPostgreSQL {
			rows = map[string]int{"Day": 5, "Word": 5, "Number": 5, "Pair": 5, "Apart": 3, "StrictOne": 3, "Thing": 4}
		}
		for entity, total := range rows {
			sorts := []string{"id", "-id", "n", "-n"}
			if entity == "Thing" {
				sorts = []string{"k", "-k", "at", "-at", "plain", "-plain"}
			}
			for _, sort := range sorts {
				all, _ := json.Marshal(does(t, i, "koan::"+entity+".collection", fmt.Sprintf(`{"sort":%q}`, sort))["items"])
				for size := range 3 {
					var seen []any
					for page := does(t, i, "koan::"+entity+".collection", fmt.Sprintf(`{"sort":%q,"pageSize":%d}`, sort, size+1)); ; {
						seen = append(seen, page["items"].([]any)...)
						if page["nextCursor"] == nil || len(seen) > total {
							break
						}
						page = does(t, i, "koan::"+entity+".collection", fmt.Sprintf(`{"sort":%q,"pageSize":%d,"cursor":%q}`, sort, size+1, page["nextCursor"]))
					}
					require.Len(t, seen, total, "%s by %s", entity, sort)
					paged, _ := json.Marshal(seen)
					require.JSONEq(t, string(all), string(paged), "%s by %s", entity, sort)
				}
			}
		}
	})
}
