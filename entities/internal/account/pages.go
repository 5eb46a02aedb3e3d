package account

import (
	"slices"

	"github.com/koan-go/koan/framework/journal"
	"github.com/koan-go/koan/framework/run/store"
)

// rowBytes is about what a row takes that is held, besides its values.
const rowBytes = 48

// RowRef is where RowPages has a row.
type RowRef struct{ page, at int32 }

// RowPages keeps rows as tables hold them, packed page by page: of a large run there are many, and most are
// looked at once more. They are counted as images. The zero value has none.
type RowPages struct {
	attempt   store.Attempt
	packed    [][]byte
	open      []HeldRow // the last page
	openBytes int
	read      []readPage // the pages that were read last
}

// readPage is a page that was read.
type readPage struct {
	number int32
	rows   []HeldRow
}

// readPages is how many pages are kept that were read.
const readPages = 4

// NewRowPages returns pages without rows, which an attempt holds.
func NewRowPages(a store.Attempt) RowPages { return RowPages{attempt: a} }

// Put keeps a row, of which SizeOfRow bytes were counted.
func (p *RowPages) Put(row HeldRow) (RowRef, error) {
	at := RowRef{int32(len(p.packed)), int32(len(p.open))}
	p.open, p.openBytes = append(p.open, row), p.openBytes+SizeOfRow(row)
	if p.openBytes < journal.PageBytes {
		return at, nil
	}
	page, err := journal.PackPage(p.open)
	if err != nil {
		return at, err
	}
	p.attempt.HoldImage(len(page) - p.openBytes)
	p.packed, p.open, p.openBytes = append(p.packed, page), nil, 0
	return at, nil
}

// Get returns a row.
func (p *RowPages) Get(at RowRef) (HeldRow, error) {
	if int(at.page) == len(p.packed) {
		return p.open[at.at], nil
	}
	for i := range p.read {
		if p.read[i].number == at.page {
			return p.read[i].rows[at.at], nil
		}
	}
	page := readPage{number: at.page}
	if err := journal.UnpackPage(p.packed[at.page], &page.rows); err != nil {
		return nil, err
	}
	if len(p.read) == readPages {
		p.read = slices.Delete(p.read, 0, 1)
	}
	p.read = append(p.read, page)
	return page.rows[at.at], nil
}

// SizeOfRow is about how many bytes a row takes.
func SizeOfRow(row HeldRow) int {
	n := rowBytes
	for _, v := range row {
		n += 8
		if v != nil {
			n += len(*v) + 16
		}
	}
	return n
}
