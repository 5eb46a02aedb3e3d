package read_test

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"github.com/koan-go/koan/framework/database/words"
)

// doc is a value of a field of JSON: nil, string, float64, bool, a list or a map.
type doc struct {
	v   any
	bad bool // text that is not JSON: not null, and nothing is in it
}

func document(text *string) doc {
	var d doc
	if text != nil {
		d.bad = json.Unmarshal([]byte(*text), &d.v) != nil
	}
	return d
}

func (d doc) matches(want any) bool {
	if want == nil {
		return d.v == nil && !d.bad
	}
	for op, v := range want.(map[string]any) {
		yes := false
		switch op {
		case "$eq":
			yes = d.matches(nil)
		case "$ne":
			yes = !d.matches(nil)
		case "$null":
			yes = d.matches(nil) == v.(bool)
		case "$path":
			yes = true
			for path, condition := range v.(map[string]any) {
				yes = yes && stands(d.walk(path), condition)
			}
		default:
			yes = placeHolds(d.v, op, v)
		}
		if !yes {
			return false
		}
	}
	return true
}

// walk returns what stands at one of the paths of the generator.
func (d doc) walk(path string) any {
	steps := map[string][]any{
		"shelf": {"shelf"}, "shelf.rows[0]": {"shelf", "rows", 0}, "shelf.kind": {"shelf", "kind"}, `"a.b"`: {"a.b"}, "tags": {"tags"}, "[1]": {1},
		"nope": {"nope"}, "shelf.rows": {"shelf", "rows"}, "[0][0]": {0, 0}, "[1].shelf": {1, "shelf"}, "big": {"big"},
	}[path]
	v := d.v
	for _, s := range steps {
		switch s := s.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[s]
		case int:
			list, _ := v.([]any)
			if s >= len(list) {
				return nil
			}
			v = list[s]
		}
	}
	return v
}

func stands(v, condition any) bool {
	ops, ok := condition.(map[string]any)
	if !ok {
		return same(v, condition)
	}
	for op, x := range ops {
		if !placeHolds(v, op, x) {
			return false
		}
	}
	return true
}

func placeHolds(v any, op string, x any) bool {
	in := func() bool { return slices.ContainsFunc(x.([]any), func(x any) bool { return same(v, x) }) }
	list, isList := v.([]any)
	has := func(x any) bool { return slices.ContainsFunc(list, func(e any) bool { return same(e, x) }) }
	switch op {
	case "$eq":
		return same(v, x)
	case "$ne":
		return !same(v, x)
	case "$in":
		return in()
	case "$nin":
		return !in()
	case "$null":
		return (v == nil) == x.(bool)
	case "$has":
		return has(x)
	case "$all":
		return !slices.ContainsFunc(x.([]any), func(x any) bool { return !has(x) })
	case "$size":
		return isList && len(list) == x.(int)
	case "$iin":
		s, ok := v.(string)
		return ok && holds(s, op, x)
	case "$between":
		return placeHolds(v, "$gte", x.([]any)[0]) && placeHolds(v, "$lte", x.([]any)[1])
	}
	x = plainNumber(x)
	if a, ok := v.(float64); ok {
		b, ok := x.(float64)
		return ok && holds(a, op, b)
	}
	a, ok1 := v.(string)
	b, ok2 := x.(string)
	return ok1 && ok2 && holds(a, op, b)
}

func plainNumber(v any) any {
	if n, ok := v.(int); ok {
		return float64(n)
	}
	return v
}

func same(v, x any) bool {
	switch v.(type) {
	case []any, map[string]any:
		return false
	}
	return v == plainNumber(x)
}

// searched reports whether every word of q starts a word of the title or the blurb.
func searched(r record, q string) bool {
	for _, word := range strings.Fields(q) {
		if points(r["title"], word) == 0 && points(r["blurb"], word) == 0 {
			return false
		}
	}
	return true
}

func rankOf(r record, q string) int {
	words := strings.Fields(q)
	n := 0
	for weight, v := range []any{r["blurb"], r["title"]} {
		for _, word := range words {
			n += (weight + 1) * points(v, word)
		}
		if text, ok := v.(string); ok && fold(text) == fold(strings.Join(words, " ")) {
			n += (weight + 1) * 1000
		}
	}
	return n
}

// points is 1 where a word of a text starts with a word, 2 where one is the word.
func points(v any, word string) int {
	text, _ := v.(string)
	text, word = fold(text), fold(word)
	first, _ := utf8.DecodeRuneInString(word)
	last, _ := utf8.DecodeLastRuneInString(word)
	most := 0
	for i := range len(text) {
		if !strings.HasPrefix(text[i:], word) {
			continue
		}
		before, _ := utf8.DecodeLastRuneInString(text[:i])
		after, _ := utf8.DecodeRuneInString(text[i+len(word):])
		if words.Letter(first) && i > 0 && words.Letter(before) {
			continue
		}
		most = max(most, 1)
		if i+len(word) == len(text) || !words.Letter(last) || !words.Letter(after) {
			most = 2
		}
	}
	return most
}

// fold is what Unicode calls a canonical caseless match, of what titles have.
func fold(s string) string {
	return norm.NFC.String(cases.Fold().String(norm.NFD.String(s)))
}
