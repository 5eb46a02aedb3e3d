package store

import (
	"cmp"
	"context"
	"errors"

	"github.com/koan-go/koan/framework/journal"
)

// Imager is a Tx that can tell what it did so that it can be undone.
type Imager interface {
	// Images returns one image for each row that differs from what the transaction found, in
	// the order of the first write to each. complete is false where the attempt keeps no
	// images any more.
	Images(ctx context.Context) (images *journal.Images, complete bool, err error)
	// Irreversible returns why an undo would not restore all rows of the images that Images returned
	// last, "" where it would.
	Irreversible() string
}

// Images is what transactions have done to rows.
type Images struct {
	*journal.Images        // nil for nothing
	Incomplete      bool   // something is missing
	Lasting         string // why an undo would not restore all of them, "" if it would
	Apart           bool   // what several sets have of them cannot be restored in one transaction
}

// And returns images with those of a later commit. Neither is changed.
func (i Images) And(more Images) (Images, error) {
	out := Images{Incomplete: i.Incomplete || more.Incomplete, Apart: i.Apart || more.Apart, Lasting: cmp.Or(i.Lasting, more.Lasting)}
	switch {
	case i.Len() == 0:
		out.Images = more.Images
	case more.Len() == 0:
		out.Images = i.Images
	default:
		out.Images = &journal.Images{}
		if err := errors.Join(out.Append(i.Images), out.Append(more.Images)); err != nil {
			return Images{}, err
		}
	}
	return out, nil
}
