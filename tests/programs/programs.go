// Package programs builds programs of this repository for tests that start them.
//
// What belongs here: what makes the tests of all packages build the same program once.
// Not here: programs that a test builds to see how they are built.
package programs

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/lockedfile"
)

// Version is what the programs say of their build.
const Version = "9.8.7"

// Build makes programs in a folder: the keys are their paths there, the values their packages,
// "cmd/koan" for one. They are linked into a folder of the checkout, and copied: where that has
// the program already, of the same sources, the go command only sees that it is up to date.
// Linking PantryPal takes seven times as long.
func Build(dir string, packages map[string]string) error {
	root, err := checkout()
	if err != nil {
		return err
	}
	built := filepath.Join(root, "bin", "tests")
	if err := os.MkdirAll(built, 0o755); err != nil {
		return err
	}
	// Tests of other packages build at the same time; what one of them copies must be whole.
	unlock, err := lockedfile.MutexAt(filepath.Join(built, "lock")).Lock()
	if err != nil {
		return err
	}
	defer unlock()
	for path, pkg := range packages {
		program := filepath.Join(built, strings.ReplaceAll(pkg, "/", "-"))
		// The same flags for all, or each would link it anew. Nobody debugs it.
		build := exec.Command("go", "build", "-ldflags", "-w -X github.com/koan-go/koan/framework/build.version=v"+Version, "-o", program, "./"+pkg)
		build.Dir = root
		if said, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("building %s: %w\n%s", pkg, err, said)
		}
		if err := copied(program, filepath.Join(dir, path)); err != nil {
			return err
		}
	}
	return nil
}

// checkout is the root of this repository, above the folder of the package that is tested.
func checkout() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "tests", "programs")); err == nil {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", errors.New("the working directory is not in the checkout")
		}
		dir = up
	}
}

func copied(from, to string) (err error) {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	_, err = io.Copy(out, in)
	return err
}
