package sqltext

import (
	"fmt"
	"strings"

	"github.com/koan-go/koan/framework/database/fold"
	"github.com/koan-go/koan/framework/database/words"
)

// Ranking is a search whose rows the index of words finds and ranks, without a look at their texts where
// it knows their words.
type Ranking struct {
	Index *WordIndex
	Words []string
	// Score appends the points of a row by its texts: Dialect.Score.
	Score func(b *Builder, table Alias)
	// Filter appends what else rows fulfil; nil is nothing.
	Filter func(b *Builder, table Alias)
	// Scored says that points are asked for, and not only which rows are found.
	Scored bool
	// Bounded leaves out rows of which a word is not whole in the most important text. They have fewer points than Bound.
	Bounded bool
}

// Bound is the first number of points that no row has which Bounded leaves out: in its first text a word is not whole.
func (r *Ranking) Bound() int64 {
	n := len(r.Index.Columns)
	return int64(len(r.Words)*words.Whole*n*(n+1)/2 - (words.Whole-words.Prefix)*n + 1)
}

// maxRanked is how many pairs of a word and a text are asked for one by one.
const maxRanked = 40

// Ranked implements Dialect: PostgreSQL ranks what it has found.
func (postgresIndexes) Ranked(*Builder, *Ranking) bool { return false }

// Ranked implements Dialect. The points of a row are the sum of those that each word has in each text, and FTS4 finds the rows
// of each such pair: those where the word starts another one have one point, and those where it is one have another. What FTS4
// does not know apart, such as a text that is what is looked for, is told by the texts themselves.
func (sqliteIndexes) Ranked(b *Builder, r *Ranking) bool {
	terms := make([]string, len(r.Words))
	for i, word := range r.Words {
		letters := []rune(fold.Text(word))
		if !isOneRun(letters, runs(letters, ftsFolds)) {
			return false
		}
		terms[i] = strings.ToLower(string(letters))
	}
	if len(terms) == 0 || len(terms)*len(r.Index.Columns) > maxRanked {
		return false
	}
	s := sqliteRanking{r, quoted(r.Index.Name()), quoted(r.Index.Name() + "_text"), terms}
	b.Raw("WITH " + apart + " AS MATERIALIZED (")
	s.apart(b)
	b.Raw(") ")
	s.known(b)
	b.Raw(" UNION ALL ")
	s.others(b)
	return true
}

// apart is the name of the numbers of rows that are told by their texts.
const apart = "koan_apart"

type sqliteRanking struct {
	*Ranking
	docs, text string
	terms      []string
}

// all is what each row has: all words, those beside one that is asked for already.
func (s *sqliteRanking) all(beside int) string {
	var out []string
	for i, term := range s.terms {
		switch {
		case s.Bounded:
			out = append(out, ftsColumn(0)+":"+term)
		case i != beside:
			out = append(out, term+"*")
		}
	}
	return strings.Join(out, " ")
}

// known appends the rows whose words FTS4 knows.
func (s *sqliteRanking) known(b *Builder) {
	d := b.NewAlias()
	b.Raw("SELECT ").Alias(d).Raw(".key AS key,f.score AS score FROM (")
	s.scores(b)
	b.Raw(") AS f CROSS JOIN " + s.docs + " AS ").Alias(d).Raw(" ON ").Alias(d).Raw(".doc=f.docid")
	if s.Filter != nil {
		t := b.NewAlias()
		s.join(b, d, t)
		b.Raw(" WHERE ")
		s.Filter(b, t)
	} else { // the highest number may be of a row that is gone
		b.Raw(" WHERE (f.docid<(SELECT max(doc) FROM " + s.docs + ") OR EXISTS (SELECT 1 FROM ").Name(s.Index.Table).Raw(" WHERE ").Name(s.Index.Key).Raw("=").Alias(d).Raw(".key))")
	}
	b.Raw(" AND f.docid NOT IN " + apart)
}

// join appends the table beside the numbers of its rows.
func (s *sqliteRanking) join(b *Builder, d, t Alias) {
	b.Raw(" CROSS JOIN ").Name(s.Index.Table).Raw(" AS ").Alias(t).Raw(" ON ").Column(t, s.Index.Key).Raw("=").Alias(d).Raw(".key")
}

// scores appends the numbers that FTS4 finds, with their points.
func (s *sqliteRanking) scores(b *Builder) {
	matching := func(what string, points int) {
		b.Raw(fmt.Sprintf("SELECT docid,%d AS score FROM %s WHERE %s MATCH ", points, s.text, s.text)).Arg(what)
	}
	if !s.Scored {
		matching(s.all(-1), 1)
		return
	}
	b.Raw("SELECT docid,sum(score) AS score FROM (")
	columns, from := len(s.Index.Columns), 0
	if s.Bounded { // in the first text all words are whole
		matching(s.all(-1), words.Whole*columns*len(s.terms))
		from = 1
	}
	for i := from; i < columns; i++ {
		for j, term := range s.terms {
			if i+j > 0 {
				b.Raw(" UNION ALL ")
			}
			matching(ftsColumn(i)+":"+term+"* "+s.all(j), words.Prefix*(columns-i))
			b.Raw(" UNION ALL ")
			matching(ftsColumn(i)+":"+term+" "+s.all(j), (words.Whole-words.Prefix)*(columns-i))
		}
	}
	b.Raw(") GROUP BY docid")
}

// apart appends the numbers of rows that are told by their texts: those whose words FTS4 does not know, and those of which a text
// may be what is looked for, since it begins with the first word and some text has as many words.
func (s *sqliteRanking) apart(b *Builder) {
	if s.Scored {
		var first []string
		for i := range s.Index.Columns {
			first = append(first, ftsColumn(i)+":^"+s.terms[0])
		}
		b.Raw("SELECT docid FROM " + quoted(s.Index.Name()+"_text_docsize") + " WHERE docid IN (SELECT docid FROM " + s.text + " WHERE " + s.text + " MATCH ").
			Arg(strings.Join(first, " OR ")).Raw(fmt.Sprintf(") AND instr(size,x'%02x')>0 UNION ALL ", len(s.terms)))
	}
	b.Raw(s.Index.unknown())
}

// others appends the rows that are told by their texts.
func (s *sqliteRanking) others(b *Builder) {
	d, t := b.NewAlias(), b.NewAlias()
	b.Raw("SELECT ").Alias(d).Raw(".key AS key,")
	s.Score(b, t)
	b.Raw(" AS score FROM " + s.docs + " AS ").Alias(d)
	s.join(b, d, t)
	b.Raw(" WHERE ").Alias(d).Raw(".doc IN " + apart + " AND ")
	s.Score(b, t)
	b.Raw(">0")
	if s.Filter != nil {
		b.Raw(" AND ")
		s.Filter(b, t)
	}
}

// ftsColumn is the name of a text's column in FTS4.
func ftsColumn(i int) string { return fmt.Sprintf("c%d", i) }
