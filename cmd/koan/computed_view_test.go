package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What has no type in a table is named BLOB in a view of SQLite: it is what its rows have all the same.
func TestViewsOfColumnsWithoutAType(t *testing.T) {
	place, _ := foreign(t, `CREATE TABLE base (id INTEGER PRIMARY KEY, n INTEGER, twice AS (n * 2), word AS (n || 'x'), half AS (n / 2.0), raw BLOB, note);
INSERT INTO base (id, n, raw, note) VALUES (1, 5, x'00ff', 'a'), (2, 6, x'01', 7);
CREATE VIEW shown AS SELECT twice, word, half, raw, note FROM base;
CREATE VIEW none AS SELECT twice, raw FROM base WHERE n > 100`, false)
	i, err := start(t, map[string]string{"database": place})
	require.NoError(t, err)
	shown := does(t, i, "koan::Shown.collection", `{"filter":{"twice":{"$gt":10}},"sort":"-twice"}`)["items"]
	require.Equal(t, []any{map[string]any{"id": nil, "twice": 12.0, "word": "6x", "half": 3.0, "raw": "AQ==", "note": "7"}}, shown)
	require.EqualValues(t, 22, does(t, i, "koan::Shown.aggregate", `{"sum":["twice"]}`)["rows"].([]any)[0].(map[string]any)["sumTwice"])
	require.Empty(t, does(t, i, "koan::None.collection", `{}`)["items"])
}
