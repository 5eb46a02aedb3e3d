//go:build cgo

package worker

// threads is how many threads a worker has in hand. One that starts while a script
// runs, as on a busy machine, takes a stack of megabytes in a program that links
// C, and that stack would count as memory of the script.
const threads = 5

// mapped is what the runtime maps by itself, in bytes, however little a script takes: the
// heap grows by 4 MB, and a thread has a stack of 8.
const mapped = 24 << 20
