//go:build !cgo

package worker

// threads is how many threads a worker has in hand: a program without C gives a
// new thread a few kilobytes.
const threads = 0

// mapped is what the runtime maps by itself, in bytes, however little a script takes: the
// heap grows by 4 MB.
const mapped = 8 << 20
