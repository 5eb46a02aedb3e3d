package migrate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"ariga.io/atlas/sql/migrate"
	"entgo.io/ent/dialect"

	"github.com/koan-go/koan/framework/fault"
)

// Plan is a migration that is not written yet.
type Plan struct {
	*Diff
	text string
	name string
}

var planName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,63}$`)

// versionForm is the version of a file: the moment of its planning, in UTC.
const versionForm = "20060102150405"

// CheckName refuses what cannot be a migration's name.
func CheckName(name string) error {
	if planName.MatchString(name) {
		return nil
	}
	return fault.Newf(fault.InvalidPayload, "%q is not a valid name for a migration", name).
		WithHint("Use at most 64 lower-case letters, digits, _ and -, such as add_due_date.")
}

// Plan compares what the directory leads to, run on a scratch place, with the
// schema. It returns nil if they are the same and the last file says so.
func (w Files) Plan(ctx context.Context, scratch dialect.Driver, name string, now time.Time) (*Plan, error) {
	if err := w.Replay(ctx, scratch); err != nil {
		return nil, err
	}
	at, err := open(scratch)
	if err != nil {
		return nil, err
	}
	there, err := inspect(ctx, at)
	if err != nil {
		return nil, err
	}
	d, err := w.compare(ctx, scratch, names(there), true)
	if err != nil {
		return nil, err
	}
	if len(d.plan.Changes) == 0 && w.Dir.schemaHash() == w.Hash {
		return nil, nil
	}
	version := now.UTC().Format(versionForm)
	if last := w.Dir.last(); version <= last {
		return nil, fault.Newf(fault.ServiceUnavailable, "the last migration in %s is %s, which is not in the past", w.Dir.place, last).
			WithHint("Wait a second, or check the machine's clock.")
	}
	d.plan.Version, d.plan.Name = version, name
	file, err := migrate.DefaultFormatter.FormatFile(d.plan)
	if err != nil {
		return nil, err
	}
	head := header + hashText(w.Hash) + " " + scratch.Dialect() + "\n\n"
	for _, b := range d.Blocks {
		head += "-- Review this: " + strings.ReplaceAll(b.Why, "\n", "\n-- ") + ".\n"
	}
	if len(d.Blocks) > 0 {
		head += "\n"
	}
	return &Plan{Diff: d, name: file.Name(), text: head + string(file.Bytes())}, nil
}

// Replay runs the directory on a scratch place, as a new set would.
func (w Files) Replay(ctx context.Context, scratch dialect.Driver) error {
	for _, f := range w.Dir.files {
		if err := f.run(ctx, scratch); err != nil {
			return fault.Newf(fault.ServiceUnavailable, "the migrations in %s do not run from the start: %v", w.Dir.place, err).
				WithHint("Fix the file, then run `%s hash`.", w.Command).Because(err)
		}
	}
	return nil
}

// Write puts a plan into the directory at path, with its sum, and returns the file's
// path. Nothing is there where it fails.
func (w Files) Write(p *Plan, path string) (string, error) {
	file := filepath.Join(path, p.name)
	err := os.MkdirAll(path, 0o755)
	if err == nil {
		var f *os.File
		if f, err = os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644); err == nil {
			_, err = f.WriteString(p.text)
			err = errors.Join(err, f.Close())
			if err == nil {
				err = writeSum(path)
			}
			if err != nil {
				err = errors.Join(err, os.Remove(file))
			}
		}
	}
	if err != nil {
		var pe *fs.PathError
		if errors.As(err, &pe) {
			err = pe.Err
		}
		return "", fault.Newf(fault.ServiceUnavailable, "the migration cannot be written to %s: %v", path, err).
			WithHint("Make the directory writable, or name another one with `migrations.dir`.").Because(err)
	}
	return file, nil
}

// Sum checks that the files of the directory at path run from the start, and
// rewrites atlas.sum. It says where they do not lead to the schema.
func (w Files) Sum(ctx context.Context, scratch dialect.Driver, path string) (note string, err error) {
	if err := w.Replay(ctx, scratch); err != nil {
		return "", err
	}
	at, err := open(scratch)
	if err != nil {
		return "", err
	}
	there, err := inspect(ctx, at)
	if err != nil {
		return "", err
	}
	d, err := w.compare(ctx, scratch, names(there), true)
	if err != nil {
		return "", err
	}
	if w.Dir.schemaHash() == w.Hash && len(d.plan.Changes) > 0 {
		note = "the files claim to lead to this build's schema, but do not: " + strings.Join(d.Statements(), "; ")
	}
	if err := writeSum(path); err != nil {
		return "", fault.Newf(fault.ServiceUnavailable, "%s cannot be written: %v", filepath.Join(path, migrate.HashFileName), err).
			WithHint("Make the directory writable.").Because(err)
	}
	return note, nil
}

// writeSum writes atlas.sum beside its place and moves it there.
func writeSum(path string) error {
	dir, err := migrate.NewLocalDir(path)
	if err != nil {
		return err
	}
	sum, err := dir.Checksum()
	if err != nil {
		return err
	}
	raw, err := sum.MarshalText()
	if err != nil {
		return err
	}
	draft := filepath.Join(path, "."+migrate.HashFileName)
	if err := os.WriteFile(draft, raw, 0o644); err != nil {
		return err
	}
	if err := os.Rename(draft, filepath.Join(path, migrate.HashFileName)); err != nil {
		return errors.Join(fmt.Errorf("write the sum: %w", err), os.Remove(draft))
	}
	return nil
}
