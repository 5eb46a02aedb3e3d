package add

import (
	"bytes"
	"errors"
	"fmt"
	"go/format"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
)

// file is one that is read or changed.
type file struct {
	path string // absolute
	was  []byte // nil for a new one
	now  []byte
}

// files are those of a module, with the changes that are planned.
type files struct {
	root string
	all  []*file
}

// open returns a file; was and now are nil if it does not exist.
func (f *files) open(path string) (*file, error) {
	if i := slices.IndexFunc(f.all, func(o *file) bool { return o.path == path }); i >= 0 {
		return f.all[i], nil
	}
	raw, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	one := &file{path, raw, raw}
	f.all = append(f.all, one)
	return one, nil
}

func (f *files) changed() (out []*file) {
	for _, one := range f.all {
		if !bytes.Equal(one.was, one.now) {
			out = append(out, one)
		}
	}
	slices.SortFunc(out, func(a, b *file) int { return strings.Compare(a.path, b.path) })
	return out
}

// show prints the changes as a unified diff.
func (f *files) show(out io.Writer) error {
	for _, one := range f.changed() {
		rel, err := filepath.Rel(f.root, one.path)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		from := "a/" + rel
		if one.was == nil {
			from = "/dev/null"
		}
		text := diff.Diff(from, one.was, "b/"+rel, one.now)
		_, text, _ = bytes.Cut(text, []byte("\n")) // "diff a b", which nothing reads
		if _, err := out.Write(text); err != nil {
			return err
		}
	}
	return nil
}

// checkClean rejects changes of files that have uncommitted changes.
func (p *plan) checkClean() error {
	if p.Force {
		return nil
	}
	args := []string{"-C", p.mod.root, "status", "--porcelain", "--untracked-files=all", "--"}
	for _, f := range p.changed() {
		if f.was != nil {
			args = append(args, f.path)
		}
	}
	if err := exec.Command("git", "-C", p.mod.root, "rev-parse", "--is-inside-work-tree").Run(); err != nil {
		return nil // no git, and nothing to compare with
	}
	said, err := exec.Command("git", args...).Output()
	if err != nil {
		return fmt.Errorf("git status: %w", err)
	}
	if len(said) == 0 {
		return nil
	}
	return fmt.Errorf("these files have uncommitted changes:\n%s\ncommit them first, or use --force", strings.TrimRight(string(said), "\n"))
}

// write makes the changes. Each file is replaced whole.
func (p *plan) write() error {
	for _, f := range p.changed() {
		if err := os.MkdirAll(filepath.Dir(f.path), 0o755); err != nil {
			return err
		}
		mode := fs.FileMode(0o644)
		if info, err := os.Stat(f.path); err == nil {
			mode = info.Mode().Perm()
		}
		next := f.path + ".koan"
		if err := os.WriteFile(next, f.now, mode); err != nil {
			return err
		}
		if err := os.Rename(next, f.path); err != nil {
			return errors.Join(err, os.Remove(next))
		}
	}
	return nil
}

// edit replaces length bytes of a file by text.
type edit struct {
	at, length int
	text       string
}

// apply makes edits of Go source, none of which overlap. What was formatted stays
// formatted, and lines end as they did.
func apply(src []byte, edits []edit) ([]byte, error) {
	if len(edits) == 0 {
		return src, nil
	}
	edits = slices.Clone(edits)
	slices.SortStableFunc(edits, func(a, b edit) int { return a.at - b.at })
	var b bytes.Buffer
	last := 0
	for _, e := range edits {
		b.Write(src[last:e.at])
		text := e.text
		if bytes.Contains(src, []byte("\r\n")) {
			text = strings.ReplaceAll(text, "\n", "\r\n")
		}
		b.WriteString(text)
		last = e.at + e.length
	}
	b.Write(src[last:])
	formatted, err := format.Source(b.Bytes())
	if err != nil {
		return nil, err
	}
	plain := bytes.ReplaceAll(src, []byte("\r\n"), []byte("\n")) // gofmt takes any line ends, and makes these
	if was, err := format.Source(src); err != nil || !bytes.Equal(was, plain) {
		return b.Bytes(), err
	}
	switch crlf := bytes.Count(src, []byte("\r\n")); crlf {
	case 0:
		return formatted, nil
	case bytes.Count(src, []byte("\n")):
		return bytes.ReplaceAll(formatted, []byte("\n"), []byte("\r\n")), nil
	}
	return b.Bytes(), nil // both kinds
}
