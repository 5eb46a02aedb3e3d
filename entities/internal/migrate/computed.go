package migrate

import (
	"regexp"
	"slices"
	"strings"
)

// word is one word, name, string or sign of a statement. Comments are left out.
type word struct {
	text string // a quoted name without its quotes
	kind wordKind
}

type wordKind uint8

const (
	plainWord  wordKind = iota // a keyword or a name
	quotedName                 // a name
	noName                     // a string, or a sign
)

var wordForm = regexp.MustCompile(`(?s)--[^\n]*|/\*.*?(?:\*/|$)|'(?:[^']|'')*'|"(?:[^"]|"")*"|` + "`(?:[^`]|``)*`" + `|\[[^\]]*\]|[\pL_][\pL\pN_$]*|\pN[\pL\pN_.]*|\S`)

func wordsOf(statement string) (out []word) {
	for _, s := range wordForm.FindAllString(statement, -1) {
		switch q := s[:1]; {
		case strings.HasPrefix(s, "--"), strings.HasPrefix(s, "/*"):
		case len(s) > 1 && (q == `"` || q == "`"):
			out = append(out, word{strings.ReplaceAll(s[1:len(s)-1], q+q, q), quotedName})
		case len(s) > 1 && q == "[":
			out = append(out, word{s[1 : len(s)-1], quotedName})
		case isName.MatchString(s):
			out = append(out, word{s, plainWord})
		default:
			out = append(out, word{s, noName})
		}
	}
	return out
}

var isName = regexp.MustCompile(`^[\pL_]`)

func (w word) is(keywords ...string) bool {
	return w.kind != quotedName && slices.Contains(keywords, strings.ToLower(w.text))
}

func (w word) names(name string) bool { return w.kind != noName && strings.EqualFold(w.text, name) }

// phrase returns the words that a statement begins with, those of names, such as X in
// ALTER TABLE X RENAME TO Y, in names. "?" stands for a name, with that of its schema before it or not.
func phrase(words []word, form string) (names []string, rest []word, ok bool) {
	for _, f := range strings.Fields(form) {
		switch {
		case len(words) == 0:
			return nil, nil, false
		case f != "?":
			if !words[0].is(f) {
				return nil, nil, false
			}
		case words[0].kind == noName:
			return nil, nil, false
		default:
			if len(words) > 2 && words[1].is(".") {
				words = words[2:]
			}
			names = append(names, words[0].text)
		}
		words = words[1:]
	}
	return names, words, true
}

// computes reports whether a statement of a file computes what a column of a table becomes of what it
// was, rather than copy it as it is. columns are those of the table in their order. A file may write them
// under names that it changes afterwards.
func (f *file) computes(table, name string, columns []string) bool {
	tables, names := []string{table}, []string{name}
	for _, s := range slices.Backward(f.statements) {
		words := wordsOf(s)
		if renamed, _, ok := phrase(words, "alter table ? rename to ?"); ok && within(tables, renamed[1]) {
			tables = append(tables, renamed[0])
		}
		for _, form := range []string{"alter table ? rename column ? to ?", "alter table ? rename ? to ?"} {
			if renamed, _, ok := phrase(words, form); ok && within(tables, renamed[0]) && within(names, renamed[2]) {
				names = append(names, renamed[1])
			}
		}
		from := derivedOf(words)
		for _, item := range written(words, tables, names, columns) {
			if from.computes(item, name) {
				return true
			}
		}
	}
	return false
}

func within(list []string, name string) bool {
	return slices.ContainsFunc(list, func(s string) bool { return strings.EqualFold(s, name) })
}

// written returns the expressions that a statement writes to columns of a table: the items of INSERT …
// SELECT at their places, and the right sides of UPDATE.
func written(words []word, tables, names, columns []string) (out [][]word) {
	for depth := 0; len(words) > 0; words = words[1:] { // past WITH
		depth += nesting(words[0])
		if depth == 0 && words[0].is("insert", "replace", "update") {
			break
		}
	}
	if len(words) == 0 {
		return nil
	}
	updates := words[0].is("update")
	words = words[1:]
	if _, rest, ok := phrase(words, "or ?"); ok {
		words = rest
	}
	if _, rest, ok := phrase(words, "into"); ok {
		words = rest
	}
	into, words, ok := phrase(words, "?")
	if !ok || !within(tables, into[0]) {
		return nil
	}
	if _, rest, ok := phrase(words, "as ?"); ok {
		words = rest
	}
	if updates {
		for _, part := range items(after(words, "set")) {
			if len(part) > 2 && part[1].is("=") && within(names, part[0].text) {
				out = append(out, part[2:])
			}
		}
		return out
	}
	if len(words) > 0 && words[0].is("(") {
		columns = nil
		for _, c := range items(words[1:]) {
			columns = append(columns, c[0].text)
		}
	}
	at := slices.IndexFunc(columns, func(c string) bool { return within(names, c) })
	for words = after(words, "select"); at >= 0 && words != nil; words = after(words, "select") {
		if list := items(words); at < len(list) {
			out = append(out, list[at])
		}
	}
	return out
}

// nesting is 1 where a parenthesis opens, -1 where one closes.
func nesting(w word) int {
	switch {
	case w.is("("):
		return 1
	case w.is(")"):
		return -1
	}
	return 0
}

// after returns what follows a keyword that stands in no parenthesis, nil if there is none.
func after(words []word, keyword string) []word {
	depth := 0
	for i, w := range words {
		depth += nesting(w)
		if depth == 0 && w.is(keyword) {
			return words[i+1:]
		}
	}
	return nil
}

// items splits a list at its commas, up to its end.
func items(words []word) (out [][]word) {
	depth, begin := 0, 0
	add := func(end int) {
		if end > begin {
			out = append(out, words[begin:end])
		}
		begin = end + 1
	}
	for i, w := range words {
		depth += nesting(w)
		switch {
		case depth < 0, depth == 0 && w.is("from", "where", "union", "except", "intersect", "returning", "on", ";"):
			add(i)
			return out
		case depth == 0 && w.is(","):
			add(i)
		}
	}
	add(len(words))
	return out
}

// notCalls are the words that stand before a parenthesis without computing anything of what is in it.
var notCalls = []string{
	"ifnull", "coalesce",
	"in", "from", "as", "values", "exists", "where", "and", "or", "into", "table", "not", "select", "distinct", "all", "case", "when", "then", "else",
	"on", "by", "having", "join", "using", "over", "filter", "between", "like", "is", "limit",
}

// calls reports whether an expression gives a column to a function.
func calls(item []word, name string) bool {
	for i := 1; i < len(item); i++ {
		if !item[i].is("(") || item[i-1].kind == noName || item[i-1].is(notCalls...) {
			continue
		}
		depth := 0
		for _, w := range item[i:] {
			if depth += nesting(w); depth == 0 {
				break
			}
			if w.names(name) {
				return true
			}
		}
	}
	return false
}
