package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
)

// A row that cannot be deleted says which rows refer to it, whatever they refer by.
func TestSaysWhatRefersToARow(t *testing.T) {
	onBoth(t, func(bool) string {
		return `CREATE TABLE sums (k numeric(10, 2) PRIMARY KEY); CREATE TABLE sum_refs (id int PRIMARY KEY, k numeric(10, 2) REFERENCES sums);
CREATE TABLE days (k date PRIMARY KEY); CREATE TABLE day_refs (id int PRIMARY KEY, k date UNIQUE REFERENCES days);
CREATE TABLE pairs (a date, b int, PRIMARY KEY (a, b)); CREATE TABLE pair_refs (id int PRIMARY KEY, a date, b int, FOREIGN KEY (a, b) REFERENCES pairs);
CREATE TABLE parents (id int PRIMARY KEY, code numeric(6, 2) UNIQUE); CREATE TABLE kids (id int PRIMARY KEY, code numeric(6, 2) REFERENCES parents (code));
INSERT INTO sums VALUES (7); INSERT INTO sum_refs VALUES (1, 7), (2, 7); INSERT INTO days VALUES ('2020-01-01'); INSERT INTO day_refs VALUES (1, '2020-01-01');
INSERT INTO pairs VALUES ('2020-01-01', 1); INSERT INTO pair_refs VALUES (1, '2020-01-01', 1); INSERT INTO parents VALUES (1, 1.5), (2, 2); INSERT INTO kids VALUES (1, 1.5)`
	}, func(t *testing.T, place string, onPostgreSQL bool) {
		i, err := start(t, map[string]string{"database": place, "readOnly": "false", "approval.mode": "never"})
		require.NoError(t, err)
		sum := map[bool]string{true: "7.00", false: "7"}[onPostgreSQL]
		for call, said := range map[[2]string]string{
			{"Sum", sum}: "2 SumRef entities, SumRef.k", {"Day", "2020-01-01"}: "a DayRef, DayRef.k", {"Pair", "2020-01-01,1"}: "a PairRef, PairRef.a", {"Parent", "1"}: "a Kid, Kid.code",
		} {
			f := refused(t, i, "koan::"+call[0]+".delete", `{"id":"`+call[1]+`"}`)
			require.Equal(t, fault.Conflict, f.Code)
			who, where, _ := strings.Cut(said, ", ")
			require.Contains(t, f.Message, "is still referenced by "+who)
			require.Contains(t, f.Hint, "see "+where+".")
		}
		f := refused(t, i, "koan::Parent.patch", `{"id":"1","changes":{"code":"9.00"}}`)
		require.Equal(t, fault.Conflict, f.Code, "%v", f)
		require.Equal(t, "/changes/code", f.Path)
		f = refused(t, i, "koan::Kid.patch", `{"id":"1","changes":{"code":"9.00"}}`)
		require.Equal(t, fault.InvalidPayload, f.Code, "%v", f)
		require.Equal(t, "/changes/code", f.Path)
		require.Contains(t, f.Message, "there is no Parent with this code")
		require.EqualValues(t, 1, does(t, i, "koan::Parent.delete", `{"id":"2"}`)["deleted"])
	})
}
