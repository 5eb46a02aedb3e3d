package manage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/plugins/internal/archive"
)

// maxDownload bounds what is downloaded, in bytes.
const maxDownload = 1 << 30

// staged is a plugin that lies beside its place: in a hidden folder of the plugins' folder, so that it can be
// renamed into it.
type staged struct {
	source string // where it came from
	work   string // the hidden folder
	name   string
	path   string // of the file or folder, which is called like the plugin
}

func (s *staged) discard() error { return os.RemoveAll(s.work) }

// stage brings a plugin from a path or URL. name is "" where the source tells it. The caller discards what is
// staged.
func (p place) stage(ctx context.Context, source, name string, in *catalog.Invocation) (s *staged, err error) {
	if err := os.MkdirAll(p.dir, 0o755); err != nil {
		return nil, err
	}
	s = &staged{source: source, name: name}
	if s.work, err = os.MkdirTemp(p.dir, ".adding-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.discard())
		}
	}()
	from := source
	if u := address(source); u != nil {
		from = filepath.Join(s.work, path.Base(path.Clean("/"+u.Path)))
		if err := download(ctx, u, from, in.Err); err != nil {
			return nil, err
		}
	}
	return s, s.take(from)
}

// address returns the URL that a source is, nil for a path.
func address(source string) *url.URL {
	u, err := url.Parse(source)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil
	}
	return u
}

// take puts a copy of a file, a folder or an archive to where it can be started.
func (s *staged) take(from string) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	base := filepath.Base(from)
	switch stem, packed := archive.Stem(base); {
	case info.IsDir():
		return s.folder(from, base)
	case packed:
		to := filepath.Join(s.work, "unpacked")
		if err := archive.Unpack(from, to); err != nil {
			return fault.Newf(fault.InvalidPayload, "%s cannot be unpacked: %v", base, err)
		}
		return s.unpacked(to, stem)
	}
	if archive.Foreign(base) {
		return fault.Newf(fault.InvalidPayload, "%s is an archive of a kind that is not read", base).WithHint("Archives are .tar.gz, .tgz or .zip.")
	}
	if page, err := isPage(from); err != nil || page {
		return errors.Join(err, fault.Newf(fault.InvalidPayload, "%s is a web page, not a plugin", base).WithHint("Name the address of the file itself."))
	}
	if s.name == "" {
		s.name = strings.TrimSuffix(base, ".exe")
	}
	if err := checkName(s.name, base); err != nil {
		return err
	}
	s.path = filepath.Join(s.work, "file", s.name)
	if strings.HasSuffix(base, ".exe") {
		s.path += ".exe"
	}
	if err := os.Mkdir(filepath.Dir(s.path), 0o700); err != nil {
		return err
	}
	return copyFile(from, s.path, 0o755)
}

// isPage reports whether a file is HTML, as a server sends it in place of a file.
func isPage(path string) (bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	begin := make([]byte, 512)
	n, err := io.ReadFull(f, begin)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return false, err
	}
	return strings.HasPrefix(http.DetectContentType(begin[:n]), "text/html"), nil
}

// checkName refuses a name that no plugin can have.
func checkName(name, source string) error {
	if name == "" || len(name) > 48 || catalog.Kebab(name) != name {
		return fault.Newf(fault.InvalidPayload, "%q does not tell the plugin's name", source).WithHint("Name it with --name: lower-case kebab, as its domain.")
	}
	return nil
}

// unpacked takes the plugin out of the folder of an archive, which may have one folder around all.
func (s *staged) unpacked(folder, stem string) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	if len(entries) == 1 && entries[0].IsDir() {
		return s.folder(filepath.Join(folder, entries[0].Name()), entries[0].Name())
	}
	return s.folder(folder, stem)
}

// folder takes the plugin of a folder: the executable that is called like the plugin or the folder, or the only one.
func (s *staged) folder(from, base string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	var programs []string
	for _, e := range entries {
		if info, err := os.Stat(filepath.Join(from, e.Name())); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0 {
			programs = append(programs, e.Name())
		}
	}
	if len(programs) == 0 { // many a .zip has lost which files are executable
		for _, file := range []string{s.name, base} {
			if info, err := os.Stat(filepath.Join(from, file)); file != "" && err == nil && info.Mode().IsRegular() {
				programs = append(programs, file)
				break
			}
		}
	}
	want := s.name
	for _, program := range programs {
		if want == "" && (program == base || len(programs) == 1) {
			want = program
		}
	}
	if want == "" {
		return fault.Newf(fault.InvalidPayload, "%s has %s, so it is not known which one is the plugin", base, catalog.Counted(len(programs), "executable")).
			WithHint("A plugin that is a folder has one that is called like it; name another one with --name.")
	}
	s.name = strings.TrimSuffix(want, ".exe")
	if err := checkName(s.name, want); err != nil {
		return err
	}
	if len(entries) == 1 {
		s.path = filepath.Join(s.work, "file", want)
		if err := os.Mkdir(filepath.Dir(s.path), 0o700); err != nil {
			return err
		}
		return copyFile(filepath.Join(from, want), s.path, 0o755)
	}
	s.path = filepath.Join(s.work, "folder", s.name)
	if err := copyFolder(from, s.path); err != nil {
		return err
	}
	return os.Chmod(filepath.Join(s.path, want), 0o755)
}

// copyFolder copies a folder. What others than its owner may change in it, they may not in the copy.
func copyFolder(from, to string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		into := filepath.Join(to, rel)
		info, err := d.Info()
		if err != nil {
			return err
		}
		switch mode := info.Mode(); {
		case mode.IsDir():
			return os.MkdirAll(into, 0o755)
		case mode.Type() == fs.ModeSymlink:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			return os.Symlink(target, into) // the digest refuses one that leads out
		case mode.IsRegular():
			return copyFile(path, into, mode.Perm()&0o755|0o400)
		}
		return fmt.Errorf("%s is neither a file nor a folder", path)
	})
}

func copyFile(from, to string, mode fs.FileMode) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Chmod(mode), out.Close()) // whatever the umask says
}

// download fetches a URL into a file.
func download(ctx context.Context, u *url.URL, to string, say catalog.Printer) (err error) {
	if u.Scheme != "https" && !isLoopback(u.Hostname()) {
		return fault.Newf(fault.InvalidPayload, "%s can be changed on its way", u.Redacted()).WithHint("Use https.")
	}
	client := &http.Client{CheckRedirect: func(next *http.Request, before []*http.Request) error {
		if next.URL.Scheme != "https" && !isLoopback(next.URL.Hostname()) {
			return fmt.Errorf("it leads to %s, which can be changed on its way", next.URL.Redacted())
		}
		if len(before) >= 10 {
			return errors.New("it leads on ten times")
		}
		return nil
	}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return err
	}
	answer, err := client.Do(req)
	if err != nil {
		return fault.Newf(fault.ServiceUnavailable, "%s cannot be fetched: %v", u.Redacted(), errors.Unwrap(err)).Because(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fault.Newf(fault.ServiceUnavailable, "%s cannot be fetched: the server says %s", u.Redacted(), answer.Status)
	}
	say.Printf("downloading %s ...\n", u.Redacted())
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	n, err := io.Copy(out, io.LimitReader(answer.Body, maxDownload+1))
	switch err = errors.Join(err, out.Close()); {
	case err != nil:
		return fault.Newf(fault.ServiceUnavailable, "%s cannot be fetched: %v", u.Redacted(), err)
	case n > maxDownload:
		return fault.Newf(fault.InvalidPayload, "%s has more than %d MB", u.Redacted(), maxDownload>>20)
	}
	return nil
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
