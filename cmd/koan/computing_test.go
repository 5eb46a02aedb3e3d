package main

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// An average of large integers is the one of all their digits, and what is no number makes a sum of it none.
func TestAggregatesKeepWhatTheyCompute(t *testing.T) {
	onBoth(t, func(onPostgreSQL bool) string {
		if onPostgreSQL {
			return `CREATE TABLE things (id int PRIMARY KEY, big bigint, odd float8, exact numeric, kind text);
INSERT INTO things VALUES (1, 9007199254740993, 'NaN', 'NaN', 'a'), (2, 1, 1.5, 1.5, 'a'), (3, 9223372036854775807, 2, 2, 'b'), (4, 9223372036854775805, 0.5, 0.5, 'b')`
		}
		return `CREATE TABLE things (id INTEGER PRIMARY KEY, big INTEGER, odd REAL, exact DECIMAL, kind TEXT);
INSERT INTO things VALUES (1, 9007199254740993, 1, 1, 'a'), (2, 1, 1.5, 1.5, 'a'), (3, 9223372036854775807, 2, 2, 'b'), (4, 9223372036854775805, 0.5, 0.5, 'b')`
	}, func(t *testing.T, place string, onPostgreSQL bool) {
		i, err := start(t, map[string]string{"database": place})
		require.NoError(t, err)
		rows := does(t, i, "koan::Thing.aggregate", `{"groupBy":["kind"],"avg":["big"],"sort":"kind"}`)["rows"].([]any)
		require.InDelta(t, 4503599627370497, number(t, rows[0].(map[string]any)["avgBig"]), 0)
		require.InDelta(t, 9.223372036854775807e18, number(t, rows[1].(map[string]any)["avgBig"]), 1)
		if !onPostgreSQL {
			return
		}
		rows = does(t, i, "koan::Thing.aggregate", `{"groupBy":["kind"],"sum":["odd","exact"],"avg":["odd","exact"],"max":["odd"],"sort":"kind"}`)["rows"].([]any)
		require.Equal(t, map[string]any{"kind": "a", "sumOdd": "NaN", "sumExact": "NaN", "avgOdd": "NaN", "avgExact": "NaN", "maxOdd": "NaN"}, rows[0])
		require.Equal(t, "2.5", rows[1].(map[string]any)["sumExact"])
		require.Nil(t, does(t, i, "koan::Thing.aggregate", `{"sum":["odd"],"filter":{"kind":"c"}}`)["rows"].([]any)[0].(map[string]any)["sumOdd"])
	})
}

// number is a number of an answer, however it was decoded.
func number(t *testing.T, v any) float64 {
	t.Helper()
	x, err := strconv.ParseFloat(fmt.Sprint(v), 64)
	require.NoError(t, err)
	return x
}
