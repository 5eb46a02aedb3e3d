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
	{"carry on", "continue"},
	{"check off", "complete"},
	{"chuck out", "delete"},
	{"clear out", "delete"},
	{"cross off", "complete"},
	{"cross out", "complete"},
	{"do we have", "search"},
	{"do you know", "search memory"},
	{"do you remember", "search memory"},
	{"drop a line", "send message"},
	{"fill in", "fill"},
	{"fill out", "fill"},
	{"find out", "search"},
	{"get back to", "reply"},
	{"get rid of", "delete"},
	{"go to", "go"},
	{"hand over", "assign"},
	{"hang on", "wait"},
	{"hold on", "wait"},
	{"how far", "distance"},
	{"how long", "duration"},
	{"how many", "count"},
	{"how much", "sum"},
	{"in progress", "progress"},
	{"is there a", "search"},
	{"is there an", "search"},
	{"is there any", "search"},
	{"jot down", "create note"},
	{"keep in mind", "remember"},
	{"let everybody know", "send message"},
	{"let everyone know", "send message"},
	{"let them know", "send message"},
	{"log in", "login"},
	{"look for", "search"},
	{"look up", "search"},
	{"make up", "create"},
	{"no longer", "remove"},
	{"note down", "create note"},
	{"on my plate", "assigned"},
	{"open up", "open"},
	{"pass on", "send"},
	{"pencil in", "create event"},
	{"pull up", "show"},
	{"push back", "reschedule"},
	{"put off", "reschedule"},
	{"right now", "current"},
	{"set up", "create"},
	{"shut down", "stop"},
	{"sign in", "login"},
	{"sign off", "approve"},
	{"sign up", "register"},
	{"step by step", "think"},
	{"take down", "delete"},
	{"take off", "remove"},
	{"throw away", "delete"},
	{"throw out", "delete"},
	{"tick off", "complete"},
	{"to do", "todo"},
	{"turn off", "disable"},
	{"turn on", "enable"},
	{"un tick", "reopen"},
	{"up to date", "update"},
	{"wipe out", "delete"},
	{"write back", "reply"},
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

// intent is what somebody wants to happen, or what an operation does.
type intent uint8

const (
	unclear intent = iota
	reads
	creates
	updates
	deletes
	acts // changes something otherwise
)

// intents are the verbs of each intent by their stems, both those of tools' names and those
// of people. How a question begins is a verb of reading.
var intents = sync.OnceValue(func() map[string]intent {
	out := map[string]intent{}
	for of, verbs := range map[intent]string{
		reads: `any anybody anyone anything are aggregate check collection count describe did do does download fetch find get give had has have how is
			list look open pull query read retrieve search see show summarize tell view was were what when where which who whose why`,
		creates: `add append book create fork insert make new post push put save send set start upload upsert write`,
		updates: `change edit mark modify move patch rename replace shift switch update`,
		deletes: `cancel clear delete discard dismiss drop erase forget remove throw trash wipe`,
		acts: `accept archive assign click close commit complete copy drag fill invite lock merge press reopen reply resolve respond restore submit
			transition type`,
	} {
		for _, verb := range stems(verbs) {
			out[verb] = of
		}
	}
	return out
})

// intentOfQuery returns what the first of the query's words that is not a filler wants, or
// a filler before it.
func intentOfQuery(query string) intent {
	for _, word := range stems(plainly(query)) {
		if of := intents()[word]; of != unclear {
			return of
		}
		if !slices.Contains(fillers, word) {
			break
		}
	}
	return unclear
}

// intentOf returns what an operation does, by the first verb in its name.
func intentOf(op *Operation) intent {
	if op != nil {
		for _, word := range stems(op.ID.Op) {
			if of := intents()[word]; of != unclear {
				return of
			}
		}
	}
	return unclear
}

// fit is the share of its score that an operation keeps that does something else than what
// is wanted.
func fit(wanted, does intent) float64 {
	switch {
	case does == wanted || does == unclear:
		return 1
	case wanted == reads:
		return changeShare
	case does == reads || does == deletes && wanted != unclear || wanted == deletes:
		return otherShare
	}
	return 1
}
