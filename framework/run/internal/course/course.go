// Package course is how an attempt goes: which calls it makes, and why it ends.
//
// What belongs here: the count and the records of calls, what may end an attempt, and what did. Not here:
// what follows from that for the run.
package course

import (
	"slices"
	"strconv"
	"sync"

	"github.com/koan-go/koan/framework/run/internal/budget"
	"github.com/koan-go/koan/framework/run/tape"
)

// Course is that of one attempt. It is safe for concurrent use.
type Course struct {
	mu      sync.Mutex
	next    int
	counted int
	records []Record
	end     error // why no more calls may be made
}

// errClosed is the error of a call that is made after the end of its attempt.
var errClosed error = budget.ErrEnded

// Next returns the position of the next call of the run's own.
func (c *Course) Next() tape.Position {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next++
	return tape.Position(strconv.Itoa(c.next))
}

// Count counts a call that is about to be made. If it returns an error, the call must not be made: the
// attempt has ended, or it ends with exceeded, since limit calls were counted. A limit of 0 is none.
func (c *Course) Count(limit int, exceeded func() error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.end == nil && limit > 0 && c.counted >= limit {
		c.end = exceeded()
	}
	if c.end == nil {
		c.counted++
	}
	return c.end
}

// Add keeps the record of a call that has ended.
func (c *Course) Add(rec Record) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.records = append(c.records, rec)
}

// Calls returns the records so far, which nobody changes, and how many calls were counted.
func (c *Course) Calls() (records []Record, counted int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.records == nil {
		return []Record{}, c.counted
	}
	return slices.Clip(c.records), c.counted
}

// End records why the attempt ends, unless there is a reason already, and returns the reason that is
// recorded. A commit may call it after Close.
func (c *Course) End(err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.end == nil || c.end == errClosed {
		c.end = err
	}
	return c.end
}

// Restart ends the attempt so that the next one can start.
func (c *Course) Restart(why string) error { return c.End(&Restart{Why: why}) }

// Close makes all further calls fail.
func (c *Course) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.end == nil {
		c.end = errClosed
	}
}

// Closed returns why no more calls may start, nil if they may.
func (c *Course) Closed() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.end
}

// Ended returns why the attempt ended early, nil if it did not.
func (c *Course) Ended() error {
	if end := c.Closed(); end != errClosed {
		return end
	}
	return nil
}
