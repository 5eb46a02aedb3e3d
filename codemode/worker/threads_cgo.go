//go:build cgo

package worker

// threads is how many threads a worker has in hand. One that starts while a script
// runs, as on a busy machine, takes a stack of megabytes in a program that links
// C, and that stack would count as memory of the script.
const threads = 5
