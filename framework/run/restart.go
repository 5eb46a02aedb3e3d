package run

import (
	"context"
	"errors"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run/store"
	"github.com/koan-go/koan/framework/run/tape"
)

// restart ends an attempt so that the next one can begin.
type restart struct {
	why       string
	uncounted bool // it does not count
}

func (e *restart) Error() string { return "run: new attempt: " + e.why }

// Is implements errors.Is: a call that ends in it has to be made again.
func (e *restart) Is(target error) bool { return target == tape.ErrUnfinished }

func isRestart(err error) bool {
	var r *restart
	return errors.As(err, &r)
}

// isUncounted reports whether an error asks for a new attempt that does not count: its
// reason comes once for each call that is waited for, or person that is asked, and is
// over when the attempt begins.
func isUncounted(err error) bool {
	var r *restart
	return errors.As(err, &r) && r.uncounted
}

// Pause ends an attempt, as the error of a Gate or a Judge, which is not wrapped.
type Pause interface {
	error
	// Wait is called once the attempt is rolled back, with what it changed: nothing is
	// locked. nil lets the next attempt begin, along the same tape.
	Wait(ctx context.Context, changes []store.Change) error
	// Code is how the call ended that the attempt stands before.
	Code() fault.Code
}

func isPause(err error) bool {
	_, ok := err.(Pause) //nolint:errorlint // never wrapped
	return ok
}

// allowsAnotherAttempt reports whether another attempt may follow one that ended in err.
func allowsAnotherAttempt(err error) bool { return isRestart(err) || isPause(err) }

// Ends reports whether a call's error ends the attempt: a quota or limit that
// must not be caught, or the need for a new attempt. An executor stops the
// script at once and returns the error from its body.
func Ends(err error) bool {
	if err == nil {
		return false
	}
	if allowsAnotherAttempt(err) {
		return true
	}
	var f *fault.Fault
	return errors.As(err, &f) && f.EndsRun()
}

// codeOf is the code of what a call ended in, "" for success.
func codeOf(err error) fault.Code {
	if err == nil {
		return ""
	}
	if p, ok := err.(Pause); ok { //nolint:errorlint // never wrapped
		return p.Code()
	}
	if isRestart(err) {
		return fault.Conflict
	}
	return fault.CodeOf(err)
}
