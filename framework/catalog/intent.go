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
	acts    // changes something otherwise
	changes // the same, by a verb that is in no list
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
		acts: `accept apply approve archive assign click close commit complete connect convert copy deploy disconnect drag emulate execute export fill format
			generate handle hover invite lock merge navigate play press promote protect publish reopen reply rerun resize resolve respond restore retry run
			stop submit toggle transition trigger type unlock unprotect wait`,
	} {
		for _, verb := range stems(verbs) {
			out[verb] = of
		}
	}
	return out
})

// intentOfQuery returns what a query wants, and whether it begins with the verb that says so.
// What only names things is read, and so is what a verb describes ("files attached to the
// ticket"), unless a word before says that somebody wants it ("the file should be attached").
func intentOfQuery(all []said) (wants intent, sure bool) {
	if beginsWithVerb(all) {
		return changes, true
	}
	beginning, wanted := true, false
	for at, s := range all {
		of := intentOfWord(s)
		describes := s.form == plural || s.form == participle && !wanted
		if describes || slices.Contains(auxiliaries(), s.word) && at > 0 {
			of = unclear
		}
		wanted = wanted || slices.Contains(wishes(), s.word)
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
var auxiliaries = stemsOf("are be did do does had has have is was were")

// wishes are verbs after which another verb says what somebody wants, in any form.
var wishes = stemsOf("can could have let like must need ought please should want would")

// determiners stand before nouns, and after a verb in the imperative.
var determiners = stemsOf("a an her his my our the their these those your")

// prepositions are those that are no fillers. A noun follows them, too.
var prepositions = stemsOf(`above across after against along among around before behind below beneath beside between beyond despite during except inside like near off
	outside past per since toward under underneath until versus within`)

// beginsWithVerb reports whether a query begins with a verb in the imperative that is in no list,
// as "label the task" does. Verbs of reading are few, and in the list: it changes something.
func beginsWithVerb(all []said) bool {
	for at, s := range all {
		switch {
		case s.word == "" || intentOfWord(s) != unclear || slices.Contains(determiners(), s.word):
			return false
		case !isFiller(s.word):
			return s.form == base && !slices.Contains(prepositions(), s.word) && at+1 < len(all) && slices.Contains(determiners(), all[at+1].word)
		}
	}
	return false
}

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
	case does == wanted || does == unclear || wanted == changes && does != reads && does != deletes:
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
