package catalog

import (
	"slices"
	"sync"
)

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
		reads: `any anybody anyone anything are aggregate be check collection count describe did do does download fetch find get give had has have how is
			list look open query read retrieve search see show summarize view was were what when where whether which who whose why wonder`,
		creates: `add append arrange book create fork insert make new organize plan post push put save schedule send set start upload upsert write`,
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

// intentOfQuery returns what a query wants, and whether it begins with the verb that says so.
// What only names things is read.
func intentOfQuery(all []said) (wants intent, sure bool) {
	beginning := true
	for at, s := range all {
		of := intentOfWord(s)
		if slices.Contains(auxiliaries, s.word) && at > 0 {
			of = unclear
		}
		if of != unclear && beginning {
			return of, true
		}
		if wants == unclear {
			wants = of
		}
		if s.word == "" || !isFiller(s.word) {
			beginning = false
		}
	}
	if wants == unclear {
		wants = reads
	}
	return wants, false
}

// auxiliaries are verbs of reading only where a query begins with them: then it is a question.
var auxiliaries = stems("are be did do does had has have is was were")

// intentOfWord returns what a word of people wants, itself or what it stands for.
func intentOfWord(s said) intent {
	if of := intents()[s.word]; of != unclear || s.means == nil {
		return of
	}
	for _, either := range append([][]string{s.means.either, s.means.maybe}, s.means.all...) {
		if len(either) > 0 && intents()[either[0]] != unclear {
			return intents()[either[0]]
		}
	}
	return unclear
}

// intentOf returns what an operation does, by the first verb in its name. Post is also how
// a request is sent over HTTP: another verb counts before it.
func intentOf(op *Operation) intent {
	first := unclear
	if op == nil {
		return first
	}
	for _, word := range stems(op.ID.Op) {
		switch of := intents()[word]; {
		case of == unclear:
		case word == "post":
			first = of
		default:
			return of
		}
	}
	return first
}

// The shares of their scores that operations keep that do something else than is wanted.
const (
	oppositeShare = 0.5  // what changes something where the query wants to read, and the like
	otherShare    = 0.75 // what changes it otherwise
	unsureShare   = 0.65 // what does not do what the query may want
)

// fit is the share of its score that an operation keeps for what it does.
func fit(wanted intent, sure bool, does intent) float64 {
	share := 1.0
	switch {
	case does == wanted || does == unclear:
	case (does == reads) != (wanted == reads) || (does == deletes) != (wanted == deletes):
		share = oppositeShare
	default:
		share = otherShare
	}
	if !sure {
		return max(share, unsureShare)
	}
	return share
}
