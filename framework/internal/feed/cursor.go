package feed

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run/follow"
)

// MaxSets is how many sets one stream may follow: each event names the places in all of them.
const MaxSets = 32

// maxCursor bounds the text of a cursor.
const maxCursor = 4096

// place is how far a stream has come in a set: everything up to an entry, and of the next
// entry so many images, if it has come to the middle of one.
type place struct {
	follow.Head
	// done is how many images of the entry at Head are behind it; whole is all of them.
	done int
}

// whole says that nothing of an entry is left.
const whole = -1

// Cursor is where a stream stands, in all sets that it follows. Its text is the id of an event.
type Cursor struct {
	// all says that the stream follows every set that its reader may name. One that is not in
	// places had no commit.
	all    bool
	places map[string]place
}

var (
	validSet  = regexp.MustCompile(`^[a-z0-9_-]{1,48}$`)
	validMark = regexp.MustCompile(`^[0-9a-f]{8}$`)
)

// ValidSet reports whether a set can have a name.
func ValidSet(name string) bool { return validSet.MatchString(name) }

// String is the inverse of ParseCursor.
func (c Cursor) String() string {
	var b strings.Builder
	if c.all {
		b.WriteByte('*')
	}
	for _, set := range slices.Sorted(maps.Keys(c.places)) {
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		p := c.places[set]
		b.WriteString(set + ":" + strconv.FormatInt(p.Position, 10))
		if p.done != whole {
			b.WriteString("+" + strconv.Itoa(p.done))
		}
		if p.Position > 0 {
			b.WriteString(":" + p.Mark)
		}
	}
	return b.String()
}

// ParseCursor reads the id of an event.
func ParseCursor(text string) (Cursor, error) {
	wrong := func() (Cursor, error) {
		return Cursor{}, fault.Newf(fault.InvalidPayload, "%s is not the id of an event", catalog.Quote(fault.Clip(text, 64))).
			WithHint("Send the id of the last event as it came, or none to follow from now on.").WithPath("/lastEventId")
	}
	if text == "" || len(text) > maxCursor {
		return wrong()
	}
	c := Cursor{places: map[string]place{}}
	parts := strings.Split(text, ",")
	if parts[0] == "*" {
		c.all, parts = true, parts[1:]
	}
	for _, part := range parts {
		set, p, ok := parsePlace(part)
		if _, twice := c.places[set]; !ok || twice || len(c.places) == MaxSets {
			return wrong()
		}
		c.places[set] = p
	}
	return c, nil
}

// parsePlace reads SET:POSITION[+DONE][:MARK].
func parsePlace(text string) (set string, p place, ok bool) {
	set, rest, ok := strings.Cut(text, ":")
	if !ok || !ValidSet(set) {
		return "", place{}, false
	}
	at, mark, marked := strings.Cut(rest, ":")
	at, done, partly := strings.Cut(at, "+")
	p.done = whole
	if partly {
		n, ok := number(done)
		if !ok || n > 1<<31-1 {
			return "", place{}, false
		}
		p.done = int(n)
	}
	p.Position, ok = number(at)
	p.Mark = mark
	if !ok || marked != (p.Position > 0) || marked && !validMark.MatchString(mark) || partly && !marked {
		return "", place{}, false
	}
	return set, p, true
}

// number reads a number from 0 as it is written.
func number(text string) (int64, bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil && n >= 0 && strconv.FormatInt(n, 10) == text
}

// with returns the cursor with another place in a set.
func (c Cursor) with(set string, p place) Cursor {
	places := maps.Clone(c.places)
	if places == nil {
		places = map[string]place{}
	}
	places[set] = p
	return Cursor{all: c.all, places: places}
}
