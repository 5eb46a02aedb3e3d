// Command pantrypal knows what is in the house and what can be cooked from it:
// the sample app of Koan for Go.
//
// What belongs here: starting the app. What must never: anything else.
package main

import (
	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/sample-pantrypal/app"
)

func main() { framework.Main(app.New()) }
