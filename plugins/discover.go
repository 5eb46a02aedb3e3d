package plugins

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/regular"
)

// executable is a file that is a plugin by its name and mode.
type executable struct {
	name   string
	path   string
	folder string      // of a plugin that has one of its own: its name, with the executable of that name in it
	info   os.FileInfo // of the file, behind links
}

// files returns what the plugin's digest is of.
func (e executable) files() string { return cmp.Or(e.folder, e.path) }

// same reports whether it is the same file, unchanged.
func (e executable) same(o executable) bool {
	return e.info != nil && o.info != nil && os.SameFile(e.info, o.info) && e.info.Size() == o.info.Size() && e.info.ModTime().Equal(o.info.ModTime())
}

// reserved are the domains whose name in scripts, SDK.<Domain>, as a server, as the first part of
// tools or as a key below "plugins" is taken by something else.
var reserved = []string{"actions", "args", "code", "codemode", "dir", "entities", "files", "koan", "locked", "out", "required", "run", "servers", "statedir", "tools"}

// discover lists the plugins of a folder by name, and why other files that may be
// meant as plugins were skipped.
func discover(dir string) (found []executable, skipped []string, err error) {
	entries, err := regular.ReadDir(dir)
	if err != nil {
		return nil, nil, err
	}
	seen := map[string]bool{}
	for _, e := range entries {
		file := e.Name()
		if strings.HasPrefix(file, ".") || strings.HasPrefix(file, "_") {
			continue
		}
		path, folder := filepath.Join(dir, file), ""
		info, err := os.Stat(path) // follows links
		if err == nil && info.IsDir() {
			if path, info = inFolder(path, file); info == nil {
				continue // it is no plugin's
			}
			folder, file = filepath.Dir(path), filepath.Base(path)
		}
		if err != nil {
			skipped = append(skipped, fmt.Sprintf("%s: %v", file, err))
			continue
		}
		if !info.Mode().IsRegular() {
			skipped = append(skipped, fmt.Sprintf("%s: it is %s, not a regular file", file, regular.Kind(info.Mode())))
			continue
		}
		if !isExecutable(file, info) {
			if validName(file) && runtime.GOOS != "windows" { // what is no plugin has an extension, or capitals
				skipped = append(skipped, fmt.Sprintf("%s: the file is not executable (chmod +x makes it so)", file))
			}
			continue
		}
		name := strings.TrimSuffix(file, ".exe")
		switch {
		case !validName(name):
			skipped = append(skipped, fmt.Sprintf("%s: the name is not lower-case kebab", file))
		case slices.Contains(reserved, name):
			skipped = append(skipped, fmt.Sprintf("%s: the name is reserved", file))
		case seen[name]:
			skipped = append(skipped, fmt.Sprintf("%s: there is another plugin %q", file, name))
		default:
			seen[name] = true
			found = append(found, executable{name: name, path: path, folder: folder, info: info})
		}
	}
	return found, skipped, nil
}

// inFolder returns the file of a plugin that is a folder: the one that is called like it. info is nil where
// there is none.
func inFolder(folder, name string) (path string, info os.FileInfo) {
	for _, file := range []string{name, name + ".exe"} {
		path = filepath.Join(folder, file)
		if info, err := os.Stat(path); err == nil && !info.IsDir() {
			return path, info
		}
	}
	return "", nil
}

func isExecutable(file string, info os.FileInfo) bool {
	if runtime.GOOS == "windows" {
		return strings.EqualFold(filepath.Ext(file), ".exe")
	}
	return info.Mode().Perm()&0o111 != 0
}

// validName accepts names in kebab-case, so that tool names, server ids and settings
// spell them the same.
func validName(s string) bool {
	return len(s) <= 48 && s != "" && catalog.Kebab(s) == s && catalog.PluginID(s, "x").Valid()
}
