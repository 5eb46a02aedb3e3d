package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/koan-go/koan/framework/database"
	"github.com/koan-go/koan/framework/fault"
)

// markOf returns the file that shows that a set has existed, which is the lock of its line of
// writers: nothing removes it.
func (f files) markOf(set string) string { return newTurns(f.turns(set)).line.path }

// mark shows from now on that a set exists. It is called when the set's file is in its place.
func (f files) mark(set string) error {
	file, err := os.OpenFile(f.markOf(set), os.O_RDONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return file.Close()
}

// checkLost refuses a set that has no file, but had one: a new one would hide that its data is
// gone. In a folder without a ledger, everything begins anew. there is true where another process
// has just created the file.
func (f files) checkLost(set string) (there bool, err error) {
	for _, path := range []string{f.markOf(set), f.ledger()} {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return false, nil
		} else if err != nil {
			return false, err
		}
	}
	path := f.file(set)
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return err == nil, err
	}
	return false, fault.Newf(fault.ServiceUnavailable, "the file of %s, %s, is missing", database.Named(set), filepath.Base(path)).WithRetry(fault.Never).
		WithHint("Stop the app and restore %s from a backup. To give up the set's data instead, remove %s from the data folder, and a new file is created.", filepath.Base(path), filepath.Base(f.markOf(set))).
		Because(fmt.Errorf("%s is gone, %s is there", path, f.markOf(set)))
}

// Lost implements database.LossReporter.
func (f files) Lost(context.Context) (lost []*fault.Fault, err error) {
	files, err := os.ReadDir(f.path)
	if err != nil {
		return nil, faultOr("the data folder cannot be read", err)
	}
	for _, file := range files {
		set := strings.TrimSuffix(strings.TrimPrefix(file.Name(), "."), ".line")
		if !database.ValidSet(set) || file.Name() != filepath.Base(f.markOf(set)) {
			continue
		}
		if _, err := f.checkLost(set); err != nil {
			lost = append(lost, fault.From(err))
		}
	}
	return lost, nil
}

// creatingAnew says what else has a new file created once a damaged one was moved away.
func creatingAnew(path, owner string) string {
	if owner == ledgerName {
		return "a new file is created"
	}
	set := filepath.Base(path[:len(path)-len(suffix)])
	return fmt.Sprintf("also move .%s.line away, and a new file is created", set)
}
