// Command workbench serves the office of the WorkBench data set. The scripts beside it do
// what the data set's requests ask for. Tables, templates and requests in testdata are
// the data set's own, under its licence.
package main

import (
	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/tests/workbench/office"
)

func main() { framework.Main(office.App()) }
