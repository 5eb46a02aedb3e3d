//go:build cgo

package sqlite

/*
#include <stdlib.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

// Large blocks go back to the system as soon as they are freed. The C library would
// otherwise learn from the first ones to keep them, for each thread apart.
static void returnLargeBlocks(void) {
#ifdef __GLIBC__
	mallopt(M_MMAP_THRESHOLD, 256 * 1024);
#endif
}
*/
import "C"

import "sync"

// returnLargeBlocks keeps what SQLite takes for a row of megabytes from staying with the
// process. It concerns the C library's memory alone.
var returnLargeBlocks = sync.OnceFunc(func() { C.returnLargeBlocks() })
