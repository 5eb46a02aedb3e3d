package read_test

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/entities/internal/filter"
	"github.com/koan-go/koan/entities/internal/library"
	"github.com/koan-go/koan/tests/pgtest"
	"github.com/koan-go/koan/tests/soak"
)

// hostile are pieces of texts on which people, databases and Unicode differ.
var hostile = []string{
	"dune", "DUNE", "Dune", "messiah", "a", "of", "éTÉ", "été", "e\u0301te\u0301", "Straße", "STRASSE", "ﬁn", "İstanbul", "istanbul", "ISTANBUL", "ıslak",
	"ſet", "set", "Kelvin", "\u212aelvin", "\u00b5m", "\u03bcm", "ΣΊΣΥΦΟΣ", "σίσυφος", "привет", "ПРИВЕТ", "Привет", "мир", "日本語", "日", "한국어", "สวัสดี",
	"नमस्ते", "שלום", "مرحبا", "a_b", "o'clock", "o’clock", "x-ray", "x–ray", "me@example.org", "https://example.org/a?b=c", "1.5e10", "-3", "+49", "2026-11-22", "½", "x²",
	"№5", "C++", "C#", "🎉", "👩‍👩‍👧", "a🎉b", "₺5", "and", "OR", "NOT", "NEAR", "foo*", "\"q\"", "(", ")", "[a", "]", "?", "^", "\\", "'", "''", "%", "_", "×", "a×b", "a÷b", "ª", "1ª", "Ⱥb", "ⱥb",
	"Ԩx", "ԩx", "ʼx", "\u0301x", "koanother", "koan", strings.Repeat("long", 12), strings.Repeat("é", 40), "字a", "a字", "a\tb", "\u00a0", "ǅ", "ǆ", "Ǆ", "ͅ", "ς", "Ω", "\u2126", "Å", "\u212b", "ⅷ", "Ⅷ", "ⓐ", "Ⓐ",
}

type texts struct{ *rand.Rand }

func (g texts) text() string {
	var b strings.Builder
	for range 1 + g.IntN(5) {
		b.WriteString(hostile[g.IntN(len(hostile))])
		b.WriteString([]string{" ", " ", "", "-", ".", ", ", "_", "\n", "  "}[g.IntN(9)])
	}
	return b.String()
}

// query is a piece of a text, or its beginning.
func (g texts) query() string {
	q := []rune(hostile[g.IntN(len(hostile))])
	switch g.IntN(4) {
	case 0:
		q = q[:1+g.IntN(len(q))]
	case 1:
		q = []rune(g.text())
		from := g.IntN(len(q))
		q = q[from:min(len(q), from+1+g.IntN(12))]
	case 2:
		q = append(append(q, ' '), []rune(hostile[g.IntN(len(hostile))])...)
	}
	return string(q)
}

// An index of words changes how fast rows are found, and nothing else: whatever the
// texts and the words are, and however the rows came to be what they are.
func TestIndexFindsWhatScanFinds(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestIndexFindsWhatScanFinds) {
		return
	}
	g := texts{rand.New(rand.NewPCG(11, 22))}
	db := library.Open(t)
	d := library.Dialect(t)
	indexed, scan := scanning(t), scanning(t)
	indexed.Indexed = true
	insert := func(to execer, id string) {
		_, err := to.Exec(pgtest.Marks(t, "INSERT INTO books (id, title, blurb, sold, in_print, created_at, secret, pin) VALUES (?,?,?,0,?,?,'','')"),
			id, g.text(), g.text(), true, library.Moment(g.Rand))
		require.NoError(t, err)
	}
	for i := range 300 {
		insert(db, fmt.Sprintf("old%d", i))
	}
	execute(t, db, d.MakeIndex(filter.Index(books)))
	found := 0
	compare := func(times int) {
		for range times {
			q := g.query()
			if len(strings.Fields(q)) > filter.MaxWords || len([]rune(q)) > filter.MaxQuery {
				continue
			}
			for _, in := range []map[string]any{{"q": q}, {"q": q, "page": 2}, {"q": q, "filter": map[string]any{"title": map[string]any{"$contains": "e"}}}, {"filter": map[string]any{"$not": map[string]any{"$search": q}}}, {"filter": map[string]any{"$or": []any{map[string]any{"$search": q}, map[string]any{"id": "old1"}}}}} {
				in["fields"], in["count"], in["pageSize"] = "title", true, 5
				raw, err := json.Marshal(in)
				require.NoError(t, err)
				want := collection(t, db, scan, books, string(raw))
				require.Equal(t, want, collection(t, db, indexed, books, string(raw)), string(raw))
				if !strings.Contains(want, `"totalCount":0`) {
					found++
				}
			}
		}
	}
	rounds := soak.Rounds(15, 150)
	compare(rounds)
	change(t, db, g, insert)
	compare(2 * rounds)
	require.Greater(t, found, 6*rounds)
	if !pgtest.Here(t) {
		var sound string
		require.NoError(t, db.QueryRow("PRAGMA integrity_check").Scan(&sound))
		require.Equal(t, "ok", sound)
	}
}

// execer is a database or a transaction.
type execer interface {
	Exec(query string, args ...any) (sql.Result, error)
}

// change writes rows again and again, so that all that keeps an index up happens.
func change(t *testing.T, db *sql.DB, g texts, insert func(to execer, id string)) {
	rounds := soak.Rounds(2000, 7000)
	if pgtest.Here(t) {
		rounds /= 10
	}
	for done := 0; done < rounds; {
		tx, err := db.Begin()
		require.NoError(t, err)
		exec := func(query string, args ...any) {
			_, err := tx.Exec(pgtest.Marks(t, query), args...)
			require.NoError(t, err)
		}
		for range 100 {
			done++
			id := fmt.Sprintf("old%d", g.IntN(300))
			switch g.IntN(12) {
			case 0:
				insert(tx, fmt.Sprintf("new%d", done))
			case 1:
				exec("DELETE FROM books WHERE id=?", id)
			case 2:
				exec("UPDATE books SET id=? WHERE id=?", fmt.Sprintf("moved%d", done), id)
			case 3:
				exec("UPDATE books SET blurb=NULL WHERE id=?", id)
			case 4:
				insert(tx, fmt.Sprintf("again%d", done))
				exec("DELETE FROM books WHERE id=?", fmt.Sprintf("again%d", done))
			default:
				exec("UPDATE books SET title=? WHERE id=?", g.text(), id)
			}
		}
		require.NoError(t, tx.Commit())
	}
	insert(db, "last")
	_, err := db.Exec("DELETE FROM books WHERE id='last'")
	require.NoError(t, err)
	insert(db, "last")
}
