package derive

import (
	"strconv"
	"strings"
	"unicode"

	"github.com/go-openapi/inflect"
	"golang.org/x/text/runes"
	"golang.org/x/text/transform"
	"golang.org/x/text/unicode/norm"

	"github.com/koan-go/koan/framework/catalog"
)

// words splits a name of a database at whatever is neither letter nor digit, and where capitals begin a
// word: "order_items", "Order Details", "OrderID". Letters lose their accents; those of other alphabets
// are kept as their numbers, since names of entities are ASCII.
func words(name string) []string {
	plain, _, err := transform.String(transform.Chain(norm.NFKD, runes.Remove(runes.In(unicode.Mn))), name)
	if err != nil {
		plain = name
	}
	var b strings.Builder
	for _, r := range plain {
		switch {
		case r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r)):
			b.WriteRune(r)
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			b.WriteString("u" + strconv.FormatInt(int64(r), 16))
		default:
			b.WriteByte('_')
		}
	}
	text := b.String()
	if text == strings.ToUpper(text) { // capitals alone begin no words
		text = strings.ToLower(text)
	}
	return strings.FieldsFunc(strings.ReplaceAll(catalog.Kebab(text), "-", "_"), func(r rune) bool { return r == '_' })
}

func pascal(of []string) string {
	var b strings.Builder
	for _, w := range of {
		b.WriteString(strings.ToUpper(w[:1]) + w[1:])
	}
	return b.String()
}

func camel(of []string) string {
	if len(of) == 0 {
		return ""
	}
	return of[0] + pascal(of[1:])
}

// fieldName is the name of a column: customer_id and CustomerID are both customerId.
func fieldName(column string) string {
	name := camel(words(column))
	if name == "" || name[0] >= '0' && name[0] <= '9' {
		return "column" + pascal(words(column))
	}
	return name
}

// singular is a name of one of many. Words in which the last s belongs to the word stay.
func singular(word string) string {
	for _, end := range []string{"ss", "us", "is", "news", "series", "species"} {
		if strings.HasSuffix(word, end) {
			return word
		}
	}
	if strings.HasSuffix(word, "sses") || strings.HasSuffix(word, "uses") {
		return strings.TrimSuffix(word, "es")
	}
	if one := inflect.Singularize(word); one != "" {
		return one
	}
	return word
}

// plural is the name of many of an entity, in camelCase.
func plural(entity string) string {
	of := words(entity)
	if len(of) == 0 {
		return entity
	}
	of[len(of)-1] = inflect.Pluralize(singular(of[len(of)-1]))
	return camel(of)
}

// entityName is the name of a table's entity: order_items is OrderItem.
func entityName(table string, one bool) string {
	of := words(table)
	if len(of) > 0 && one {
		of[len(of)-1] = singular(of[len(of)-1])
	}
	name := pascal(of)
	if name == "" || name[0] >= '0' && name[0] <= '9' {
		name = "Table" + name
	}
	if _, routed := catalog.Routed(name); !routed || catalog.IsReserved(name) {
		name += "Row"
	}
	return name
}

// entityNames names entities, each with a name of its own: where the singulars of two tables are the same, the
// names are those of the tables as they are, then with the schema before them, then with numbers.
func entityNames(of []*entity) []string {
	ways := []func(e *entity) string{
		func(e *entity) string { return entityName(e.source.Name, true) },
		func(e *entity) string { return entityName(e.source.Name, false) },
		func(e *entity) string { return entityName(e.source.Schema+"_"+e.source.Name, true) },
		func(e *entity) string { return entityName(e.source.Schema+"_"+e.source.Name, false) },
	}
	out := make([]string, len(of))
	way := make([]int, len(of))
	for range len(ways) * 2 {
		count := map[string]int{}
		for i, e := range of {
			out[i] = ways[way[i]](e)
			count[catalog.Kebab(out[i])]++
		}
		again := false
		for i := range of {
			if count[catalog.Kebab(out[i])] > 1 && way[i]+1 < len(ways) {
				way[i]++
				again = true
			}
		}
		if !again {
			break
		}
	}
	taken := map[string]bool{}
	for i, name := range out {
		for n := 2; taken[catalog.Kebab(out[i])]; n++ {
			out[i] = name + strconv.Itoa(n)
		}
		taken[catalog.Kebab(out[i])] = true
	}
	return out
}

// take returns the first of some names that is free, or the first with a number.
func (e *entity) take(names ...string) string {
	for _, name := range names {
		if name != "" && !e.taken[strings.ToLower(name)] {
			e.taken[strings.ToLower(name)] = true
			return name
		}
	}
	for n := 2; ; n++ {
		if name := names[len(names)-1] + strconv.Itoa(n); !e.taken[strings.ToLower(name)] {
			e.taken[strings.ToLower(name)] = true
			return name
		}
	}
}

// withoutID is the name of a relationship along a column: customer_id leads to a customer. It is "" for a
// column that is not called after an id.
func withoutID(column string) string {
	of := words(column)
	if n := len(of); n > 1 && (of[n-1] == "id" || of[n-1] == "uuid" || of[n-1] == "fk") {
		return camel(of[:n-1])
	}
	return ""
}
