package lock

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/koan-go/koan/framework/journal"
)

// Digest returns the digest of a plugin: of an executable its content, of a folder the names, modes and
// contents of all files in it. Links are followed at the top alone: one within a folder counts as what it
// says, and must not lead out of the folder.
func Digest(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(real)
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	if info.IsDir() {
		err = addFolder(sum, real)
	} else {
		err = addFile(sum, real)
	}
	if err != nil {
		return "", err
	}
	return journal.DigestText(sum.Sum(nil)), nil
}

func addFile(sum hash.Hash, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	_, err = io.Copy(sum, f)
	return errors.Join(err, f.Close())
}

// addFolder adds the files below a folder, in the order of their names. Each line has lengths, so that
// no two folders give the same bytes.
func addFolder(sum hash.Hash, root string) error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		info, err := d.Info()
		if err != nil {
			return err
		}
		switch mode := info.Mode(); {
		case mode.IsDir():
			fmt.Fprintf(sum, "folder %d:%s\n", len(name), name)
			return nil
		case mode.IsRegular():
			fmt.Fprintf(sum, "file %d:%s %t %d\n", len(name), name, mode.Perm()&0o111 != 0, info.Size())
			return addFile(sum, path)
		case mode.Type() == fs.ModeSymlink:
			return addLink(sum, root, path, name)
		default:
			return fmt.Errorf("%s is neither a file nor a folder", path)
		}
	})
}

func addLink(sum hash.Hash, root, path, name string) error {
	target, err := os.Readlink(path)
	if err != nil {
		return err
	}
	inside, err := filepath.Rel(root, filepath.Join(filepath.Dir(path), target))
	if err != nil || filepath.IsAbs(target) || !filepath.IsLocal(inside) {
		return fmt.Errorf("the link %s leads out of the plugin's folder, to %s", path, target)
	}
	fmt.Fprintf(sum, "link %d:%s %d:%s\n", len(name), name, len(target), target)
	return nil
}
