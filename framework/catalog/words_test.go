package catalog

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The forms of a word have one stem.
func TestStemJoinsForms(t *testing.T) {
	for _, forms := range []string{
		"expire expires expired expiring expiry expiration expirations", "delete deletes deleted deleting deletion", "create creates created creating creation",
		"plan plans planned planning", "shop shops shopped shopping", "name names named naming", "date dates dated", "type types typed", "recipe recipes",
		"category categories", "item items", "dish dishes", "box boxes", "address addresses addressed", "process processes processing", "fill fills filled filling",
		"install installs installed installing", "aggregate aggregated aggregation", "update updates updating", "buy buys buying", "status", "stock stocks stocked",
		"grocery groceries", "delivery deliveries deliver delivers delivered", "location locations locate located", "note notes noted", "house houses", "analysis",
	} {
		words := strings.Fields(forms)
		for _, w := range words[1:] {
			require.Equal(t, stem(words[0]), stem(w), "%s and %s", words[0], w)
		}
	}
}

// Words that only look alike keep apart.
func TestStemKeepsWordsApart(t *testing.T) {
	words := strings.Fields("expire experience party part county count recipe recipient state station string strip string need seed feed person personal thing note not data date is bring bus add ad pass past process product shop ship meal mean")
	seen := map[string]string{}
	for _, w := range words {
		if other, ok := seen[stem(w)]; ok {
			require.Equal(t, other, w)
		}
		seen[stem(w)] = w
	}
}

func TestFormOf(t *testing.T) {
	for want, words := range map[form]string{
		base:       "add delete bring string need feed speed status bus process key ring red",
		plural:     "adds bugs entries boxes processes",
		participle: "added deleting found stopped planned naming went",
	} {
		for _, w := range strings.Fields(words) {
			require.Equal(t, want, formOf(w), w)
		}
	}
}

func FuzzQuery(f *testing.F) {
	for _, text := range []string{"throw the old invoices away", "file.txt", "a/b/c.md, 1.5,2.5", "don't @me #x WEB-1", `"quoted`, "\xffed", "AddItem addItem"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		q := newQuery(text)
		require.LessOrEqual(t, len(q.said), maxTerms)
		require.NotEqual(t, unclear, q.wants)
		for _, s := range q.said {
			require.True(t, s.word != "" || s.means != nil, text)
		}
	})
}

func FuzzStem(f *testing.F) {
	for _, w := range []string{"expiring", "ing", "éed", "ssssed", "aaing", "日本語ing", "\xffed", "xes"} {
		f.Add(w)
	}
	f.Fuzz(func(t *testing.T, w string) {
		require.LessOrEqual(t, len(stem(w)), len(w)+1)
		require.Equal(t, w == "", stem(w) == "")
	})
}
