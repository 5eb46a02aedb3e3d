package files

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Use keeps files for good: a run that refers to them is about to commit. Ids without a file
// are ignored.
func (s *Store) Use(ids []string) error {
	for _, id := range ids {
		if _, err := os.Stat(s.recordPath(id)); errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return s.broken(err)
		}
		if err := os.WriteFile(s.usedPath(id), nil, 0o600); err != nil {
			return s.broken(err)
		}
	}
	return nil
}

// Collect deletes the files that no run that committed has referred to and that are older than
// so long. It returns how many.
func (s *Store) Collect(unusedFor time.Duration) (int, error) {
	before := s.clock().Add(-unusedFor)
	deleted, kept := 0, map[string]bool{} // hashes
	err := s.each(recordFolder, func(path string, e fs.DirEntry) error {
		raw, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil // another server has deleted it
		}
		var r record
		if err != nil || json.Unmarshal(raw, &r) != nil {
			return err // a damaged record stays for somebody to look at
		}
		_, err = os.Stat(s.usedPath(strings.TrimSuffix(e.Name(), ".json")))
		if err == nil || r.At.After(before) {
			kept[r.SHA256] = true
			return nil
		}
		deleted++
		return remove(path)
	})
	if err != nil {
		return deleted, s.broken(err)
	}
	for _, folder := range []string{dataFolder, newFolder} {
		err := s.each(folder, func(path string, e fs.DirEntry) error {
			info, err := e.Info()
			if errors.Is(err, fs.ErrNotExist) || err == nil && (kept[e.Name()] || info.ModTime().After(before)) {
				return nil // bytes that come again are new: their record may be being written
			}
			if err != nil {
				return err
			}
			return remove(path)
		})
		if err != nil {
			return deleted, s.broken(err)
		}
	}
	return deleted, nil
}

// each visits the files below a folder of the store.
func (s *Store) each(folder string, visit func(path string, e fs.DirEntry) error) error {
	return filepath.WalkDir(filepath.Join(s.dir, folder), func(path string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || e.IsDir() {
			return err
		}
		return visit(path, e)
	})
}

func remove(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
