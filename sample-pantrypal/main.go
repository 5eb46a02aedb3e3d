// Command pantrypal knows what is in the house and what can be cooked from it:
// the sample app of Koan for Go.
//
// What belongs here: starting the app. Not here: anything else.
package main

import (
	"fmt"
	"os"
	"time"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/sample-pantrypal/app"
)

// dayVariable names a variable with the day that the app takes for today, such as 2026-11-23: a
// demonstration shows the same on a Friday, when there is fish, as on a Monday.
const dayVariable = "PANTRYPAL_DAY"

func main() {
	clock, err := clockOf(os.Getenv(dayVariable))
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s is not a day: %v\n", dayVariable, err)
		os.Exit(2)
	}
	framework.Main(app.At(clock))
}

// clockOf returns a clock that begins at noon of a day; without one, the time as it is.
func clockOf(day string) (func() time.Time, error) {
	if day == "" {
		return time.Now, nil
	}
	noon, err := time.Parse(time.DateOnly, day)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	return func() time.Time { return noon.Add(12*time.Hour + time.Since(began)) }, nil
}
