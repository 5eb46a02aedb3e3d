package sqltext

import (
	"strconv"
	"strings"

	"github.com/koan-go/koan/framework/database/fold"
	"github.com/koan-go/koan/framework/database/words"
)

// PostgreSQL's index of words is a GIN index of an expression. The words of a text
// are made by the expression, not by the server's parser, which has ideas of its own
// about addresses and numbers. It folds texts as fold.Function does, and does not call that: an
// index is also made where no search path leads to it.

const (
	lexemeLetters = 32     // of a word, by which it is found; a lexeme has at most 2 KB
	longest       = 200000 // characters of a text whose words fit a tsvector, which has at most 1 MB
	other         = "*"    // the lexeme that stands for a longer text
)

// lexemes is the expression that is indexed. It is a function's, whose cost tells the
// planner that nobody wants it to be reckoned for every row.
func (x *WordIndex) lexemes(column func(name string) string) string {
	return quoted(x.Name()) + "(" + x.joinTexts(column) + ")"
}

// lexemeFunction makes the function. It calls nothing that depends on a setting.
func (x *WordIndex) lexemeFunction() string {
	before, after := fold.Postgres()
	cut := "regexp_replace(" + before + "$1" + after + ",'([" + words.Letters + "]{" + strconv.Itoa(lexemeLetters) + "})[" + words.Letters + "]+','\\1','g')"
	return "CREATE OR REPLACE FUNCTION " + quoted(x.Name()) + "(text) RETURNS tsvector LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE COST 10000 AS $koan$ BEGIN " +
		"IF length($1)>" + strconv.Itoa(longest) + " THEN RETURN array_to_tsvector(ARRAY['" + other + "']); END IF; " +
		"RETURN array_to_tsvector(array_remove(regexp_split_to_array(" + cut + ",'[^" + words.Letters + "]+'),'')); END $koan$"
}

// Find implements Dialect.
func (postgresIndexes) Find(b *Builder, x *WordIndex, a Alias, words []string) (found, sure bool) {
	var all []string
	sure = true
	for _, word := range words {
		letters := []rune(fold.Text(word))
		parts := runs(letters, func([]rune, int) bool { return true })
		sure = sure && isOneRun(letters, parts) && len(letters) <= lexemeLetters
		for _, r := range parts {
			all = append(all, lexemeQuery(r))
		}
	}
	if len(all) == 0 {
		return false, false
	}
	b.Raw(x.lexemes(columnsOf(a)) + " @@ CAST(").Arg(strings.Join(all, "&") + "|'" + other + "'").Raw(" AS tsquery)")
	return true, sure
}

// Unknown implements Dialect.
func (postgresIndexes) Unknown(b *Builder, x *WordIndex, a Alias) {
	b.Raw("length(" + x.joinTexts(columnsOf(a)) + ")>" + strconv.Itoa(longest))
}

// columnsOf writes the columns of a table.
func columnsOf(a Alias) func(name string) string {
	at := string(a.append(nil)) + "."
	return func(name string) string { return at + quoted(name) }
}

// lexemeQuery is a run of letters, as far as a lexeme has them.
func lexemeQuery(r run) string {
	if len(r.letters) > lexemeLetters {
		return "'" + string(r.letters[:lexemeLetters]) + "':*"
	}
	if r.whole {
		return "'" + string(r.letters) + "'"
	}
	return "'" + string(r.letters) + "':*"
}

// MakeIndex implements Dialect.
func (postgresIndexes) MakeIndex(x *WordIndex) []Statement {
	return []Statement{
		{x.lexemeFunction(), "divide texts into words"},
		{"CREATE INDEX " + quoted(x.Name()) + " ON " + quoted(x.Table) + " USING gin (" + x.lexemes(quoted) + ")", "index the words of " + x.Table},
	}
}

// DropIndex implements Dialect.
func (postgresIndexes) DropIndex(name string) []Statement {
	return []Statement{
		{"DROP INDEX IF EXISTS " + quoted(name), "drop an index of words"},
		{"DROP FUNCTION IF EXISTS " + quoted(name) + "(text)", "drop its function"},
	}
}

// Indexes implements Dialect.
func (postgresIndexes) Indexes() string {
	return "SELECT indexname FROM pg_indexes WHERE schemaname=current_schema() AND starts_with(indexname,'" + IndexPrefix + "')"
}

// FoldedKeys implements Dialect.
func (postgresIndexes) FoldedKeys() string {
	return "SELECT indexname FROM pg_indexes WHERE schemaname=current_schema() AND starts_with(indexname,'" + KeyPrefix + "')"
}

// MakeKey implements Dialect. A set has the function from its start; the schema on which files are planned has not.
func (postgresIndexes) MakeKey(x *FoldedKey) []Statement {
	return []Statement{{fold.PostgresFunction(), "fold texts"}, x.Statement()}
}

// Complete implements Dialect: an index is there or not.
func (postgresIndexes) Complete(string) string { return "SELECT true" }
