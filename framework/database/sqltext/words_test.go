package sqltext_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/database/fold"
	"github.com/koan-go/koan/framework/database/sqlitedriver"
	"github.com/koan-go/koan/framework/database/sqltext"
	"github.com/koan-go/koan/framework/database/words"
)

// A database without the app's functions finds words as words.Score does.
func TestWordWithoutFunctions(t *testing.T) {
	db := sqlitedriver.Open(":memory:")
	defer db.Close()
	db.SetMaxOpenConns(1)
	points := map[sqltext.WordMatch]int{sqltext.WordPrefix: words.Prefix, sqltext.WordWhole: words.Whole, sqltext.WordEntire: words.Whole + words.Entire(1)}
	texts := []string{"", "milk", "Buy MILK", "milkman", "buttermilk", "buttermilk milkman, milk", "c++", "a*b", "x[1]", "été", "aété été", "日本の牛乳", "3.5 %", "milk?", "milk farm"}
	for _, text := range texts {
		for _, word := range []string{"milk", "m", "c++", "+", "a*", "*", "[1]", "été", "ét", "牛乳", "本", "3.5", "%", "?", "milk?"} {
			got := 0
			for m, n := range points {
				b := sqltext.Builder{Dialect: sqltext.SQLite{}}
				b.Raw("SELECT ")
				b.Dialect.Word(&b, func(b *sqltext.Builder) { b.Arg(text) }, word, m, fold.Case)
				var found bool
				require.NoError(t, db.QueryRow(string(b.Text()), b.Args()...).Scan(&found))
				if found {
					got = max(got, n)
				}
			}
			require.Equal(t, words.Score([]string{word}, word, []string{strings.ToLower(text)}), got, "%q in %q", word, text)
		}
	}
}

// Only the words of an entity's searched columns that are letters throughout are sure.
func TestFindIsSure(t *testing.T) {
	x := &sqltext.WordIndex{Table: "notes", Key: "id", Columns: []string{"title"}}
	for _, d := range []sqltext.Dialect{sqltext.SQLite{Folds: true}, sqltext.PostgreSQL{Folds: true}} {
		_, lite := d.(sqltext.SQLite)
		for word, want := range map[string]bool{
			"milk": true, "été": true, "Ünder": true, "x1": true,
			"o'clock": false, "c++": false, "milk!": false, "日本": false, "a字b": false,
			"straße":                !lite, // FTS4 doesn't know that ß is ss
			strings.Repeat("a", 33): lite,
		} {
			b := sqltext.Builder{Dialect: d}
			_, sure := d.Find(&b, x, b.NewAlias(), []string{"some", word})
			require.Equal(t, want, sure, "%s: %s", d.Name(), word)
		}
	}
}
