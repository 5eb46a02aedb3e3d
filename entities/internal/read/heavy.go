package read

import (
	"crypto/sha256"
	"fmt"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/internal/filter"
	"github.com/koan-go/koan/framework/exact"
	"github.com/koan-go/koan/framework/fault"
)

// held is what the engine of scripts takes for JSON: it holds a list as an object of its own, so that a
// text of little more than its brackets takes two hundred times as much.
var held = exact.Cost{Object: 500, Array: 600, Member: 64, Item: 32}

// lightBytes is up to how many bytes no JSON of a call is too much for a script, whatever it holds.
const lightBytes = 64 << 10

// maxWeight is how much a row may take in a script, for a limit of the text of a call: with the one that
// is the default, a third of what a script has by default.
func maxWeight(limit int) int64 { return 5 * int64(limit) }

// maxPageWeight is how much a page of several rows may take. Rows with a dozen short fields, which take
// seven times their text, fill the limit of a call.
func maxPageWeight(limit int) int64 { return 7 * int64(limit) }

// load is what JSON takes of those who read it.
type load struct {
	bytes  int
	script int64 // what a script takes for it
	depth  int
}

func loadOf(text []byte) load { return load{len(text), held.Of(text), exact.Depth(text)} }

func (l load) add(o load) load {
	return load{l.bytes + o.bytes, l.script + o.script, max(l.depth, o.depth)}
}

// MaxBytes is how much JSON one call returns unless Engine.MaxBytes is set.
const MaxBytes = 4 << 20

// bounds are how much JSON one call may return.
type bounds struct {
	// MaxBytes bounds the JSON of one call; 0 is MaxBytes. A collection beyond it
	// has fewer items and says truncated; anything else ends in call_too_large.
	MaxBytes int
}

func (o *bounds) limit() int {
	if o.MaxBytes > 0 {
		return o.MaxBytes
	}
	return MaxBytes
}

// excess says what of a load is too much for somebody who reads it, and how much of that a load has; ""
// is nothing.
func (o *bounds) excess(l load) (why string, share func(load) int64) {
	switch limit := o.limit(); {
	case l.bytes > limit:
		return fmt.Sprintf("would be larger than %d bytes", limit), func(l load) int64 { return int64(l.bytes) }
	case l.script > maxWeight(limit):
		return "would have more lists, objects and members than a script can hold", func(l load) int64 { return l.script }
	case l.depth > exact.MaxDepth+1: // the row itself is one
		return fmt.Sprintf("would be nested deeper than %d levels", exact.MaxDepth), func(l load) int64 { return int64(l.depth) }
	}
	return "", nil
}

// Burden is why not everybody could read a row: what it takes, by its fields.
type Burden struct {
	total  load
	why    string
	share  func(load) int64 // how much one has of what is too much
	fields map[string]part
}

type part struct {
	load
	digest [sha256.Size]byte
}

// Burden returns why not everybody could read a row with such JSON, nil where everybody can.
func (o *bounds) Burden(row []byte) *Burden {
	if len(row) <= 2*exact.MaxDepth {
		return nil
	}
	total := loadOf(row)
	why, share := o.excess(total)
	if why == "" {
		return nil
	}
	b := &Burden{total: total, why: why, share: share, fields: map[string]part{}}
	for name, v := range exact.All(row) {
		b.fields[name] = part{loadOf(v), sha256.Sum256(v)}
	}
	return b
}

// Excuses reports whether a row may be left with a burden since it had one before, nil for none: it takes
// less now, or what has changed is not what takes too much.
func (o *bounds) Excuses(was, is *Burden) bool {
	if was == nil {
		return false
	}
	if is.total.bytes <= was.total.bytes && is.total.script <= was.total.script && is.total.depth <= was.total.depth {
		return true
	}
	var changed load
	for name, f := range is.fields {
		if f != was.fields[name] {
			changed = changed.add(f.load)
		}
	}
	why, _ := o.excess(changed)
	return why == ""
}

// Field is the name of the field that takes most.
func (b *Burden) Field() (name string) {
	for other, f := range b.fields {
		if name == "" || b.share(f.load) > b.share(b.fields[name].load) {
			name = other
		}
	}
	return name
}

// TooWide is the fault of a row of so many bytes that nobody could read once it is stored, nil for others.
// field takes most of them, "" where the fault may not name it.
func (o *bounds) TooWide(entity *descriptor.Entity, bytes int, field string) *fault.Fault {
	if why, _ := o.excess(load{bytes: bytes}); why != "" {
		return burdenFault(entity, why, field)
	}
	return nil
}

// Unreadable is the fault of a row with a burden. field is as that of TooWide.
func (o *bounds) Unreadable(entity *descriptor.Entity, b *Burden, field string) *fault.Fault {
	return burdenFault(entity, b.why, field)
}

func burdenFault(entity *descriptor.Entity, why, field string) *fault.Fault {
	most := ""
	if field != "" {
		most = ": most of it is its " + filter.Quote(field)
	}
	return fault.Newf(fault.CallTooLarge, "one %s %s and could not be read back%s", entity.Resource.Name, why, most).
		WithHint("Store less in one row.")
}
