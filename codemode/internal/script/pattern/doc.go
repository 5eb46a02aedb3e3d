// Package pattern rewrites regular expressions that the engine would compile wrongly:
// Unicode property escapes (\p{L} and the like), which it reads as the letters "p{L}".
//
// What belongs here: text of patterns, sets of code points. What must never: an
// engine, or matching.
package pattern
