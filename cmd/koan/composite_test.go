package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
)

// seatSchema has tables whose keys have several columns, with texts that ids have to mark, and one of them refers to
// another.
const seatSchema = `CREATE TABLE halls (id INTEGER PRIMARY KEY, name TEXT);
CREATE TABLE seats (line VARCHAR(20), place INTEGER, hall_id INTEGER NOT NULL REFERENCES halls ON DELETE CASCADE, price NUMERIC(8, 2), doubled INTEGER GENERATED ALWAYS AS (place * 2) STORED, PRIMARY KEY (line, place));
CREATE TABLE bookings (id INTEGER PRIMARY KEY, line VARCHAR(20), place INTEGER, who TEXT, FOREIGN KEY (line, place) REFERENCES seats);
CREATE TABLE rates (hall_id INTEGER REFERENCES halls, day DATE, tier NUMERIC(4, 2), cents INTEGER DEFAULT 7, PRIMARY KEY (hall_id, day, tier));
INSERT INTO halls VALUES (1, 'Great'), (2, 'Small');
INSERT INTO seats (line, place, hall_id, price) VALUES ('A,1', 1, 1, 9.50), ('50%', 2, 1, 1);
INSERT INTO bookings VALUES (1, 'A,1', 1, 'ann');
INSERT INTO rates VALUES (1, '2024-02-29', 1.50, 5);
`

func TestWritesRowsWhoseKeyHasSeveralColumns(t *testing.T) {
	for _, onPostgreSQL := range []bool{false, true} {
		t.Run(map[bool]string{false: "SQLite", true: "PostgreSQL"}[onPostgreSQL], func(t *testing.T) {
			place, db := foreign(t, seatSchema, onPostgreSQL)
			i, err := start(t, map[string]string{"database": place, "readOnly": "false", "approval.mode": "never"})
			require.NoError(t, err)

			made := does(t, i, "koan::Seat.create", `{"model":{"line":"B,%","place":3,"hallId":"2","price":"12.50"}}`)
			require.Equal(t, map[string]any{"id": "B%2C%25,3", "line": "B,%", "place": 3.0, "hallId": "2", "price": "12.50", "doubled": 6.0}, made)
			f := refused(t, i, "koan::Seat.create", `{"model":{"line":"B,%","place":3,"hallId":"2"}}`)
			require.Equal(t, fault.Conflict, f.Code, "%v", f)
			changed := does(t, i, "koan::Seat.patch", `{"id":"B%2C%25,3","changes":{"price":"1.00","hall":{"id":"1"}}}`)
			require.Equal(t, []any{"1.00", "1"}, []any{changed["price"], changed["hallId"]})
			require.Equal(t, "1.00", does(t, i, "koan::Seat.upsert", `{"model":{"line":"B,%","place":3}}`)["price"], "the key finds it")
			require.Equal(t, "2", does(t, i, "koan::Seat.upsert", `{"model":{"id":"B%2C%25,3","hallId":"2"}}`)["hallId"])
			require.Equal(t, 3.0, does(t, i, "koan::Seat.upsert", `{"model":`+string(encode(t, made))+`}`)["place"], "it is sent back whole")
			require.Equal(t, "C,4", does(t, i, "koan::Seat.upsert", `{"model":{"id":"C,4","hallId":"1"}}`)["id"], "a new one by its id")
			f = refused(t, i, "koan::Seat.upsert", `{"model":{"id":"D,5","place":6,"hallId":"1"}}`)
			require.Equal(t, fault.InvalidPayload, f.Code, "%v", f)
			f = refused(t, i, "koan::Seat.patch", `{"id":"C,4","changes":{"place":5}}`)
			require.Equal(t, fault.InvalidPayload, f.Code, "%v", f)
			require.Equal(t, fault.NotFound, refused(t, i, "koan::Seat.patch", `{"id":"C,5","changes":{"price":"1.00"}}`).Code)
			rate := does(t, i, "koan::Rate.collection", `{}`)["items"].([]any)[0].(map[string]any)
			require.EqualValues(t, 6, does(t, i, "koan::Rate.patch", `{"id":"`+rate["id"].(string)+`","changes":{"cents":6}}`)["cents"], "%v", rate)
			many := does(t, i, "koan::Seat.upsert-many", `{"models":[{"line":"Z","place":2,"hallId":"1"},{"line":"Z","place":1,"hallId":"1","price":"2.00"},{"id":"C,4","hallId":"2"}]}`)
			require.Len(t, many["items"], 3)
			require.Equal(t, "2", first(t, db, "SELECT hall_id FROM seats WHERE line = 'C'"))
			require.EqualValues(t, 2, does(t, i, "koan::Seat.update-by-query", `{"filter":{"line":"Z"},"changes":{"price":"3.00"},"all":true}`)["updated"])
			require.EqualValues(t, 1, does(t, i, "koan::Seat.delete", `{"id":"C,4"}`)["deleted"])
			require.EqualValues(t, 2, does(t, i, "koan::Seat.delete-many", `{"ids":["Z,1","Z,2","Z,3"]}`)["deleted"])
			require.Equal(t, fault.Conflict, refused(t, i, "koan::Seat.delete", `{"id":"A%2C1,1"}`).Code, "a booking refers to it")
		})
	}
}

// An undo restores such rows, also those that went with the row that they refer to.
func TestUndoOfRowsWhoseKeyHasSeveralColumns(t *testing.T) {
	for _, onPostgreSQL := range []bool{false, true} {
		t.Run(map[bool]string{false: "SQLite", true: "PostgreSQL"}[onPostgreSQL], func(t *testing.T) {
			place, db := foreign(t, seatSchema+"DELETE FROM bookings; DELETE FROM rates WHERE tier = 9;", onPostgreSQL)
			_, err := db.Exec("UPDATE rates SET hall_id = 2")
			require.NoError(t, err)
			joined := "group_concat(x, ' ')"
			if onPostgreSQL {
				joined = "string_agg(x, ' ')"
			}
			look := func() string {
				return first(t, db, "SELECT "+joined+" FROM (SELECT line || ':' || place || ':' || hall_id || ':' || coalesce(CAST(price AS TEXT), '-') AS x FROM seats UNION ALL SELECT hall_id || ':' || day || ':' || tier || ':' || cents FROM rates ORDER BY 1) t")
			}
			before := look()
			i, err := start(t, map[string]string{"database": place, "readOnly": "false", "approval.mode": "never"})
			require.NoError(t, err)
			did := script(t, i, `const { Seat, Hall, Rate } = SDK.Entities;
Seat.create({ line: "new", place: 1, hallId: "2" });
Seat.patch("50%25,2", { price: "8.00" });
Hall.delete("1");
for (const r of Rate.collection().items) { Rate.patch(r.id, { cents: 1 }); Rate.delete(r.id) }
return Seat.count()`, nil)
			require.EqualValues(t, 1, did["result"], "%v", did)
			require.NotEqual(t, before, look())
			_, err = call(t, i, "code::koan.undo", map[string]any{"runId": did["runId"]})
			require.NoError(t, err)
			require.Equal(t, before, look())
		})
	}
}
