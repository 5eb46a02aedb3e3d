package migrate

import (
	"maps"
	"slices"
	"strings"
)

// derived are what columns of the WITHs and subqueries of a statement are made of, by their names in small
// letters.
type derived map[string][][]word

// derivedOf finds them.
func derivedOf(words []word) derived {
	out := derived{}
	for i := 1; i < len(words); i++ {
		if !words[i].is("(") || i+1 == len(words) || !words[i+1].is("select") || !words[i-1].is("as", "from", "join", ",", "materialized") {
			continue
		}
		named := columnList(words[:i])
		inner := words[i+1:]
		for list := items(inner[1:]); list != nil; {
			for at, item := range list {
				name := columnName(item)
				if at < len(named) {
					name = named[at]
				}
				if name != "" {
					out[strings.ToLower(name)] = append(out[strings.ToLower(name)], item)
				}
			}
			if inner = withinParenthesis(inner, "select"); inner == nil {
				break
			}
			list = items(inner)
		}
	}
	return out
}

// withinParenthesis is after, up to the end of the parenthesis that words stand in; the keyword that they
// begin with is passed over.
func withinParenthesis(words []word, keyword string) []word {
	depth := 0
	for i, w := range words {
		if depth += nesting(w); depth < 0 {
			return nil
		}
		if i > 0 && depth == 0 && w.is(keyword) {
			return words[i+1:]
		}
	}
	return nil
}

// columnList returns the columns of WITH x (a, b) AS, which words end with.
func columnList(words []word) (names []string) {
	end := len(words) - 1
	for end >= 0 && words[end].is("materialized", "not") {
		end--
	}
	if end < 1 || !words[end].is("as") || !words[end-1].is(")") {
		return nil
	}
	for i := end - 2; i >= 0 && !words[i].is("("); i-- {
		if words[i].kind != noName {
			names = append(names, words[i].text)
		}
	}
	slices.Reverse(names)
	return names
}

// columnName is the name of a column that an item of SELECT makes, "" where it has none.
func columnName(item []word) string {
	if last := item[len(item)-1]; last.kind != noName {
		return last.text
	}
	return ""
}

// source returns the column that an item is, whatever it is called then, "" where it is not one alone.
func source(item []word) string {
	if n := len(item); n > 2 && item[n-2].is("as") {
		item = item[:n-2]
	}
	if n := len(item); n == 1 || n == 3 && item[1].is(".") {
		return columnName(item)
	}
	return ""
}

// computes reports whether an expression gives a column to a function, itself or where the columns that it
// copies come from.
func (d derived) computes(item []word, name string) bool {
	own, inner := withoutSubqueries(item)
	if calls(own, name) {
		return true
	}
	for _, list := range inner {
		for _, one := range list {
			if d.computes(one, name) {
				return true
			}
		}
	}
	from := strings.ToLower(source(item))
	if len(d[from]) == 0 {
		return false
	}
	rest := maps.Clone(d) // each name is followed once
	delete(rest, from)
	return slices.ContainsFunc(d[from], func(one []word) bool { return rest.computes(one, name) })
}

// withoutSubqueries returns an expression without those in it, and what each of them selects.
func withoutSubqueries(item []word) (own []word, inner [][][]word) {
	for i := 0; i < len(item); i++ {
		own = append(own, item[i])
		if !item[i].is("(") || i+1 == len(item) || !item[i+1].is("select") {
			continue
		}
		inner = append(inner, items(item[i+2:]))
		for depth := 1; depth > 0 && i+1 < len(item); i++ {
			depth += nesting(item[i+1])
		}
		own = append(own, word{")", noName})
	}
	return own, inner
}
