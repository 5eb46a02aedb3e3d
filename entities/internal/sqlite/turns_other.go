//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package sqlite

import "os"

// Here writers of several processes are served as SQLite has it: in no order.

// locksAreReal is false where lockFile keeps nobody away.
const locksAreReal = false

func lockFile(*os.File) (bool, error) { return true, nil }

func unlockFile(*os.File) {}
