package dev

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// App is an app in the folder of its main package.
type App struct {
	Dir string
	out string // the folder of what is built
	n   int
	// schemas is the state of what code is generated from, at the last generation.
	schemas string
}

// NewApp returns the app of a folder. Close removes what was built.
func NewApp(dir string) (*App, error) {
	if _, err := os.Stat(filepath.Join(dir, "go.mod")); err != nil {
		return nil, fmt.Errorf("%s has no go.mod: run koan dev in the folder of an app, or name ent schemas with --schema", dir)
	}
	out, err := os.MkdirTemp("", "koan-dev-")
	return &App{Dir: dir, out: out}, err
}

// Close removes what was built.
func (a *App) Close() error { return os.RemoveAll(a.out) }

// Build implements Program. Code is generated where ent schemas have changed since it was.
func (a *App) Build(ctx context.Context, errs io.Writer) (file, state string, err error) {
	entc := filepath.Join(a.Dir, "ent", "generate.go")
	schemas := stateOf(filepath.Join(a.Dir, "ent", "schema"), isSource)
	if _, err := os.Stat(entc); err == nil && (schemas != a.schemas && a.schemas != "" || !exists(filepath.Join(a.Dir, "ent", "client.go"))) {
		if err := a.generate(ctx, errs); err != nil {
			return "", a.State(), err
		}
	}
	a.schemas = schemas
	if state = a.State(); stateOf(filepath.Join(a.Dir, "ent", "schema"), isSource) != schemas {
		state = "" // a schema has changed meanwhile
	}
	a.n++
	file = filepath.Join(a.out, fmt.Sprintf("app-%d", a.n)) // the last one may still serve
	if err := a.run(ctx, errs, "build", "-o", file, "."); err != nil {
		return "", state, errors.New("go build failed; the lines above say why")
	}
	_ = os.Remove(filepath.Join(a.out, fmt.Sprintf("app-%d", a.n-2))) // nobody starts it any more
	return file, state, nil
}

// generate generates code from the ent schemas. What that needs, and what generated code imports, a new module does not
// require yet.
func (a *App) generate(ctx context.Context, errs io.Writer) error {
	fmt.Fprintln(errs, "koan dev: generating ...")
	for _, args := range [][]string{{"mod", "tidy"}, {"generate", "./ent/generate.go"}, {"mod", "tidy"}} {
		if err := a.run(ctx, errs, args...); err != nil {
			return fmt.Errorf("go %s failed; the lines above say why", strings.Join(args, " "))
		}
	}
	return nil
}

func (a *App) run(ctx context.Context, errs io.Writer, args ...string) error {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = a.Dir, errs, errs
	return cmd.Run()
}

// State implements Program.
func (a *App) State() string { return stateOf(a.Dir, isSource) }

// Itself is koan, over a folder of ent schemas or a database.
type Itself struct {
	Schema   string // the folder, "" for none
	Database string // as it is named; a file of SQLite is followed
	Config   string // the configuration's file
}

// Build implements Program: koan is built already.
func (i Itself) Build(context.Context, io.Writer) (file, state string, err error) {
	state = i.State() // before the process looks
	file, err = os.Executable()
	return file, state, err
}

// State implements Program.
func (i Itself) State() string {
	state := stateOf(i.Config, nil)
	if i.Schema != "" {
		return state + stateOf(i.Schema, isSource)
	}
	return state + schemaCookie(i.Database)
}

// schemaCookie is the number in a file of SQLite that each change of its schema counts up.
func schemaCookie(database string) string {
	path := strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(database, "sqlite://"), "sqlite:"), "file:")
	if path == database {
		return "" // a server
	}
	f, err := os.Open(path)
	if err != nil {
		return "missing"
	}
	defer func() { _ = f.Close() }()
	var cookie [4]byte
	if _, err := f.ReadAt(cookie[:], 40); err != nil {
		return "empty"
	}
	return fmt.Sprint(binary.BigEndian.Uint32(cookie[:]))
}

// isSource reports whether a program is made of a file.
func isSource(name string) bool {
	return strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") || name == "go.mod" || name == "go.sum"
}

// stateOf describes the files of a folder, or a file: their times and sizes.
func stateOf(root string, wanted func(name string) bool) string {
	var b strings.Builder
	_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // it is not there, or goes just now: the next look sees that
		}
		name := d.Name()
		if d.IsDir() {
			if path != root && (strings.HasPrefix(name, ".") || name == "node_modules" || name == "vendor" || name == "testdata" || name == "koanprocess") {
				return filepath.SkipDir
			}
			return nil
		}
		if wanted != nil && !wanted(name) {
			return nil
		}
		if info, err := d.Info(); err == nil {
			fmt.Fprintf(&b, "%s %d %d\n", path, info.Size(), info.ModTime().UnixNano())
		}
		return nil
	})
	return b.String()
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
