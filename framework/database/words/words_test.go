package words_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/database/fold"
	"github.com/koan-go/koan/framework/database/words"
)

func TestScore(t *testing.T) {
	entire := words.Entire(2)
	for _, c := range []struct {
		query string
		texts []string
		want  int
	}{
		{"milk", []string{"buy milk", ""}, 2 * words.Whole},
		{"milk", []string{"", "buy milk"}, words.Whole},
		{"milk", []string{"buy milkman's cheese", ""}, 2 * words.Prefix},
		{"milk", []string{"buttermilk", "semimilk"}, 0},
		{"milk", []string{"buttermilk, milkman, milk", ""}, 2 * words.Whole},
		{"milk farm", []string{"milk", "the farmer"}, 2*words.Whole + words.Prefix},
		{"milk farm", []string{"milk", "the city"}, 0},
		{"milk", []string{"milk", "milk"}, 3*words.Whole + 3*entire},
		{"milk farm", []string{"milk farm", ""}, 4*words.Whole + 2*entire},
		{"日本", []string{"東日本大", ""}, 2 * words.Whole},
		{"++", []string{"c++", ""}, 2 * words.Whole},
		{"é", []string{"aé é", ""}, 2 * words.Whole},
		{"aa", []string{"aaaa xaa", ""}, 2 * words.Prefix},
		{"a", []string{"\xffa", "\x00a"}, 3 * words.Whole},
	} {
		require.Equal(t, c.want, words.Score(strings.Split(c.query, " "), c.query, c.texts), "%q in %q", c.query, c.texts)
	}
}

// A value of any type that a column can have is read.
func TestValue(t *testing.T) {
	require.EqualValues(t, 3*words.Entire(2)+3*words.Whole, words.Value("milk", []byte("Milk"), "MILK"))
	require.Zero(t, words.Value("milk", nil, int64(1)))
}

// Whatever is in a text, each word that it consists of is found in it, and no more points are given
// than a text has that is the words.
func FuzzScore(f *testing.F) {
	f.Add("Buy milkman's cheese", "milk")
	f.Add("\xff日本 É", "é")
	f.Fuzz(func(t *testing.T, text, word string) {
		folded := fold.Text(text)
		for _, w := range strings.Fields(folded) {
			require.Positive(t, words.Score([]string{w}, w, []string{folded}), "%q in %q", w, folded)
		}
		if w := fold.Text(word); w != "" {
			score := words.Score([]string{w}, w, []string{folded})
			require.LessOrEqual(t, score, words.Whole+words.Entire(1))
			require.Equal(t, folded == w, score > words.Entire(1))
			if score > 0 {
				require.Contains(t, folded, w)
			}
		}
	})
}
