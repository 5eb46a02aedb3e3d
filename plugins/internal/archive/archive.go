// Package archive unpacks the archives that plugins come in.
//
// What belongs here: .tar.gz and .zip of a stranger, into a folder that nothing leaves. Not here: what
// the files are.
package archive

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// Bounds of what an archive may hold.
const (
	maxBytes = 2 << 30
	maxFiles = 100_000
)

var endings = []string{".tar.gz", ".tgz", ".zip"}

// Foreign reports whether a name has the ending of an archive that Unpack does not know.
func Foreign(name string) bool {
	for _, end := range []string{".tar", ".xz", ".txz", ".bz2", ".zst", ".7z", ".rar", ".gz", ".deb", ".rpm"} {
		if strings.HasSuffix(name, end) {
			_, known := Stem(name)
			return !known
		}
	}
	return false
}

// Stem returns the name of an archive without its ending, and whether it has the ending of one.
func Stem(name string) (stem string, ok bool) {
	for _, end := range endings {
		if stem, ok := strings.CutSuffix(name, end); ok {
			return stem, true
		}
	}
	return name, false
}

// Unpack unpacks an archive into a new folder. Files get the mode 0755 or 0644. It fails at a name or a link that
// leads out of the folder, at what is neither a file, a folder nor a link, and beyond the bounds; what it has
// unpacked until then stays.
func Unpack(file, folder string) (err error) {
	if err := os.Mkdir(folder, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	u := &unpacking{root: root, left: maxBytes}
	if strings.HasSuffix(file, ".zip") {
		return u.zip(file)
	}
	return u.tar(file)
}

// isJunk reports whether an entry is what macOS adds to archives.
func isJunk(name string) bool {
	return strings.HasPrefix(path.Base(name), "._") || name == "__MACOSX" || strings.HasPrefix(name, "__MACOSX/")
}

type unpacking struct {
	root  *os.Root
	left  int64 // bytes that may still come
	files int
}

func (u *unpacking) tar(file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	plain, err := gzip.NewReader(f)
	if err != nil {
		return err
	}
	for r := tar.NewReader(plain); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if isJunk(h.Name) {
			continue
		}
		switch h.Typeflag {
		case tar.TypeXGlobalHeader:
			continue
		case tar.TypeDir:
			err = u.folder(h.Name)
		case tar.TypeReg:
			err = u.file(h.Name, h.FileInfo().Mode(), r)
		case tar.TypeSymlink:
			err = u.link(h.Name, h.Linkname)
		case tar.TypeLink:
			err = u.hardLink(h.Name, h.Linkname)
		default:
			err = fmt.Errorf("%q is neither a file, a folder nor a symbolic link", h.Name)
		}
		if err != nil {
			return err
		}
	}
}

func (u *unpacking) zip(file string) error {
	r, err := zip.OpenReader(file)
	if err != nil {
		return err
	}
	defer r.Close()
	for _, f := range r.File {
		if err := u.entry(f); err != nil {
			return err
		}
	}
	return nil
}

// maxTarget bounds the target of a link, in bytes.
const maxTarget = 4 << 10

func (u *unpacking) entry(f *zip.File) error {
	mode := f.Mode()
	if isJunk(f.Name) {
		return nil
	}
	if mode.IsDir() {
		return u.folder(f.Name)
	}
	content, err := f.Open()
	if err != nil {
		return err
	}
	defer content.Close()
	switch {
	case mode.IsRegular():
		return u.file(f.Name, mode, content)
	case mode.Type() == fs.ModeSymlink:
		target, err := io.ReadAll(io.LimitReader(content, maxTarget))
		if err != nil {
			return err
		}
		return u.link(f.Name, string(target))
	}
	return fmt.Errorf("%q is neither a file, a folder nor a symbolic link", f.Name)
}

// local returns the path of an entry within the folder.
func (u *unpacking) local(name string) (string, error) {
	if u.files++; u.files > maxFiles {
		return "", fmt.Errorf("it has more than %d files", maxFiles)
	}
	local := filepath.FromSlash(path.Clean(name))
	if !filepath.IsLocal(local) || strings.ContainsAny(name, "\\\x00") {
		return "", fmt.Errorf("%q leads out of its folder", name)
	}
	return local, nil
}

func (u *unpacking) folder(name string) error {
	local, err := u.local(name)
	if err != nil {
		return err
	}
	return u.root.MkdirAll(local, 0o755)
}

func (u *unpacking) file(name string, mode fs.FileMode, content io.Reader) (err error) {
	local, err := u.local(name)
	if err != nil {
		return err
	}
	if err := u.root.MkdirAll(filepath.Dir(local), 0o755); err != nil {
		return err
	}
	perm := fs.FileMode(0o644)
	if mode.Perm()&0o111 != 0 {
		perm = 0o755
	}
	out, err := u.root.OpenFile(local, os.O_CREATE|os.O_EXCL|os.O_WRONLY, perm)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	n, err := io.Copy(out, io.LimitReader(content, u.left+1))
	if u.left -= n; u.left < 0 {
		return fmt.Errorf("it unpacks to more than %d MB", maxBytes>>20)
	}
	return err
}

func (u *unpacking) link(name, target string) error {
	local, err := u.local(name)
	if err != nil {
		return err
	}
	if path.IsAbs(target) || strings.ContainsAny(target, "\\\x00") || !filepath.IsLocal(filepath.Join(filepath.Dir(local), filepath.FromSlash(target))) {
		return fmt.Errorf("the link %q leads out of its folder, to %q", name, target)
	}
	if err := u.root.MkdirAll(filepath.Dir(local), 0o755); err != nil {
		return err
	}
	return u.root.Symlink(target, local)
}

// hardLink makes an entry the same file as an earlier one.
func (u *unpacking) hardLink(name, target string) error {
	local, err := u.local(name)
	if err != nil {
		return err
	}
	earlier, err := u.local(target)
	if err != nil {
		return err
	}
	if err := u.root.MkdirAll(filepath.Dir(local), 0o755); err != nil {
		return err
	}
	return u.root.Link(earlier, local)
}
