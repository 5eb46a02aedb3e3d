package fault_test

import (
	"errors"
	"fmt"

	"github.com/koan-go/koan/framework/fault"
)

// A fault says what is wrong, where, and what to do next; its code says whether another try can help.
func ExampleNew() {
	err := error(fault.New(fault.Conflict, "the table is taken").WithPath("/table").WithHint("Choose another table, or another hour."))
	fmt.Println(fault.CodeOf(err), fault.From(err).Path)
	fmt.Println(errors.Is(err, fault.New(fault.Conflict, "")))
	fmt.Println(fault.CodeOf(errors.New("anything else")))
	// Output:
	// conflict /table
	// true
	// internal
}

// Several problems of one input are one fault.
func ExampleInvalid() {
	err := fault.Invalid(
		fault.Detail{Path: "/name", Message: "is missing"},
		fault.Detail{Path: "/age", Message: "is negative", Expected: "integer from 0"},
	)
	fmt.Println(err.Code, len(err.Details.([]fault.Detail)))
	// Output: invalid_payload 2
}
