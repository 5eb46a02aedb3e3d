// Command workbench serves the office of the WorkBench data set. The scripts beside it do
// what the data set's requests ask for.
package main

import (
	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/tests/workbench/office"
)

func main() { framework.Main(office.App()) }
