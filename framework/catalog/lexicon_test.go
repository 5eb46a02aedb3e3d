package catalog

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A line that does not parse would be a word that means nothing.
func TestWordsFileParses(t *testing.T) {
	for line := range strings.Lines(wordsFile) {
		said, means, directed := strings.Cut(line, ":")
		if strings.HasPrefix(line, "#") || strings.TrimSpace(line) == "" {
			continue
		}
		if !directed {
			require.GreaterOrEqual(t, len(stems(said)), 2, line)
			require.NotContains(t, said, ",", line)
			continue
		}
		for one := range strings.SplitSeq(said, ",") {
			require.NotEmpty(t, stems(one), line)
			require.NotContains(t, one, "'", line)
		}
		require.NotContains(t, means, ",", line)
		for part := range strings.SplitSeq(means, "+") {
			require.Equal(t, strings.TrimSpace(means) == "-", len(stems(part)) == 0, line)
		}
	}
}

func TestMeaningsOfWords(t *testing.T) {
	require.Contains(t, everyday().said[stem("ditch")].either, stem("delete"))
	require.NotContains(t, everyday().alike[stem("delete")], stem("ditch"), "words of people stand for those of tools, not the other way round")
	require.Contains(t, everyday().alike[stem("delete")], stem("remove"))
	require.Contains(t, everyday().alike[stem("remove")], stem("delete"))
	require.Equal(t, [][]string{{stem("create")}, {stem("task")}}, everyday().said[stem("remind")].all)
	require.Contains(t, everyday().said[stem("monday")].maybe, stem("event"))
}

// What a query says is what is left of it: words that say something, and expressions.
func TestReadingQueries(t *testing.T) {
	for query, want := range map[string]string{
		"the old invoices":                               "old invoic",
		"please get rid of the invoices":                 "<delet remov> invoic",
		"throw the old invoices away":                    "<delet remov> old invoic",
		"I threw the old invoices away":                  "<delet remov> old invoic",
		"could you let my aunt know":                     "<+send post +messag comment> aunt",
		"how can I merge it":                             "merg",
		"don't let me forget the milk":                   "<+creat +task> milk",
		"delete \"my secret plans\"":                     "delet",
		"\"my secret plans\"":                            "secret plan",
		"add 12 and 30":                                  "add",
		"42":                                             "42",
		"please":                                         "pleas",
		"What's on GitHub?":                              "<+list +event> git hub =github",
		"SDK.Entities.PantryItem.upsert()":               "pantry item upsert =pantryitem",
		"away throw":                                     "throw",
		strings.Repeat("word ", 2*maxTerms) + "and more": strings.TrimSpace(strings.Repeat("word ", maxTerms)),
	} {
		var got []string
		for _, s := range newQuery(query).said {
			if s.exact {
				continue
			}
			if s.word != "" {
				got = append(got, s.word)
				continue
			}
			means := append(append([]string{}, s.means.either...), s.means.maybe...)
			for _, one := range s.means.all {
				means = append(means, "+"+strings.Join(one, " "))
			}
			got = append(got, "<"+strings.Join(means, " ")+">")
		}
		require.Equal(t, want, strings.Join(got, " "), query)
	}
}
