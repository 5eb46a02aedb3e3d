package course

import (
	"context"
	"errors"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run/store"
	"github.com/koan-go/koan/framework/run/tape"
)

// Restart is the error that ends an attempt so that the next one can start.
type Restart struct {
	Why       string
	Uncounted bool // the attempt does not count
}

func (e *Restart) Error() string { return "run: new attempt: " + e.Why }

// Is makes errors.Is(err, tape.ErrUnfinished) true: a call that ends in a restart must be made again.
func (e *Restart) Is(target error) bool { return target == tape.ErrUnfinished }

// IsRestart reports whether an error ends an attempt so that the next one can start.
func IsRestart(err error) bool {
	_, is := errors.AsType[*Restart](err)
	return is
}

// IsUncounted reports whether err requires a new attempt without counting this one: its reason occurs
// once for each call or person that is waited for, and is gone when the next attempt starts.
func IsUncounted(err error) bool {
	r, is := errors.AsType[*Restart](err)
	return is && r.Uncounted
}

// Pause is an error of a Gate or a Judge that ends the attempt and makes the run wait. It must not be
// wrapped.
type Pause interface {
	error
	// Wait is called with the changes of the attempt after it was rolled back, so that
	// nothing is locked. If it returns nil, the next attempt starts, along the same tape.
	Wait(ctx context.Context, changes []store.Change) error
	// Code is the outcome of the call before which the attempt paused.
	Code() fault.Code
}

// IsPause reports whether an error makes the run wait.
func IsPause(err error) bool {
	_, ok := err.(Pause) //nolint:errorlint // never wrapped
	return ok
}

// AllowsAnother reports whether another attempt may follow one that ended in err.
func AllowsAnother(err error) bool { return IsRestart(err) || IsPause(err) }

// Ends reports whether a call's error ends the attempt: a quota or limit that must not be caught, or
// the need for a new attempt.
func Ends(err error) bool {
	if err == nil {
		return false
	}
	if AllowsAnother(err) {
		return true
	}
	var f *fault.Fault
	return errors.As(err, &f) && f.EndsRun()
}

// CodeOf returns the code of a call's error, "" for success.
func CodeOf(err error) fault.Code {
	if err == nil {
		return ""
	}
	if p, ok := err.(Pause); ok { //nolint:errorlint // never wrapped
		return p.Code()
	}
	if IsRestart(err) {
		return fault.Conflict
	}
	return fault.CodeOf(err)
}
