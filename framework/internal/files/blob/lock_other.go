//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package blob

import (
	"errors"
	"os"
)

// lockFile does not work here: what a killed process leaves is removed when it is old (Tidy).
func lockFile(*os.File) (bool, error) { return false, errors.ErrUnsupported }
