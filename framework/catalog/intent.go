package catalog

import (
	"slices"
	"strings"
	"sync"
)

// phrases are verbs of several words, and the words of tools that mean them.
var phrases = [][2]string{
	{"are there any", "search"},
	{"bring back", "restore"},
	{"call off", "cancel"},
	{"check off", "complete"},
	{"cross off", "complete"},
	{"do we have", "search"},
	{"fill in", "fill"},
	{"fill out", "fill"},
	{"find out", "search"},
	{"get rid of", "delete"},
	{"go to", "go"},
	{"hand over", "assign"},
	{"how far", "distance"},
	{"how long", "duration"},
	{"how many", "count"},
	{"how much", "sum"},
	{"is there a", "search"},
	{"is there an", "search"},
	{"is there any", "search"},
	{"let everybody know", "send message"},
	{"let everyone know", "send message"},
	{"let them know", "send message"},
	{"look for", "search"},
	{"look up", "search"},
	{"make up", "create"},
	{"note down", "create note"},
	{"pass on", "send"},
	{"pull up", "show"},
	{"push back", "reschedule"},
	{"put off", "reschedule"},
	{"set up", "create"},
	{"sign off", "approve"},
	{"take down", "delete"},
	{"take off", "remove"},
	{"throw away", "delete"},
	{"throw out", "delete"},
	{"tick off", "complete"},
	{"un tick", "reopen"},
	{"turn off", "disable"},
	{"turn on", "enable"},
	{"wipe out", "delete"},
	{"write down", "create note"},
}

// replacer replaces phrases in a text of words with single blanks between them.
var replacer = sync.OnceValue(func() *strings.Replacer {
	var pairs []string
	for _, p := range phrases {
		pairs = append(pairs, " "+p[0]+" ", " "+p[1]+" ")
	}
	return strings.NewReplacer(pairs...)
})

// plainly returns a query with the words of tools in the place of phrases. Other queries
// are unchanged.
func plainly(query string) string {
	words := " " + strings.ToLower(strings.Join(split(query), " ")) + " "
	if out := replacer().Replace(words); out != words {
		return out
	}
	return query
}

// questions are how a query begins that asks for something and wants nothing changed.
var questions = strings.Fields("what which who whose when where why how is are was were do does did has have show list")

// isQuestion reports whether a query asks for something and wants nothing changed.
func isQuestion(query string) bool {
	first := split(query)
	return len(first) > 1 && slices.Contains(questions, strings.ToLower(first[0]))
}

// verbsOfChange are verbs in the names of operations that change something.
var verbsOfChange = sync.OnceValue(func() []string {
	return stems(`accept add append archive assign cancel clear click close commit complete copy create delete drag edit fill fork insert invite
		lock merge mark move patch post press push put remove rename reopen reply resolve respond restore send set submit transition type update
		upload upsert write`)
})

// isChange reports whether an operation's name says that it changes something.
func isChange(op *Operation) bool {
	return op != nil && slices.ContainsFunc(stems(op.ID.Op), func(s string) bool { return slices.Contains(verbsOfChange(), s) })
}
