//go:build !cgo

package worker

// threads is how many threads a worker has in hand: a program without C gives a
// new thread a few kilobytes.
const threads = 0
