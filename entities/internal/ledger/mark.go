package ledger

import (
	"strings"
	"sync"
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

// hasEnded reports whether a name is one of a process that is no more. Of a process on another
// machine, or in another container, nobody here can tell.
func hasEnded(name string) bool {
	_, mark, ok := strings.Cut(name, markSign)
	return ok && processGone(mark)
}
