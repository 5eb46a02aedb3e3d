package framework

import (
	"errors"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
)

// protect calls code of a provider, or of the program that embeds the app. If it panics, the panic is
// logged, and the error is an internal fault.
func (i *Instance) protect(whose string, fn func() error) error {
	err := fault.Guard(fn)
	if p, ok := errors.AsType[*fault.Panic](err); ok {
		i.log.Error("panic", "in", whose, "error", p)
	}
	return err
}

// offerOf returns the offer of a provider. Its Closed never panics: it is called when a run ends.
func (i *Instance) offerOf(p Provider) (offer catalog.Offer, err error) {
	err = i.protect(p.Name(), func() error {
		offer = p.Offer()
		return nil
	})
	if closed := offer.Closed; closed != nil {
		offer.Closed = func() { _ = i.protect(p.Name(), func() error { closed(); return nil }) }
	}
	return offer, err
}
