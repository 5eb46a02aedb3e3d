// Package pattern rewrites regular expressions that the engine would compile and get
// wrong: Unicode property escapes (\p{L} and the like), which it takes for the letters
// "p{L}".
//
// What belongs here: text of patterns, sets of code points. What must never: an
// engine, or matching.
package pattern
