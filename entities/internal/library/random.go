package library

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"
)

var (
	titles = []string{
		"Emma", "emma", "Dune", "Été à Lyon", "100% Cotton", "A_B", `Back\slash`, "Quote's", "日本語", "Dune Messiah", "",
		"Straße nach Süden", "STRASSE", "ΟΔΟΣ", "η οδός", "İzmir", "ırmak", "CAFE\u0301 Noir", "café", "한글", "\u1112\u1161\u11ab\u1100\u1173\u11af", "\u212a2",
	}
	// documents are values of Book.meta: JSON of every shape, and text that is none.
	documents = []string{
		`{"shelf": 3}`, `{"shelf": {"rows": [1, 2, "x"], "kind": "oak"}, "a.b": true}`, `[1, "x", true, null, "X"]`, `null`, `"text"`, `3`, `not JSON`,
		`{"shelf": "3", "tags": ["x", "y"]}`, `[]`, `{"big": 1e300, "shelf": null}`, `false`, `[[1], {"shelf": 2.5}]`,
	}
	keywords = []string{`[]`, `["x"]`, `["x", "y", "z"]`, `null`, `["X", "x y"]`}
	epoch    = time.Date(2024, 2, 29, 23, 59, 59, 0, time.UTC)
)

// Moment is one of a few times that differ in their fractions and days.
func Moment(r *rand.Rand) time.Time {
	fractions := []time.Duration{0, 500 * time.Millisecond, 5 * time.Millisecond, 123456 * time.Microsecond, 120 * time.Millisecond, time.Microsecond}
	return epoch.Add(time.Duration(r.IntN(4))*time.Second).Add(fractions[r.IntN(len(fractions))]).AddDate(0, 0, r.IntN(2))
}

// RandomDay is one of a few days around the end of a year and of a February.
func RandomDay(r *rand.Rand) Day {
	days := []Day{"2023-12-30", "2023-12-31", "2024-01-01", "2024-02-28", "2024-02-29", "2024-03-01", "0001-01-01", "9999-12-31"}
	return days[r.IntN(len(days))]
}

// Title is one of a few titles with characters that mean something to SQL.
func Title(r *rand.Rand) string { return titles[r.IntN(len(titles))] }

// Random makes data with few distinct values, so that filters find something,
// and with nulls wherever they may be.
func Random(r *rand.Rand, books int) Data {
	var d Data
	for i := range 8 {
		a := Author{ID: int64(i + 1), Name: Title(r), Born: maybe(r, int64(1900+r.IntN(4)))}
		if i > 0 {
			a.Mentor = maybe(r, int64(1+r.IntN(i)))
		}
		d.Authors = append(d.Authors, a)
	}
	for i := range 6 {
		d.Desks = append(d.Desks, Desk{ID: int64(i + 1), Room: Title(r), Owner: maybe(r, int64(i+2))})
	}
	for i := range 5 {
		d.Tags = append(d.Tags, Tag{ID: int64(i + 1), Label: fmt.Sprintf("tag%d", i%3)})
	}
	for i := range books {
		b := Book{
			ID: fmt.Sprintf("b%04d", i), Title: Title(r), Blurb: maybe(r, Title(r)), Pages: maybe(r, int64(r.IntN(5))),
			Sold: int64(r.IntN(4)) - 1, Price: maybe(r, float64(r.IntN(6))/4), InPrint: r.IntN(2) == 0,
			PublishedAt: maybe(r, Moment(r)), CreatedAt: Moment(r), OrderedOn: maybe(r, RandomDay(r)), Genre: maybe(r, Genres[r.IntN(3)]),
			Meta: maybe(r, documents[r.IntN(len(documents))]), Keywords: maybe(r, keywords[r.IntN(len(keywords))]), ISBN: maybe(r, uuid.UUID{15: byte(r.IntN(3))}.String()),
			Cost: maybe(r, fmt.Sprintf("%d.%d", r.IntN(12), r.IntN(3))), Author: maybe(r, int64(1+r.IntN(8))),
		}
		if r.IntN(2) == 0 {
			b.Cover = []byte{byte(r.IntN(3))}
		}
		for g := range d.Tags {
			if r.IntN(4) == 0 {
				b.Tags = append(b.Tags, d.Tags[g].ID)
			}
		}
		d.Books = append(d.Books, b)
	}
	return d
}

func maybe[T any](r *rand.Rand, v T) *T {
	if r.IntN(3) == 0 {
		return nil
	}
	return &v
}
