package read

import "github.com/koan-go/koan/framework/exact"

// held is what the engine of scripts takes for JSON: it holds a list as an object of its own, so that a
// text of little more than its brackets takes two hundred times as much.
var held = exact.Cost{Object: 500, Array: 600, Member: 64, Item: 32}

// lightBytes is up to how many bytes no JSON of a call is too much for a script, whatever it holds.
const lightBytes = 64 << 10

// maxWeight is how much a row may take in a script, for a limit of the text of a call: with the one that
// is the default, a third of what a script has by default.
func maxWeight(limit int) int64 { return 5 * int64(limit) }

// maxPageWeight is how much a page of several rows may take. Rows with a dozen short fields, which take
// seven times their text, fill the limit of a call.
func maxPageWeight(limit int) int64 { return 7 * int64(limit) }
