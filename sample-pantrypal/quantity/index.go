package quantity

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Named is a food for the index: its id and all its names.
type Named struct {
	ID    string
	Names []string // the name itself first, then the aliases
}

// Index finds the food that a text names. It is safe for concurrent use.
type Index struct {
	ids   map[string]string // by normalized name
	names []entry
	base  *Index // is asked where this one knows nothing
}

type entry struct {
	id, name string
	words    []string
	grams    map[string]bool
}

// Match is what an index found: a food, or none and the foods that are most
// alike, the best first. An index never guesses: it finds a food by its name or
// an alias, however it is inflected, and words that say size, quality or
// preparation do not count.
type Match struct {
	ID         string
	Candidates []string // ids; empty where a food was found
}

// maxCandidates is how many foods a Match names.
const maxCandidates = 5

// NewIndex makes an index. The error names every name that two foods claim.
func NewIndex(foods []Named) (*Index, error) {
	x := &Index{ids: map[string]string{}}
	var problems []error
	for _, f := range foods {
		for _, name := range f.Names {
			key := several(normalize(name), isPlural(name))
			other, taken := x.ids[key]
			switch {
			case key == "":
				problems = append(problems, fmt.Errorf("%q of %s is not a name", name, f.ID))
				continue
			case taken && other != f.ID:
				problems = append(problems, fmt.Errorf("%q of %s is a name of %s", name, f.ID, other))
				continue
			}
			x.ids[key] = f.ID
			x.names = append(x.names, entry{f.ID, key, strings.Fields(key), trigrams(key)})
		}
	}
	return x, errors.Join(problems...)
}

// Over returns an index that knows the names of x, and those of base that x does not claim.
func (x *Index) Over(base *Index) *Index { return &Index{x.ids, x.names, base} }

// Named returns the food that has exactly that name or alias, whatever its case and number.
func (x *Index) Named(name string) (id string, ok bool) {
	return x.named(several(normalize(name), isPlural(name)))
}

func (x *Index) named(key string) (id string, ok bool) {
	for ; x != nil; x = x.base {
		if id, ok := x.ids[key]; ok {
			return id, true
		}
	}
	return "", false
}

// bones are what meat and fish are sold with; as words they would not be safe to drop.
var bones = strings.NewReplacer("bone in ", "", "bone on ", "", "skin on ", "", "skin off ", "", "with bone ", "")

// Find returns the food that a name such as "Large onions" stands for.
func (x *Index) Find(name string) Match { return x.find(name, isPlural(name)) }

func (x *Index) find(name string, plural bool) Match {
	words := strings.Fields(bones.Replace(normalize(name)))
	tries := [][]string{words}
	for i := 0; i < len(words) && qualifiers[words[i]]; i++ {
		tries = append(tries, words[i+1:]) // "fresh minced beef" is minced beef
	}
	tries = append(tries, without(words, qualifiers), without(words, qualifiers, parts))
	for _, try := range tries {
		if id, ok := x.named(several(strings.Join(try, " "), plural)); ok && len(try) > 0 {
			return Match{ID: id}
		}
	}
	return Match{Candidates: x.candidates(words, without(words, qualifiers))}
}

// FindLine is Find for a line of a recipe: what comes in cans is canned food,
// if there is such a food.
func (x *Index) FindLine(l Line) Match {
	if l.Unit == "can" || l.Package == "can" {
		if m := x.Find("canned " + l.Name); m.ID != "" {
			return m
		}
	}
	return x.find(l.Name, isPlural(l.Name) || l.Amount.Valid && l.Unit.isPiece())
}

// severals are names of what nobody counts, and how there are several of them: pepper is a spice,
// and peppers, or one pepper, are a vegetable.
var severals = map[string]string{"pepper": "peppers"}

// several returns the key of a normalized name of which there are several.
func several(key string, plural bool) string {
	if s, ok := severals[key]; ok && plural {
		return s
	}
	return key
}

// isPlural reports whether a name says that there are several of what severals knows.
func isPlural(name string) bool {
	words := strings.Fields(strings.ToLower(name))
	for _, s := range severals {
		if len(words) > 0 && words[len(words)-1] == s {
			return true
		}
	}
	return false
}

// Words are those of a name in a form in which case, accents, marks and plurals do not count.
func Words(name string) []string { return strings.Fields(normalize(name)) }

// normalize makes one key of all ways to write a name: case, accents, marks and
// plurals do not count.
func normalize(name string) string {
	folded := strings.Map(func(r rune) rune {
		switch {
		case unicode.Is(unicode.Mn, r), r == '\'', r == '’':
			return -1
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '%':
			return unicode.ToLower(r)
		}
		return ' '
	}, norm.NFKD.String(strings.ToValidUTF8(name, " ")))
	words := strings.Fields(folded)
	for i, w := range words {
		words[i] = singular(w)
	}
	return strings.Join(words, " ")
}

var irregular = map[string]string{
	"leaves": "leaf", "chillies": "chilli", "chilies": "chili", "halves": "half", "loaves": "loaf", "cookies": "cookie", "quiches": "quiche", "brioches": "brioche",
	"shoes": "shoe", "hummus": "hummus", "asparagus": "asparagus", "couscous": "couscous", "molasses": "molasses",
}

// singular returns the singular of most English nouns. A word that is none comes
// back changed at worst, but always in the same way.
func singular(w string) string {
	if s, ok := irregular[w]; ok {
		return s
	}
	for _, same := range []string{"ss", "us", "is"} {
		if strings.HasSuffix(w, same) {
			return w
		}
	}
	if stem, ok := strings.CutSuffix(w, "ies"); ok && len(stem) > 2 {
		return stem + "y"
	}
	for _, end := range []string{"oes", "ches", "shes", "sses", "xes"} {
		if strings.HasSuffix(w, end) && len(w) > len(end)+1 {
			return strings.TrimSuffix(w, "es")
		}
	}
	if len(w) > 3 {
		return strings.TrimSuffix(w, "s")
	}
	return w
}

func without(words []string, drop ...map[string]bool) []string {
	return slices.DeleteFunc(slices.Clone(words), func(w string) bool {
		return slices.ContainsFunc(drop, func(d map[string]bool) bool { return d[w] })
	})
}

func onlyQualifiers(text string) bool {
	return len(without(strings.Fields(normalize(text)), qualifiers)) == 0
}

// candidates returns the ids of the foods most alike to one of some texts: "minced" says more of meat
// than of garlic.
func (x *Index) candidates(texts ...[]string) []string {
	type scored struct {
		id    string
		score float64
	}
	best := map[string]float64{}
	for _, words := range texts {
		grams := trigrams(strings.Join(words, " "))
		for e := range x.entries {
			if score := alike(grams, e.grams) + shared(words, e.words); score >= 0.3 {
				best[e.id] = max(best[e.id], score)
			}
		}
	}
	ranked := make([]scored, 0, len(best))
	for id, s := range best {
		ranked = append(ranked, scored{id, s})
	}
	slices.SortFunc(ranked, func(a, b scored) int { return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.id, b.id)) })
	out := []string{}
	for _, s := range ranked[:min(len(ranked), maxCandidates)] {
		out = append(out, s.id)
	}
	return out
}

// entries yields the names of the index and of those below it.
func (x *Index) entries(yield func(entry) bool) {
	for ; x != nil; x = x.base {
		for _, e := range x.names {
			if !yield(e) {
				return
			}
		}
	}
}

// shared is which part of the words of a name a text has.
func shared(text, name []string) float64 {
	n := 0
	for _, w := range name {
		if slices.Contains(text, w) {
			n++
		}
	}
	return float64(n) / float64(max(len(name), 1))
}

// trigrams of a text find names with a letter wrong.
func trigrams(s string) map[string]bool {
	out := map[string]bool{}
	r := []rune("  " + s + " ")
	for i := 0; i+3 <= len(r); i++ {
		out[string(r[i:i+3])] = true
	}
	return out
}

func alike(a, b map[string]bool) float64 {
	n := 0
	for g := range a {
		if b[g] {
			n++
		}
	}
	return 2 * float64(n) / float64(len(a)+len(b))
}
