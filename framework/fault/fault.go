// Package fault is the one registry of everything that can go wrong as a
// caller sees it, and the error type that carries it.
//
// What belongs here: codes, their meaning, hint, retry class and their names in
// each written contract. Not here: anything that knows how a fault is
// sent (JSON-RPC, HTTP, gRPC) or which part of the system raised it.
package fault

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// Detail is one of several things wrong with an input (CONTRACT section 4).
type Detail struct {
	Path     string `json:"path"` // JSON Pointer into the input
	Message  string `json:"message"`
	Expected string `json:"expected,omitempty"`
	Received string `json:"received,omitempty"`
}

// Fault is an error as callers see it. Its JSON is that of CONTRACT section 4.
// The zero value is not a fault: make one with New or Newf.
type Fault struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
	Hint    string `json:"hint"`              // never empty
	Path    string `json:"path,omitempty"`    // JSON Pointer into the input
	Details any    `json:"details,omitempty"` // []Detail, or an object such as {"limit":"cpu"}
	Retry   Retry  `json:"retry"`
	Line    int    `json:"line,omitempty"`   // of the user's script, from 1; 0 is unknown
	Column  int    `json:"column,omitempty"` // from 1; 0 is unknown
	Source  string `json:"source,omitempty"` // that line, without the blanks around it; a long one is cut

	cause error
	rule  bool
}

// New makes a fault with the registry's hint and retry class. An unknown code
// is a programmer's mistake and panics.
func New(c Code, message string) *Fault {
	e, ok := registry[c]
	if !ok {
		panic("fault: unknown code " + string(c))
	}
	if message == "" {
		message = e.Meaning
	}
	return &Fault{Code: c, Message: message, Hint: e.Hint, Retry: e.Retry}
}

// Newf is New with a format.
func Newf(c Code, format string, args ...any) *Fault {
	return New(c, fmt.Sprintf(format, args...))
}

// MaxDetails is how many details a fault of Invalid has at most.
const MaxDetails = 50

// MaxFound is how many problems of one input are searched for. An input of a few
// megabytes could have millions.
const MaxFound = 10_000

// Invalid makes an invalid_payload fault of all problems of an input. With one detail its
// path and message become the fault's own. Of more than MaxDetails the last one says how
// many are left out; of MaxFound and more, that there may be others.
func Invalid(details ...Detail) *Fault {
	f := New(InvalidPayload, "")
	all, least := len(details), ""
	if all >= MaxFound {
		least = "at least "
	}
	if all > MaxDetails {
		left := Detail{Message: fmt.Sprintf("and %s%d more", least, all-MaxDetails+1)}
		details = append(append([]Detail{}, details[:MaxDetails-1]...), left)
	}
	f.Details = details
	switch len(details) {
	case 0:
	case 1:
		f.Path, f.Message = details[0].Path, details[0].Message
	default:
		parts := make([]string, len(details))
		for i, d := range details {
			parts[i] = d.Message
			if d.Path != "" {
				parts[i] = d.Path + ": " + d.Message
			}
		}
		f.Message = fmt.Sprintf("%s%d problems: %s", least, all, strings.Join(parts, "; "))
	}
	return f
}

// Error returns code and message.
func (f *Fault) Error() string { return string(f.Code) + ": " + f.Message }

// Unwrap returns the cause, which is for logs and never sent to a caller.
func (f *Fault) Unwrap() error { return f.cause }

// Is makes errors.Is(err, fault.New(code, "")) match by code.
func (f *Fault) Is(target error) bool {
	t, ok := target.(*Fault)
	return ok && t.Code == f.Code
}

// WithHint returns a copy with another hint.
func (f *Fault) WithHint(format string, args ...any) *Fault {
	c := *f
	c.Hint = fmt.Sprintf(format, args...)
	return &c
}

// WithRetry returns a copy with another retry class, for a fault that differs from others of
// its code. The hint has to agree with it.
func (f *Fault) WithRetry(r Retry) *Fault {
	c := *f
	c.Retry = r
	return &c
}

// BesideEffects returns the fault of something that had, or may have had, an effect outside: it never
// says that trying again is safe, since that would repeat the effect.
func (f *Fault) BesideEffects() *Fault {
	if f == nil || f.Retry != Safe {
		return f
	}
	return f.WithRetry(Never).WithHint("Calls before the failure took effect outside, or may have, and nothing takes them back: check there what is done, and send a script for the rest alone.")
}

// WithPath returns a copy with the JSON Pointer of what is wrong.
func (f *Fault) WithPath(path string) *Fault {
	c := *f
	c.Path = path
	return &c
}

// WithDetails returns a copy with details: []Detail, or an object.
func (f *Fault) WithDetails(d any) *Fault {
	c := *f
	c.Details = d
	return &c
}

// Because returns a copy that keeps the cause for logs.
func (f *Fault) Because(err error) *Fault {
	c := *f
	c.cause = err
	return &c
}

// ByRule returns a copy that says that a rule of the app refused: a hook, or a trigger of its database.
// Its words are for whoever asked for the change, through whatever calls that was.
func (f *Fault) ByRule() *Fault {
	c := *f
	c.rule = true
	return &c
}

// IsByRule reports whether a rule of the app refused. It is not in the fault's JSON.
func (f *Fault) IsByRule() bool { return f.rule }

// EndsRun reports whether the fault is a quota or limit that ends a run even when
// the script catches it.
func (f *Fault) EndsRun() bool { return registry[f.Code].EndsRun }

// HTTPStatus returns the status of a response over HTTP: that of the code. What failed because of its
// input, such as an action that refuses it, is 422 and no error of the server.
func (f *Fault) HTTPStatus() int {
	if f.Code == ExecutionError && f.Retry == Fix {
		return http.StatusUnprocessableEntity
	}
	return registry[f.Code].HTTP
}

// From returns the fault in an error's chain. A context's end becomes cancelled or
// timeout; anything else becomes internal, its text kept as the cause only, so
// that no inner detail reaches a caller.
func From(err error) *Fault {
	if err == nil {
		return nil
	}
	var f *Fault
	if errors.As(err, &f) {
		return f
	}
	switch {
	case errors.Is(err, context.Canceled):
		return New(Cancelled, "").Because(err)
	case errors.Is(err, context.DeadlineExceeded):
		return New(Timeout, "").WithDetails(map[string]any{"limit": "wall"}).Because(err)
	}
	return New(Internal, "").Because(err)
}

// Known reports whether there is a fault in an error's chain.
func Known(err error) bool {
	_, known := errors.AsType[*Fault](err)
	return known
}

// All returns the fault of each error that errors.Join has joined, and of those that these
// are joined of; none for nil.
func All(err error) []*Fault {
	if err == nil {
		return nil
	}
	joined, ok := err.(interface{ Unwrap() []error }) //nolint:errorlint // a fault's cause may be joined, too
	if !ok {
		return []*Fault{From(err)}
	}
	var out []*Fault
	for _, e := range joined.Unwrap() {
		out = append(out, All(e)...)
	}
	return out
}

// CodeOf returns the code that From would.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	return From(err).Code
}

// Decode reads a fault from its JSON, for parts that get one over a wire. An
// unknown code becomes internal. One of more than MaxBytes is Bounded, without details.
func Decode(raw json.RawMessage) (*Fault, error) {
	if len(raw) > MaxBytes {
		short, err := decodeWithoutDetails(raw)
		if err != nil {
			return nil, fmt.Errorf("fault: %w", err)
		}
		if raw, err = json.Marshal(short); err != nil {
			return nil, fmt.Errorf("fault: %w", err)
		}
	}
	var f Fault
	if err := json.Unmarshal(raw, &f); err != nil {
		return nil, fmt.Errorf("fault: %w", err)
	}
	if _, several := f.Details.([]any); several {
		var list struct{ Details []Detail }
		if err := json.Unmarshal(raw, &list); err == nil {
			f.Details = list.Details
		}
	}
	e, ok := registry[f.Code]
	if !ok {
		return New(Internal, "unknown fault code "+ClipTo(string(f.Code), maxCode)), nil
	}
	if f.Hint == "" {
		f.Hint = e.Hint
	}
	if f.Retry == "" {
		f.Retry = e.Retry
	}
	return &f, nil
}
