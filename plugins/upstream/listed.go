package upstream

import (
	"bytes"
	"encoding/json"
	"slices"
	"sync"
)

// listed are the tools, as the server listed them last.
type listed struct {
	mu      sync.Mutex
	tools   []json.RawMessage
	asked   bool          // they have been asked for
	changes int           // how often the server has said that its lists have changed
	at      int           // changes when they were asked for
	tried   int           // changes of which nobody waits for a list any more: it came, or could not
	moved   chan struct{} // closed when tried grows; nil while nobody waits
	ended   bool          // the server does not know the session any more
}

// announce counts a change that the server has announced.
func (l *listed) announce() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.changes++
}

// end notes that no further list will come.
func (l *listed) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
}

// hasTried reports whether nobody waits any more for the list that follows so many changes.
func (l *listed) hasTried(at int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.tried >= at
}

// subscribe notes that the server says from now on when its lists change, and reports whether they may
// have changed unnoticed: they were asked for before.
func (l *listed) subscribe() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.asked {
		l.changes++
	}
	return l.asked
}

// ask notes that the lists are being asked for, and returns how often the server has said that they
// have changed.
func (l *listed) ask() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked = true
	return l.changes
}

// keep keeps the tools that were asked for when the server had announced so many changes. One that
// was announced meanwhile is about a later list.
func (l *listed) keep(tools []json.RawMessage, at int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tools, l.at = tools, at
}

// noteTried notes that nobody has to wait any more for the list that followed so many announced changes.
func (l *listed) noteTried(at int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if at <= l.tried {
		return
	}
	l.tried = at
	if l.moved != nil {
		close(l.moved)
		l.moved = nil
	}
}

// announcedList returns what is closed when the listing of all changes that the server has announced so
// far may have ended, and how many they are; nil if it has.
func (l *listed) announcedList() (moved <-chan struct{}, at int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended || l.tried >= l.changes {
		return nil, 0
	}
	if l.moved == nil {
		l.moved = make(chan struct{})
	}
	return l.moved, l.changes
}

// isNewest reports whether the server has announced no change since it listed them.
func (l *listed) isNewest() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.at == l.changes
}

// offers reports whether the server has listed a tool in just this way.
func (l *listed) offers(raw json.RawMessage) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.tools, func(t json.RawMessage) bool { return bytes.Equal(t, raw) })
}

// find returns a tool as the server listed it last, nil if it did not.
func (l *listed) find(name string) json.RawMessage {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, raw := range l.tools {
		if nameOf(raw) == name {
			return raw
		}
	}
	return nil
}
