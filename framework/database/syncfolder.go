package database

import (
	"errors"
	"os"
	"runtime"
	"syscall"
)

// SyncFolder makes the names of the files in a folder outlive a loss of power: what a file has in
// it does not help where its name is gone.
func SyncFolder(path string) error {
	if runtime.GOOS == "windows" { // where folders cannot be synced, and their entries are journalled
		return nil
	}
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) { // nor can those of some file systems
		err = nil
	}
	return errors.Join(err, d.Close())
}
