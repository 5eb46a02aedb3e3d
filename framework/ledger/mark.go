package ledger

import (
	"strings"
	"sync"

	"entgo.io/ent/dialect"
)

// A process that died is known by its lease, which runs out. On the same machine it is
// known at once: the names of writers and holders end in the mark of their process,
// of which the system can tell whether it still is.

// markSign stands before the mark in a name.
const markSign = "@"

var ownMark = sync.OnceValue(processMark)

// Marked returns a name of this process, from which others on its machine see at once
// that it has ended.
func Marked(name string) string {
	if m := ownMark(); m != "" {
		return name + markSign + m
	}
	return name
}

// hasEnded reports whether a name is one of a process that is no more. All processes that have a
// file of SQLite open share its memory, so they are on one machine: one of another boot has ended.
func (p place) hasEnded(name string) bool {
	return hasEnded(name) || p.dialect.Name() == dialect.SQLite && ofAnotherBoot(name)
}

// ofAnotherBoot reports whether a name is one of a process that another boot of a kernel has had.
func ofAnotherBoot(name string) bool {
	_, mark, _ := strings.Cut(name, markSign)
	theirs, _, marked := strings.Cut(mark, "/")
	ours, _, known := strings.Cut(ownMark(), "/")
	return marked && known && theirs != ours
}

// hasEnded reports whether a name is one of a process that is no more. Of a process on another
// machine, or in another container, nobody here can tell.
func hasEnded(name string) bool {
	_, mark, ok := strings.Cut(name, markSign)
	return ok && processGone(mark)
}
