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
