package undo

import (
	"cmp"
	"slices"

	"github.com/koan-go/koan/framework/journal"
)

// index is which rows a run changed, and on which pages their images are. It is all that an undo keeps of
// the rows that it is not at, so that the largest run is undone in little more memory than a small one.
type index struct {
	pages   journal.Pages
	unnamed int // images that belong to no row of an entity
	tables  []table
	known   map[table]int32
	at      map[rowKey]int32
	entries []entry
	earlier map[int32][]place // of rows that several commits changed: their images but the last one

	read cache
}

// table is the rows of an entity in a set.
type table struct{ set, entity string }

// rowKey names a row.
type rowKey struct {
	table int32
	id    string
}

// place is where an image is.
type place struct{ page, at int32 }

// entry is what is known of a row.
type entry struct {
	last        place // of its images
	table       int32
	first, then byte // what the first and the last image say: actions by their first letter
	restored    bool
}

// action is what the run did to the row, "" where it is as it was.
func (e *entry) action() string { return netAction(e.first, e.then) }

// letter is an action's first letter, by which it differs from the others.
func letter(action string) byte {
	if action == "" {
		return 0
	}
	return action[0]
}

// netAction is what all actions on a row come to, by the first and the last of them.
func netAction(first, then byte) string {
	switch c, d := created[0], deleted[0]; {
	case first == c && then == d:
		return ""
	case first == c:
		return created
	case then == d:
		return deleted
	}
	return updated
}

// newIndex reads all pages once.
func newIndex(pages journal.Pages) (*index, error) {
	x := &index{pages: pages, known: map[table]int32{}, at: map[rowKey]int32{}, earlier: map[int32][]place{}}
	for n := range pages.Pages() {
		page, err := pages.Page(n)
		if err != nil {
			return nil, err
		}
		for i := range page {
			x.add(&page[i], place{int32(n), int32(i)})
		}
	}
	return x, nil
}

func (x *index) add(image *journal.Image, at place) {
	if image.Entity == "" {
		x.unnamed++
		return
	}
	of, known := x.known[table{image.Set, image.Entity}]
	if !known {
		of = int32(len(x.tables))
		x.known[table{image.Set, image.Entity}] = of
		x.tables = append(x.tables, table{image.Set, image.Entity})
	}
	key := rowKey{of, image.ID}
	n, known := x.at[key]
	if !known {
		x.at[key] = int32(len(x.entries))
		x.entries = append(x.entries, entry{last: at, table: of, first: letter(image.Action), then: letter(image.Action)})
		return
	}
	e := &x.entries[n]
	x.earlier[n] = append(x.earlier[n], e.last)
	e.last, e.then = at, letter(image.Action)
}

// newest returns the rows that are not as they were, the newest change first.
func (x *index) newest() []int32 {
	out := make([]int32, 0, len(x.entries))
	for n := range x.entries {
		if x.entries[n].action() != "" {
			out = append(out, int32(n))
		}
	}
	slices.SortFunc(out, func(a, b int32) int {
		p, q := x.entries[a].last, x.entries[b].last
		return cmp.Or(cmp.Compare(q.page, p.page), cmp.Compare(q.at, p.at))
	})
	return out
}

// find returns a row by its name, if the undo restores it.
func (x *index) find(set, entity, id string) (int32, bool) {
	of, known := x.known[table{set, entity}]
	if !known {
		return 0, false
	}
	n, known := x.at[rowKey{of, id}]
	return n, known && x.entries[n].action() != ""
}

// row returns a row with its images.
func (x *index) row(n int32) (*Row, error) {
	e := &x.entries[n]
	r := &Row{Entity: x.tables[e.table].entity, Set: x.tables[e.table].set}
	for _, at := range append(slices.Clip(x.earlier[n]), e.last) {
		page, err := x.read.page(x.pages, at.page)
		if err != nil {
			return nil, err
		}
		r.ID, r.Images = page[at.at].ID, append(r.Images, page[at.at])
	}
	r.Restored = e.restored
	return r, nil
}

// cached is how many pages are kept that were read last: rows are restored in the order of their pages,
// but for those that others wait for.
const cached = 4

// cache has the pages that were read last.
type cache struct {
	numbers []int32
	pages   [][]journal.Image
}

func (c *cache) page(from journal.Pages, n int32) ([]journal.Image, error) {
	if i := slices.Index(c.numbers, n); i >= 0 {
		return c.pages[i], nil
	}
	page, err := from.Page(int(n))
	if err != nil {
		return nil, err
	}
	if len(c.numbers) == cached {
		c.numbers, c.pages = slices.Delete(c.numbers, 0, 1), slices.Delete(c.pages, 0, 1)
	}
	c.numbers, c.pages = append(c.numbers, n), append(c.pages, page)
	return page, nil
}
