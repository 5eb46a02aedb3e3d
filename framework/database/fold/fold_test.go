package fold_test

import (
	"database/sql"
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

func TestTextsThatAreTheSameWithoutAccents(t *testing.T) {
	for bare, texts := range map[string][]string{
		"creme brulee": {"Crème Brûlée", "CRE\u0300ME BRU\u0302LE\u0301E"},
		"lodz":         {"Łódź", "ŁÓDŹ"},
		"smorrebrod":   {"Smørrebrød"},
		"aeroskobing":  {"Ærøskøbing"},
		"strasse":      {"Straße", "STRAẞE"},
		"istanbul":     {"İstanbul", "ıstanbul"},
		"οδοσ":         {"Οδός", "ΟΔΌΣ"},
		"елка":         {"Ёлка"},
		"nguyen":       {"Nguyễn"},
		"che\xff":      {"ché\xff"}, // what is not UTF-8 stays
		"हिन्दी":       {"हिन्दी"},  // vowel signs are no accents
		"שָׁלוֹם":      {"שָׁלוֹם"},
		"ｶﾞ":           {"ｶﾞ"},
		"\u304c\u304e": {"がぎ"}, // voiced sounds are other ones
	} {
		for _, s := range texts {
			require.Equal(t, norm.NFC.String(bare), fold.Bare(s), s)
		}
	}
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
	var db *sql.DB
	var statements [2]string // by form
	if pgtest.Here(t) {
		before, after := fold.Postgres()
		db, statements[fold.Case] = pgtest.Open(t), before+"$1"+after
		before, after = fold.PostgresBare()
		statements[fold.Accents] = before + statements[fold.Case] + after
	} else {
		db, statements = sqlitedriver.Open(":memory:"), [2]string{fold.Function + "(?)", fold.BareFunction + "(?)"}
		t.Cleanup(func() { require.NoError(t, db.Close()) })
	}
	for form, expression := range statements {
		in := fold.Form(form)
		folded := func(s string) (out string) {
			require.NoError(t, db.QueryRow("SELECT "+expression, s).Scan(&out))
			return out
		}
		for _, s := range characters() {
			require.Equal(t, in.Text(s), folded(s))
			require.Equal(t, in.Text(s), folded(norm.NFD.String(s)))
			require.Equal(t, in.Text(s), in.Text(in.Text(s)), "what is folded stays")
		}
	}
}

func FuzzText(f *testing.F) {
	for _, s := range characters()[:20] {
		f.Add(s)
	}
	f.Add("a\xffß\u0345")
	f.Fuzz(func(t *testing.T, s string) {
		for _, in := range []fold.Form{fold.Case, fold.Accents} {
			require.Equal(t, in.Text(s), in.Text(in.Text(s)))
			require.Equal(t, in.Text(s), in.Text(norm.NFD.String(s)))
		}
	})
}
