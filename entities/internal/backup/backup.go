// Package backup copies all that an app keeps into a folder, and back: the sets, the ledger, the key of the journal and the
// files of callers.
//
// What belongs here: what a backup is made of, and the commands. Not here: how a database is copied, and rows one by
// one, which export and import take through the operations of entities.
package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/database"
	"github.com/koan-go/koan/framework/database/sqlite"
	"github.com/koan-go/koan/framework/fault"
)

// What stands in a backup's folder.
const (
	setsFolder  = "sets"
	filesFolder = "files"
	ledgerFile  = "koan.ledger"
	keyFile     = "journal.key"
	kind        = "sqlite"
)

func setName(set string) string { return setsFolder + "/" + set + ".db" }

// Place is where an app keeps what a backup has.
type Place struct {
	Data   sqlite.Copies
	Close  func() error // ends the use of the data
	Folder string       // of the data
	Key    string       // the file of the journal's key
	Files  string       // the folder of files, "" where they are in a bucket
}

// Commands are `backup` and `restore`. Place finds where the data is; it ends in capability_unsupported where
// the commands cannot copy it.
type Commands struct {
	Place func(host catalog.Host) (Place, error)
}

// List describes the commands.
func (cs Commands) List() []*catalog.Command {
	return []*catalog.Command{
		{
			Name: "backup", Args: []string{"DIR"}, Short: "Copy the sets, the ledger and the files into an empty folder",
			Long: "Copies the sets, the ledger, the key of the journal and the files of callers into a folder, which must be empty or not\n" +
				"be there. The app may go on serving: each set is copied as of one moment. The folder has a manifest with the digest of\n" +
				"each file; without it, it is not a backup. For data in SQLite.",
			Example: "backup /backup/monday", Run: cs.backup,
		},
		{
			Name: "restore", Args: []string{"DIR"}, Short: "Bring back what a backup has",
			Long: "Checks every file of a backup, and brings the data back to where the configuration says. The app must not run. A place\n" +
				"that has data is left as it is, unless --force moves that away, into a folder beside it.",
			Example: "restore /backup/monday",
			Flags:   []catalog.CommandFlag{{Name: "force", Default: false, Help: "move away the data that is there"}},
			Run:     cs.restore,
		},
	}
}

func (cs Commands) backup(ctx context.Context, host catalog.Host, in *catalog.Invocation) (err error) {
	p, err := cs.Place(host)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	dir := in.Args[0]
	if there, err := os.ReadDir(dir); err == nil && len(there) > 0 {
		return fault.Newf(fault.Conflict, "the folder %s is not empty", dir).WithHint("Name a folder that is empty, or that is not there yet.").WithRetry(fault.Fix)
	}
	if err := os.MkdirAll(filepath.Join(dir, setsFolder), 0o700); err != nil {
		return unwritable(err)
	}
	m := &manifest{Koan: form, App: host.App(), Version: host.Version(), Database: kind, Made: time.Now().UTC()}
	if err := p.copySets(ctx, dir, m); err != nil {
		return err
	}
	if err := p.copyFiles(ctx, dir, m); err != nil { // after the rows that refer to them
		return unwritable(err)
	}
	if err := m.write(dir); err != nil {
		return unwritable(err)
	}
	if p.Files == "" {
		in.Err.Printf("The files are in a bucket, and not in the backup: copy them with the bucket's own tools, after this.\n")
	}
	in.Out.Printf("%s: %d sets, %d files\n", dir, len(m.Sets), len(m.Files))
	return nil
}

func unwritable(err error) error {
	if fault.Known(err) {
		return err
	}
	return fault.New(fault.ServiceUnavailable, "the backup cannot be written").WithHint("Check that there is room, and that this user may write there.").Because(err)
}

// copySets copies the sets and, after them, the ledger: at the next start it is compared with the receipts in them.
func (p Place) copySets(ctx context.Context, dir string, m *manifest) (err error) {
	if m.Sets, err = p.Data.Sets(ctx); err != nil {
		return err
	}
	for _, set := range m.Sets {
		if err := p.copySet(ctx, dir, m, set, setName(set)); err != nil {
			return err
		}
	}
	there, err := p.Data.HasLedger()
	if err != nil || !there {
		return err
	}
	return p.copySet(ctx, dir, m, database.Ledger, ledgerFile)
}

func (p Place) copySet(ctx context.Context, dir string, m *manifest, set, name string) error {
	to := filepath.Join(dir, filepath.FromSlash(name))
	if err := p.Data.CopyTo(ctx, set, to); err != nil {
		return err
	}
	return m.seal(dir, name)
}

// seal takes a file into the manifest that is whole, and outlives a loss of power.
func (m *manifest) seal(dir, name string) error {
	path := filepath.Join(dir, filepath.FromSlash(name))
	out, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return unwritable(err)
	}
	if err := errors.Join(out.Chmod(0o600), out.Sync(), out.Close()); err != nil {
		return unwritable(err)
	}
	f, err := measure(dir, name)
	if err != nil {
		return unwritable(err)
	}
	m.Files = append(m.Files, f)
	return nil
}

// copyFiles copies the key of the journal and the files of callers, which never change once they are there.
func (p Place) copyFiles(ctx context.Context, dir string, m *manifest) error {
	if _, err := os.Stat(p.Key); err == nil {
		if err := copyFile(p.Key, filepath.Join(dir, keyFile)); err != nil {
			return err
		}
		if err := m.seal(dir, keyFile); err != nil {
			return err
		}
	}
	return walk(p.Files, func(name string) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		to := filesFolder + "/" + name
		err := copyFile(filepath.Join(p.Files, filepath.FromSlash(name)), filepath.Join(dir, filepath.FromSlash(to)))
		if errors.Is(err, fs.ErrNotExist) { // nothing referred to it, and it was collected meanwhile
			return nil
		}
		if err != nil {
			return err
		}
		return m.seal(dir, to)
	})
}

// walk visits the regular files of a folder by their names below it, but for those that are being uploaded.
func walk(dir string, visit func(name string) error) error {
	if dir == "" {
		return nil
	}
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if name = filepath.ToSlash(name); e.IsDir() && name == "new" {
			return fs.SkipDir
		}
		if !e.Type().IsRegular() || strings.HasPrefix(e.Name(), ".") {
			return nil
		}
		return visit(name)
	})
}

// copyFile copies a file to a place where there is none.
func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Sync(), out.Close())
}

func (cs Commands) restore(ctx context.Context, host catalog.Host, in *catalog.Invocation) (err error) {
	dir := in.Args[0]
	m, err := check(dir, host.App(), kind)
	if err != nil {
		return err
	}
	p, err := cs.Place(host)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	if p.Files == "" && m.hasFiles() {
		return fault.New(fault.CapabilityUnsupported, "the backup has files, and the configuration keeps files in a bucket").
			WithHint("Restore it without files.s3.bucket, and put the files into the bucket with its own tools afterwards.")
	}
	if err := p.checkEmpty(ctx, in.Bools["force"]); err != nil {
		return err
	}
	draft, err := os.MkdirTemp(p.Folder, ".restore-")
	if err != nil {
		return unwritable(err)
	}
	defer func() { _ = os.RemoveAll(draft) }()
	for _, f := range m.Files { // whatever there is no room for is known before anything is moved
		if strings.HasPrefix(f.Name, filesFolder+"/") {
			continue
		}
		if err := copyFile(filepath.Join(dir, filepath.FromSlash(f.Name)), filepath.Join(draft, filepath.FromSlash(f.Name))); err != nil {
			return unwritable(err)
		}
	}
	aside, err := p.retire(ctx)
	if err != nil {
		return err
	}
	if err := p.admit(ctx, m, dir, draft); err != nil {
		return unwritable(err)
	}
	in.Out.Printf("%s: %d sets, %d files\n", p.Folder, len(m.Sets), len(m.Files))
	if aside != "" {
		in.Err.Printf("What was there is in %s.\n", aside)
	}
	return nil
}

// checkEmpty refuses a place that has data, unless it may be moved away.
func (p Place) checkEmpty(ctx context.Context, force bool) error {
	sets, err := p.Data.Sets(ctx)
	if err != nil {
		return err
	}
	ledger, err := p.Data.HasLedger()
	if err != nil || force || len(sets) == 0 && !ledger {
		return err
	}
	return fault.Newf(fault.Conflict, "there is data in %s", p.Folder).WithRetry(fault.Fix).
		WithHint("Restore into another place (`database`), or let --force move it away, into a folder beside it.")
}

// retire moves away what there is, into a folder that it returns; "" for nothing.
func (p Place) retire(ctx context.Context) (aside string, err error) {
	sets, err := p.Data.Sets(ctx)
	if err != nil {
		return "", err
	}
	ledger, err := p.Data.HasLedger()
	if err != nil || len(sets) == 0 && !ledger {
		return "", err
	}
	aside = filepath.Join(p.Folder, "before-restore-"+time.Now().UTC().Format("20060102T150405.000"))
	if err := os.Mkdir(aside, 0o700); err != nil {
		return "", unwritable(err)
	}
	if err := p.Data.Retire(ctx, aside); err != nil {
		_ = os.Remove(aside) // it is empty, unless something was moved
		return "", err
	}
	if err := os.Rename(p.Key, filepath.Join(aside, keyFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", unwritable(err)
	}
	return aside, nil
}

// admit puts the parts of a backup where they belong: files first, and the ledger last.
func (p Place) admit(ctx context.Context, m *manifest, dir, draft string) error {
	ledger := false
	for _, f := range m.Files {
		from := filepath.Join(draft, filepath.FromSlash(f.Name))
		name, isFile := strings.CutPrefix(f.Name, filesFolder+"/")
		switch {
		case isFile:
			err := copyFile(filepath.Join(dir, filepath.FromSlash(f.Name)), filepath.Join(p.Files, filepath.FromSlash(name)))
			if err != nil && !errors.Is(err, fs.ErrExist) { // a file never changes
				return err
			}
		case f.Name == keyFile:
			if err := os.Rename(from, p.Key); err != nil {
				return err
			}
		case f.Name == ledgerFile:
			ledger = true
		}
	}
	for _, set := range m.Sets {
		if err := p.Data.Admit(ctx, set, filepath.Join(draft, filepath.FromSlash(setName(set)))); err != nil {
			return err
		}
	}
	if !ledger {
		return nil
	}
	return p.Data.Admit(ctx, database.Ledger, filepath.Join(draft, ledgerFile))
}

// Unsupported is the fault of an app whose data the commands cannot copy.
func Unsupported(why, hint string) error {
	return fault.New(fault.CapabilityUnsupported, fmt.Sprintf("backup and restore copy data in SQLite, and %s", why)).WithHint("%s", hint)
}
