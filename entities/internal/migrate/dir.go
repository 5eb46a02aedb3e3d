package migrate

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"ariga.io/atlas/sql/migrate"

	"github.com/koan-go/koan/framework/database/sqltext"
	"github.com/koan-go/koan/framework/fault"
)

// Dir is a migration directory: files in Atlas' format, named VERSION_NAME.sql and
// summed up in atlas.sum. A file that was planned says in its first line to which
// schema it leads; others lead nowhere new.
type Dir struct {
	place string // for people
	dir   *migrate.MemDir
	files []*file
}

// file is one migration.
type file struct {
	migrate.File
	digest     string
	statements []string
	schema     int32 // where it leads: its own, else that of the file before it
	planned    bool
}

// label is a file's name without its end.
func (f *file) label() string { return strings.TrimSuffix(f.Name(), ".sql") }

const (
	header  = "-- koan:schema "
	maxFile = 16 << 20 // bytes
)

var (
	headerLine = regexp.MustCompile(`^-- koan:schema ([0-9a-f]{8}) ([a-z0-9]+)$`)
	fileName   = regexp.MustCompile(`^[0-9]{1,20}(_[A-Za-z0-9_-]*)?\.sql$`)
)

// Read reads and checks a directory; place names it for people. A directory that
// is not there or empty has no files. With sums the files must be those that
// atlas.sum lists. Its error is a fault that says what to do: command is how the
// app's commands are called, dialect what the files must be made for.
func Read(fsys fs.FS, place, command, dialect string, sums bool) (*Dir, error) {
	d := &Dir{place: place, dir: &migrate.MemDir{}}
	names, err := fs.Glob(fsys, "*.sql")
	if err != nil {
		return nil, unreadableFault(place, err)
	}
	for _, name := range append(names, migrate.HashFileName) {
		raw, err := fs.ReadFile(fsys, name)
		if errors.Is(err, fs.ErrNotExist) && name == migrate.HashFileName {
			continue
		}
		if err == nil && len(raw) > maxFile {
			err = fmt.Errorf("%s is larger than %d bytes", name, maxFile)
		}
		if err != nil {
			return nil, unreadableFault(place, err)
		}
		if err := d.dir.WriteFile(name, raw); err != nil {
			return nil, unreadableFault(place, err)
		}
	}
	if sums {
		if err := migrate.Validate(d.dir); err != nil {
			return nil, checksumMismatch(place, command, err)
		}
	}
	return d, d.parse(dialect)
}

func unreadableFault(place string, err error) error {
	return fault.Newf(fault.ServiceUnavailable, "the migrations in %s cannot be read: %v", place, err).
		WithHint("Check the directory, or name another one with `migrations.dir`.").Because(err)
}

// checksumMismatch says what does not fit atlas.sum.
func checksumMismatch(place, command string, err error) error {
	what := "atlas.sum does not match the files"
	var sum *migrate.ChecksumError
	switch {
	case errors.Is(err, migrate.ErrChecksumNotFound):
		what = "atlas.sum is missing"
	case errors.Is(err, migrate.ErrChecksumFormat):
		what = "atlas.sum cannot be read"
	case errors.As(err, &sum):
		what = fmt.Sprintf("%s was %s since atlas.sum was written", sum.File, sum.Reason)
	}
	return fault.Newf(fault.ServiceUnavailable, "the migrations in %s do not match their checksums: %s", place, what).
		WithHint("If the change is intended and reviewed, and no set has run the file yet, run `%s hash`. Otherwise revert it.", command).Because(err)
}

// parse reads the files' statements and where they lead.
func (d *Dir) parse(dialect string) error {
	files, err := d.dir.Files()
	if err != nil {
		return unreadableFault(d.place, err)
	}
	at := int32(0)
	for _, raw := range files {
		f, err := d.read(raw, dialect)
		if err != nil {
			return err
		}
		if f.planned {
			at = f.schema
		}
		f.schema = at
		if last := len(d.files) - 1; last >= 0 && d.files[last].Version() == f.Version() {
			return d.badFile(f, "has the same version as %s", d.files[last].Name())
		}
		d.files = append(d.files, f)
	}
	return nil
}

// badFile refuses a file.
func (d *Dir) badFile(f migrate.File, format string, args ...any) error {
	return fault.Newf(fault.ServiceUnavailable, "the migration %s in %s %s", f.Name(), d.place, fmt.Sprintf(format, args...)).
		WithHint("Correct the file, or remove it from the directory.")
}

// outside is Atlas' directive for a file that is not run in a transaction.
var outside = regexp.MustCompile(`(?m)^[ \t]*--[ \t]*atlas:txmode[ \t]+none[ \t\r]*$`)

func (d *Dir) read(raw migrate.File, dialect string) (*file, error) {
	f := &file{File: raw}
	if !fileName.MatchString(raw.Name()) {
		return nil, d.badFile(raw, "is not named VERSION_NAME.sql, with a version of digits")
	}
	if c, ok := raw.(migrate.CheckpointFile); ok && c.IsCheckpoint() {
		return nil, d.badFile(raw, "is a checkpoint, and sets cannot start from one")
	}
	if outside.Match(raw.Bytes()) { // in any line: Atlas passes by a directive that no empty line follows
		return nil, d.badFile(raw, "asks to run outside a transaction; a set is migrated as a whole or not at all")
	}
	sum := sha256.Sum256(raw.Bytes())
	f.digest = hex.EncodeToString(sum[:])
	line, _, _ := strings.Cut(string(raw.Bytes()), "\n")
	line = strings.TrimSuffix(line, "\r")
	if strings.HasPrefix(line, header) {
		m := headerLine.FindStringSubmatch(line)
		if m == nil {
			return nil, d.badFile(raw, "has a first line that cannot be read: want %sHASH DIALECT", header)
		}
		if m[2] != dialect {
			return nil, d.badFile(raw, "was made for %s, but the database is %s: keep a directory for each", m[2], dialect)
		}
		hash, err := strconv.ParseUint(m[1], 16, 32)
		if err != nil {
			return nil, d.badFile(raw, "has a first line that cannot be read: %v", err)
		}
		f.schema, f.planned = int32(uint32(hash)), true
	}
	var err error
	// A trigger has statements of its own, between BEGIN and END.
	scanner := migrate.Scanner{ScannerOptions: migrate.ScannerOptions{
		MatchBegin: dialect == sqltext.SQLite{}.Name(), MatchBeginAtomic: true, MatchDollarQuote: true,
	}}
	statements, err := scanner.Scan(string(raw.Bytes()))
	if err != nil {
		return nil, d.badFile(raw, "cannot be read: %v", err)
	}
	for _, s := range statements {
		f.statements = append(f.statements, s.Text)
	}
	return f, nil
}

// schemaHash is the schema that the whole directory leads to; 0 where no file says.
func (d *Dir) schemaHash() int32 {
	if len(d.files) == 0 {
		return 0
	}
	return d.files[len(d.files)-1].schema
}

// last is the newest version, "" if there is none.
func (d *Dir) last() string {
	if len(d.files) == 0 {
		return ""
	}
	return d.files[len(d.files)-1].Version()
}

// digest identifies the directory as a whole.
func (d *Dir) digest() int32 {
	h := fnv.New32a()
	for _, f := range d.files {
		fmt.Fprintf(h, "%s %s\n", f.Version(), f.digest)
	}
	return int32(h.Sum32())
}

// at returns the position of a version; -1 where there is none.
func (d *Dir) at(version string) int {
	return slices.IndexFunc(d.files, func(f *file) bool { return f.Version() == version })
}
