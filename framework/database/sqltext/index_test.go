package sqltext

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/database/fold"
	"github.com/koan-go/koan/framework/database/sqlitedriver"
	"github.com/koan-go/koan/framework/database/words"
)

// FTS4 divides and folds every character that the index says it knows as searches do.
func TestFTSKnowsCharacters(t *testing.T) {
	db := sqlitedriver.Open(":memory:")
	defer db.Close()
	db.SetMaxOpenConns(1)
	options := strings.ReplaceAll(strings.TrimPrefix(ftsTokens, "tokenize="), "\" \"", "','")
	_, err := db.Exec("CREATE VIRTUAL TABLE tokens USING fts3tokenize(" + strings.Replace(strings.TrimSuffix(options, "\""), " \"", ",'", 1) + "')")
	require.NoError(t, err)
	tokens := func(s string) []string {
		rows, err := db.Query("SELECT token FROM tokens WHERE input=?", s)
		require.NoError(t, err)
		defer rows.Close()
		var out []string
		for rows.Next() {
			var s string
			require.NoError(t, rows.Scan(&s))
			out = append(out, s)
		}
		require.NoError(t, rows.Err())
		return out
	}
	known := 0
	same := map[string][]string{} // by what FTS4 makes of a letter
	for r := rune(1); r <= 0x1ffff; r++ {
		var matches bool
		if r >= 0xd800 && r < 0xe000 {
			continue
		}
		require.NoError(t, db.QueryRow("SELECT ? GLOB '*[^"+ftsKnown+"]*'", string(r)).Scan(&matches))
		require.Equal(t, inFTS(r), !matches, "%U", r)
		if !inFTS(r) {
			continue
		}
		known++
		got := tokens("a" + string(r) + "a")
		if !words.Letter(r) {
			require.Equal(t, []string{"a", "a"}, got, "%U", r)
			continue
		}
		require.Len(t, got, 1, "%U", r)
		same[got[0]] = append(same[got[0]], fold.Text(string(r)))
		c := []rune(fold.Text(string(r)))
		if len(c) > 1 || !ftsFolds([]rune{c[0], 'x'}, 0) {
			continue
		}
		forms, _ := spellings()
		for _, v := range forms[c[0]] {
			require.Equal(t, got, tokens("a"+string(v)+"a"), "%U %U", r, v)
		}
	}
	require.Greater(t, known, 13000)
	for token, forms := range same { // a word that the index is sure of is found nowhere else
		for _, c := range forms {
			if word := []rune(c); len(word) == 1 && ftsFolds(append(word, 'x'), 0) {
				require.Len(t, slices.Compact(slices.Sorted(slices.Values(forms))), 1, "%q is %q", token, forms)
			}
		}
	}
}

// What is looked up of a word are the runs of letters whose ends are sure.
func TestRuns(t *testing.T) {
	show := func(word string) string {
		var out []string
		for _, r := range runs([]rune(fold.Text(word)), ftsFolds) {
			end := "*"
			if r.whole {
				end = ""
			}
			out = append(out, string(r.letters)+end)
		}
		return strings.Join(out, " ")
	}
	for word, want := range map[string]string{
		"dune": "dune*", "x-ray": "x ray*", "o'clock!": "o clock", "日本語": "", "a字b": "a b*", "été": "été*",
		"\u212aelvin x": "kelvin x*", "set\u017f": "set*", "se\u017ft-up": "sest up*", "straße": "stra*", "gras": "gra*", "Wi-Fi": "wi f*", "5µm": "5*", "": "", "...": "", "\u0130a-b": "b*",
	} {
		require.Equal(t, want, show(word), word)
	}
}
