package budget

import (
	"sync"

	"github.com/koan-go/koan/framework/fault"
)

// ErrEnded is what Share.Take returns after Share.End.
var ErrEnded = fault.New(fault.Cancelled, "the run has ended")

// Share is the part of an account that ends with an attempt. Some of it may be spare: it is dropped
// as soon as anything else needs the room. It is safe for concurrent use.
type Share struct {
	account *Account
	mu      sync.Mutex
	used    int64
	spare   int64 // of what is used
	noSpare bool  // it was dropped, and no more is taken
	ended   bool
}

// spareShare is the share of what one run may hold that may be spare.
const spareShare = 2

// Share opens a share.
func (c *Account) Share() *Share { return &Share{account: c} }

// Take counts n more bytes, as Account.Take does, in place of the spare ones if need be.
func (s *Share) Take(n int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return ErrEnded
	}
	err := s.account.Take(n)
	if err != nil && s.dropSpare() {
		err = s.account.Take(n)
	}
	if err == nil {
		s.used += n
	}
	return err
}

// TakeSpare counts n more spare bytes. It reports false, from then on always, where there is no room
// for all that is spare.
func (s *Share) TakeSpare(n int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended || s.noSpare {
		return false
	}
	if s.spare+n > s.account.budget.run/spareShare || s.account.Take(n) != nil {
		s.dropSpare()
		return false
	}
	s.spare, s.used = s.spare+n, s.used+n
	return true
}

// GiveSpare takes n spare bytes off the count, unless all of them were dropped.
func (s *Share) GiveSpare(n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended || s.noSpare {
		return
	}
	s.spare, s.used = s.spare-n, s.used-n
	s.account.Give(n)
}

// KeepsSpare reports whether the spare bytes have not been dropped.
func (s *Share) KeepsSpare() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.noSpare
}

// dropSpare makes room by keeping nothing spare, and reports whether that made any. The caller holds
// the lock.
func (s *Share) dropSpare() bool {
	n := s.spare
	s.spare, s.noSpare = 0, true
	s.used -= n
	s.account.Give(n)
	return n > 0
}

// Give takes n bytes off the count, unless End did.
func (s *Share) Give(n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.used -= n
		s.account.Give(n)
	}
}

// End takes off the count whatever the share holds.
func (s *Share) End() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.ended = true
		s.account.Give(s.used)
	}
}
