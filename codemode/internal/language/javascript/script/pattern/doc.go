// Package pattern rewrites regular expressions that the engine compiles incorrectly: those with
// Unicode property escapes such as \p{L}, which it reads as the letters "p{L}".
//
// What belongs here: text of patterns, sets of code points. Not here: an
// engine, or matching.
package pattern
