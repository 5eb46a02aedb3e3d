package store

import (
	"context"

	"github.com/koan-go/koan/framework/journal"
)

// Imager is a Tx that can tell what it did so that it can be undone.
type Imager interface {
	// Images returns one image for each row that differs from what the transaction found, in
	// the order of the first write to each. complete is false where the attempt keeps no
	// images any more.
	Images(ctx context.Context) (images []journal.Image, complete bool, err error)
	// Irreversible returns why an undo would not restore all rows of the images that Images returned
	// last, "" where it would.
	Irreversible() string
}

// Images is what transactions have done to rows.
type Images struct {
	Images     []journal.Image
	Incomplete bool   // something is missing
	Lasting    string // why an undo would not restore all of them, "" if it would
	Apart      bool   // what several sets have of them cannot be restored in one transaction
}

// And returns images with those of a later commit.
func (i Images) And(more Images) Images {
	i.Images = append(i.Images, more.Images...)
	i.Incomplete, i.Apart = i.Incomplete || more.Incomplete, i.Apart || more.Apart
	if i.Lasting == "" {
		i.Lasting = more.Lasting
	}
	return i
}
