package sqltext

import (
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/koan-go/koan/framework/database/fold"
	"github.com/koan-go/koan/framework/database/words"
)

// SQLite's index of words is a table of FTS4, which every build of the driver has.
//
// FTS4 writes a segment for each commit, which costs many times what the row does.
// So the triggers only number the rows that were written, and every 512th number
// puts into FTS4 what it has not seen: rows with a higher number than FTS4 knows are
// looked at by all who search. A row that is written again gets another number; what
// FTS4 has under the old one means no row any more, and goes when it is more than the
// rows there are. Until then FTS4 needs the text that it was made of, so it keeps
// texts of its own: with those of the table it would call itself malformed in an
// integrity check.

// ftsTokens is how FTS4 splits texts: as Letter does, for texts of ftsKnown.
const ftsTokens = "tokenize=unicode61 \"remove_diacritics=0\" " +
	"\"tokenchars=\u00d7\u00f7\u03f6\u0482\u0483\u0484\u0485\u0486\u0487\u0488\u0489\" " +
	"\"separators=\u00aa\u00b2\u00b3\u00b5\u00b9\u00ba\u00bc\u00bd\u00be\""

// ftsKnown are the characters that FTS4 divides into letters and others as Letter
// does; a class of GLOB. A text with any other one is found by every search.
const ftsKnown = "\t-\r -\u02c1\u0386\u0388-\u0527\u2000-\u2064\u20a0-\u20b9\u2190-\u23f3\u2500-\u26ff\u2701-\u2775\u2794-\u2b4c" +
	"\u3000-\u3004\u3008-\u3020\uac00-\ud7a3\ufe0f\U0001f300-\U0001f320\U0001f400-\U0001f43e\U0001f442-\U0001f4f7\U0001f600-\U0001f640"

// ftsOther is the word that stands for a text with other characters.
const ftsOther = "koanother"

// inFTS reports whether a character is one of ftsKnown.
func inFTS(r rune) bool {
	known := []rune(ftsKnown)
	for i := 0; i < len(known); i++ {
		from, to := known[i], known[i]
		if i+2 < len(known) && known[i+1] == '-' {
			to = known[i+2]
			i += 2
		}
		if r >= from && r <= to {
			return true
		}
	}
	return false
}

// ftsFolds reports whether FTS4 finds a letter of a folded word in texts that it knows, however
// the letter is written there. It folds as simple case folding does: one character is never two.
func ftsFolds(word []rune, i int) bool {
	of, sequences := spellings()
	forms := of[word[i]]
	for _, r := range forms {
		if !words.Letter(r) || simpleFold(r) != simpleFold(forms[0]) {
			return false
		}
	}
	for _, s := range sequences {
		for k := range s {
			if start := i - k; start >= 0 && matchesAsFarAs(word[start:], s) {
				return false
			}
		}
	}
	return len(forms) > 0
}

// matchesAsFarAs reports whether a word begins with a sequence, or is a start of it.
func matchesAsFarAs(word, sequence []rune) bool {
	n := min(len(word), len(sequence))
	return slices.Equal(word[:n], sequence[:n])
}

// simpleFold is the first of the characters that simple case folding takes for one.
func simpleFold(r rune) rune {
	least := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		least = min(least, next)
	}
	return least
}

// Find implements Dialect.
func (sqliteIndexes) Find(b *Builder, x *WordIndex, a Alias, words []string) (found, sure bool) {
	var match []string
	sure = true
	for _, word := range words {
		letters := []rune(fold.Text(word))
		parts := runs(letters, ftsFolds)
		sure = sure && isOneRun(letters, parts)
		for _, r := range parts {
			term := strings.ToLower(string(r.letters)) // OR and NOT mean something to FTS4
			if !r.whole {
				term += "*"
			}
			match = append(match, term)
		}
	}
	if len(match) == 0 {
		return false, false
	}
	docs, text := quoted(x.Name()), quoted(x.Name()+"_text")
	b.Column(a, x.Key).Raw(" IN (SELECT key FROM " + docs + " WHERE doc IN (SELECT docid FROM " + text + " WHERE " + text + " MATCH ").Arg(strings.Join(match, " "))
	b.Raw(" UNION ALL " + x.unknown() + "))")
	return true, sure
}

// Unknown implements Dialect.
func (sqliteIndexes) Unknown(b *Builder, x *WordIndex, a Alias) {
	b.Column(a, x.Key).Raw(" IN (SELECT key FROM " + quoted(x.Name()) + " WHERE doc IN (" + x.unknown() + "))")
}

// unknown selects the numbers of rows whose words FTS4 does not know.
func (x *WordIndex) unknown() string {
	text := quoted(x.Name() + "_text")
	return "SELECT docid FROM " + text + " WHERE " + text + " MATCH '" + ftsOther + "' UNION ALL SELECT doc FROM " + quoted(x.Name()) + " WHERE doc>" + x.seen()
}

// seen is the highest number that FTS4 has seen.
func (x *WordIndex) seen() string {
	return "coalesce((SELECT max(docid) FROM " + quoted(x.Name()+"_text_docsize") + "),0)"
}

// ftsColumns are the columns of FTS4, one for each text.
func (x *WordIndex) ftsColumns() []string {
	out := make([]string, len(x.Columns))
	for i := range out {
		out[i] = ftsColumn(i)
	}
	return out
}

// index adds to FTS4 the texts that it does not have.
func (x *WordIndex) index() string {
	columns := strings.Join(x.ftsColumns(), ",")
	return "INSERT INTO " + quoted(x.Name()+"_text") + " (docid," + columns + ") SELECT rowid," + columns + " FROM " + quoted(x.Name()+"_rows") + " WHERE rowid>" + x.seen()
}

// MakeIndex implements Dialect.
func (sqliteIndexes) MakeIndex(x *WordIndex) []Statement {
	name := x.Name()
	table, key := quoted(x.Table), quoted(x.Key)
	docs, rows, text := quoted(name), quoted(name+"_rows"), quoted(name+"_text")
	var texts []string
	for i, c := range x.Columns {
		whole := "coalesce(CAST(t." + quoted(c) + " AS text),'')"
		texts = append(texts, "CASE WHEN "+whole+" GLOB '*[^"+ftsKnown+"]*' THEN '"+ftsOther+"' ELSE "+whole+" END AS "+ftsColumn(i))
	}
	last := "(SELECT max(doc) FROM " + docs + ")"
	var changed []string
	for _, c := range append([]string{x.Key}, x.Columns...) {
		changed = append(changed, "old."+quoted(c)+" IS NOT new."+quoted(c))
	}
	number := "UPDATE " + docs + " SET doc=" + last + "+1 WHERE key=new." + key + "; " +
		"INSERT INTO " + docs + " (key) SELECT new." + key + " WHERE NOT EXISTS (SELECT 1 FROM " + docs + " WHERE key=new." + key + "); " +
		"DELETE FROM " + docs + " WHERE doc=" + last + "-1 AND NOT EXISTS (SELECT 1 FROM " + table + " WHERE " + key + "=" + docs + ".key); "
	// The highest number stays, or it would be given again; it goes when there is a higher one.
	forget := "DELETE FROM " + docs + " WHERE key=old." + key + " AND doc<" + last
	index := "DELETE FROM " + text + " WHERE (SELECT count(*) FROM " + quoted(name+"_text_docsize") + ")>2*(SELECT count(*) FROM " + docs + ")+4096" +
		" AND docid NOT IN (SELECT doc FROM " + docs + "); " + x.index() + "; "
	trigger := func(on, event, body string) Statement {
		event, when, _ := strings.Cut(event, " WHEN ")
		if when != "" {
			when = " WHEN " + when
		}
		first, _, _ := strings.Cut(strings.ToLower(event), " ")
		if on == docs {
			first = "full_" + first
		}
		return Statement{
			"CREATE TRIGGER " + quoted(name+"_"+first) + " AFTER " + event + " ON " + on + when + " BEGIN " + body + "END",
			"keep the words of " + x.Table + ": " + strings.ToLower(first),
		}
	}
	const full = "new.doc%512=0"
	return []Statement{
		{"CREATE TABLE " + docs + " (doc integer PRIMARY KEY, key UNIQUE NOT NULL)", "number the rows of " + x.Table},
		{
			"CREATE VIEW " + rows + " AS SELECT d.doc AS rowid, " + strings.Join(texts, ", ") + " FROM " + docs + " d CROSS JOIN " + table + " t ON t." + key + "=d.key", "the texts of " + x.Table,
		},
		{"CREATE VIRTUAL TABLE " + text + " USING fts4(" + strings.Join(x.ftsColumns(), ", ") + ", " + ftsTokens + ")", "index the words of " + x.Table},
		{"INSERT INTO " + docs + " (key) SELECT " + key + " FROM " + table, "number the rows that are there"},
		{x.index(), "index the words that are there"},
		trigger(docs, "INSERT WHEN "+full, index),
		trigger(docs, "UPDATE OF doc WHEN "+full, index),
		trigger(table, "INSERT", number),
		trigger(table, "UPDATE OF "+strings.Join(names(append([]string{x.Key}, x.Columns...)), ",")+" WHEN "+strings.Join(changed, " OR "),
			forget+" AND old."+key+" IS NOT new."+key+"; "+number),
		trigger(table, "DELETE", forget+"; "),
	}
}

func names(columns []string) []string {
	out := make([]string, len(columns))
	for i, c := range columns {
		out[i] = quoted(c)
	}
	return out
}

// DropIndex implements Dialect. The triggers on the table go with what they are
// named after.
func (sqliteIndexes) DropIndex(name string) []Statement {
	out := []Statement{}
	for _, t := range []string{"_insert", "_update", "_delete"} {
		out = append(out, Statement{"DROP TRIGGER IF EXISTS " + quoted(name+t), "keep no words"})
	}
	return append(out,
		Statement{"DROP TABLE IF EXISTS " + quoted(name+"_text"), "drop an index of words"},
		Statement{"DROP VIEW IF EXISTS " + quoted(name+"_rows"), "drop its texts"},
		Statement{"DROP TABLE IF EXISTS " + quoted(name), "drop its numbers"})
}

// Indexes implements Dialect: an index that lacks a trigger is none.
func (sqliteIndexes) Indexes() string {
	return "SELECT m.name FROM sqlite_master m WHERE m.type='table' AND m.name GLOB '" + IndexPrefix + "*' AND length(m.name)=" + strconv.Itoa(len(IndexPrefix)+8)
}

// FoldedKeys implements Dialect.
func (sqliteIndexes) FoldedKeys() string {
	return "SELECT name FROM sqlite_master WHERE type='index' AND name GLOB '" + KeyPrefix + "*'"
}

// MakeKey implements Dialect.
func (sqliteIndexes) MakeKey(x *FoldedKey) []Statement { return []Statement{x.Statement()} }

// Complete implements Dialect.
func (sqliteIndexes) Complete(name string) string {
	return "SELECT count(*)=8 FROM sqlite_master WHERE name IN ('" + strings.Join([]string{
		name, name + "_rows", name + "_text", name + "_insert", name + "_update", name + "_delete", name + "_full_insert", name + "_full_update",
	}, "','") + "')"
}
