package fold_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/text/unicode/norm"

	"github.com/koan-go/koan/framework/database/fold"
	"github.com/koan-go/koan/framework/database/sqlitedriver"
	"github.com/koan-go/koan/tests/pgtest"
)

func TestTextsThatAreTheSame(t *testing.T) {
	for _, same := range [][]string{
		{"straße", "STRAẞE", "STRASSE", "Strasse", "ſtraße"},
		{"Οδός", "ΟΔΌΣ", "οδόσ", "Ο\u0394ο\u0301ς"},
		{"İstanbul", "i̇stanbul", "I\u0307STANBUL"},
		{"ırmak", "ıRMAK"},
		{"café", "CAFÉ", "cafe\u0301", "CAFE\u0301"},
		{"한글", "\u1112\u1161\u11ab\u1100\u1173\u11af"},
		{"ﬁsh", "FISH", "fish"},
		{"Ŭber", "u\u0306BER"},
		{"Ж", "ж"},
		{"ᏸ", "Ᏸ"},
		{"Ǆ", "ǆ", "ǅ"},
		{"ᾳ", "ΑΙ", "αι"},
		{"\u212a", "k"},
		{"\u212b", "å", "A\u030a"},
		{"q\u0323\u0307", "Q\u0307\u0323"},
		{"µ", "Μ", "μ"},
		{"ա", "Ա"},
		{"ა", "Ა"},
		{"\U00010400", "\U00010428"},
	} {
		for _, s := range same {
			require.Equal(t, fold.Text(same[0]), fold.Text(s), "%+q %+q", same[0], s)
		}
	}
	for _, other := range [][2]string{{"cafe", "café"}, {"i", "ı"}, {"ａ", "a"}, {"²", "2"}, {"o", "ø"}} {
		require.NotEqual(t, fold.Text(other[0]), fold.Text(other[1]), other)
	}
	require.Equal(t, "a\xff", fold.Text("A\xff"), "what is not UTF-8 stays")
}

// characters are all that have a case or a decomposition, and some of their neighbours, as texts
// of a hundred each.
func characters() (out []string) {
	var now []rune
	for r := rune(1); r <= 0x1f000; r++ {
		if r >= 0xd800 && r < 0xe000 || r >= 0xac00+300 && r < 0xd7a4 || r >= 0x4e00 && r < 0x9fff && r%50 != 0 {
			continue
		}
		if r >= 0x10500 && r < 0x10780 || r >= 0x10d40 && r < 0x10e00 || r >= 0x11000 && r < 0x1e900 || r >= 0x0897 && r < 0x08d3 || r >= 0xa7c0 && r < 0xa7e0 || r >= 0x1c80 && r < 0x1cd0 || r >= 0x1ac0 && r < 0x1b00 || r >= 0x0c3c && r < 0x0c3d || r >= 0x2c2f && r < 0x2c60 || r >= 0x1dfa && r < 0x1dfb {
			continue // of what the Unicode of some server does not know yet
		}
		now = append(now, 'x', r, 0x301)
		if len(now) > 300 {
			out, now = append(out, string(now)), nil
		}
	}
	return append(out, string(now))
}

// Both databases fold every character as Text does.
func TestDatabasesFoldAlike(t *testing.T) {
	if pgtest.ForEach(t, TestDatabasesFoldAlike) {
		return
	}
	var folded func(string) string
	if pgtest.Here(t) {
		before, after := fold.Postgres()
		db := pgtest.Open(t)
		folded = func(s string) (out string) {
			require.NoError(t, db.QueryRow("SELECT "+before+"$1"+after, s).Scan(&out))
			return out
		}
	} else {
		db := sqlitedriver.Open(":memory:")
		t.Cleanup(func() { require.NoError(t, db.Close()) })
		folded = func(s string) (out string) {
			require.NoError(t, db.QueryRow("SELECT "+fold.Function+"(?)", s).Scan(&out))
			return out
		}
	}
	for _, s := range characters() {
		require.Equal(t, fold.Text(s), folded(s))
		require.Equal(t, fold.Text(s), folded(norm.NFD.String(s)))
		require.Equal(t, fold.Text(s), fold.Text(fold.Text(s)), "what is folded stays")
	}
}

func FuzzText(f *testing.F) {
	for _, s := range characters()[:20] {
		f.Add(s)
	}
	f.Add("a\xffß\u0345")
	f.Fuzz(func(t *testing.T, s string) {
		require.Equal(t, fold.Text(s), fold.Text(fold.Text(s)))
		require.Equal(t, fold.Text(s), fold.Text(norm.NFD.String(s)))
	})
}
