package actions

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
)

// Action is an action that can be offered.
type Action struct {
	*Declaration
	Name     string
	Code     string
	Language string // of the file
	File     string // for people
}

// Problem is what is wrong with a file.
type Problem struct {
	File         string
	Line, Column int    // 0 is unknown
	Path         string // JSON Pointer into the declaration
	Message      string
	Hint         string
}

// Error returns the problem in one line, as compilers write it.
func (p Problem) Error() string {
	text := p.File
	if p.Line > 0 {
		text += fmt.Sprintf(":%d:%d", p.Line, p.Column)
	}
	if p.Path != "" {
		text += ": " + p.Path
	}
	return text + ": " + p.Message
}

// Folder is a place with files of actions.
type Folder struct {
	FS    fs.FS
	Label string // for people: "actions"
}

// Reading has a worker read what a file declares. The fault is about the file, the error about
// the worker.
type Reading func(ctx context.Context, code, language string) (*wire.Declaration, *fault.Fault, error)

// Set is what some folders have.
type Set struct {
	Actions  []*Action // by name
	Problems []Problem
	files    map[string]file // by path for people
}

// file is a file as it was read.
type file struct {
	code   string
	action *Action // nil if something is wrong with it
	wrong  []Problem
	good   *Action // the last one without a problem
}

// Equal reports whether two sets are the same to their users.
func (s *Set) Equal(o *Set) bool {
	return slices.Equal(s.Actions, o.Actions) && slices.Equal(s.Problems, o.Problems)
}

// Named returns the name and the language of an action's file; ok is false for other files.
type Named func(file string) (name, language string, ok bool)

// Loader reads folders.
type Loader struct {
	Folders []Folder // an action of a later one takes the place of one of the same name
	Named   Named
	Read    Reading
	// Taken says what else has a name, "" if nothing has.
	Taken func(name string) string
	// MaxCode is the longest file in characters.
	MaxCode func() int
}

// maxFiles bounds the actions of one folder.
const maxFiles = 1000

// Load reads the folders. Files that have not changed since last are not read again; of a file
// that has become wrong, last's action stays. last may be nil. The error is about a folder or
// the worker, and says nothing of the files.
func (l *Loader) Load(ctx context.Context, last *Set) (*Set, error) {
	s := &Set{files: map[string]file{}}
	if last == nil {
		last = s
	}
	byName := map[string]*Action{}
	for _, f := range l.Folders {
		found, err := l.folder(ctx, f, last, s)
		if err != nil {
			return nil, err
		}
		for name, a := range found {
			byName[name] = a
		}
	}
	for _, a := range byName {
		s.Actions = append(s.Actions, a)
	}
	slices.SortFunc(s.Actions, func(a, b *Action) int { return strings.Compare(a.Name, b.Name) })
	return s, nil
}

// folder reads the files of one folder into s.
func (l *Loader) folder(ctx context.Context, from Folder, last, s *Set) (map[string]*Action, error) {
	entries, err := fs.ReadDir(from.FS, ".")
	if err != nil {
		return nil, fmt.Errorf("the folder of actions %s cannot be read: %w", from.Label, err)
	}
	byName := map[string]*Action{}
	count := 0
	for _, e := range entries {
		name, language, ok := l.Named(e.Name())
		if !ok {
			continue
		}
		if count++; count > maxFiles {
			return nil, fmt.Errorf("the folder of actions %s has more than %d files", from.Label, maxFiles)
		}
		label := path.Join(from.Label, e.Name())
		f, err := l.file(ctx, from.FS, e.Name(), &Action{Name: name, Language: language, File: label}, last.files[label])
		if err != nil {
			return nil, err
		}
		a := f.action
		if a == nil {
			a = f.good
		}
		if other := byName[name]; a != nil && other != nil {
			f.wrong = append(slices.Clone(f.wrong), Problem{File: label, Message: fmt.Sprintf("the action %q is in %s already", name, other.File), Hint: "Rename or remove one of the two files."})
			a = nil
		}
		if a != nil {
			byName[name] = a
		}
		s.files[label] = f
		s.Problems = append(s.Problems, f.wrong...)
	}
	return byName, nil
}

// file reads one file, unless it is as it was.
func (l *Loader) file(ctx context.Context, from fs.FS, name string, a *Action, last file) (file, error) {
	wrong := func(problems ...Problem) file { return file{code: a.Code, wrong: problems, good: last.good} }
	code, err := l.text(from, name)
	if err != nil {
		return wrong(Problem{File: a.File, Message: err.Error()}), nil
	}
	if a.Code = code; last.code == code && code != "" {
		return last, nil
	}
	if !catalog.ValidAction(a.Name) {
		return wrong(Problem{
			File: a.File, Message: "the file's name is not that of an action" + renamed(a.Name),
			Hint: "An action is named in lower-case kebab, at most 48 characters: cancel-order.ts.",
		}), nil
	}
	if other := l.Taken(a.Name); other != "" {
		return wrong(Problem{File: a.File, Message: fmt.Sprintf("%s is named %q already", other, a.Name), Hint: "Rename the file."}), nil
	}
	declared, f, err := l.Read(ctx, code, a.Language)
	switch {
	case err != nil:
		return file{}, fmt.Errorf("%s cannot be read: %w", a.File, err)
	case f != nil:
		return wrong(Problem{File: a.File, Line: f.Line, Column: f.Column, Message: f.Message, Hint: f.Hint}), nil
	}
	d, details := Read(declared.Action)
	if len(details) > 0 {
		return wrong(placed(a.File, declared, details)...), nil
	}
	a.Declaration = d
	return file{code: code, action: a, good: a}, nil
}

// renamed suggests a name that could be an action's.
func renamed(name string) string {
	if near := catalog.Kebab(name); near != name && catalog.ValidAction(near) {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	return ""
}

// placed gives problems their lines: of the value itself, or of what is around it.
func placed(name string, declared *wire.Declaration, details []fault.Detail) []Problem {
	out := make([]Problem, len(details))
	for i, d := range details {
		out[i] = Problem{File: name, Path: d.Path, Message: d.Message, Hint: "The declaration is `export const action`; docs/howto/actions.md lists its members."}
		for at := d.Path; ; at = at[:strings.LastIndexByte(at, '/')] {
			if p, ok := declared.Places[at]; ok {
				out[i].Line, out[i].Column = p.Line, p.Column
				break
			}
			if at == "" {
				break
			}
		}
	}
	return out
}

// text reads a file within bounds.
func (l *Loader) text(from fs.FS, name string) (string, error) {
	f, err := from.Open(name)
	if err != nil {
		return "", unreadable(err)
	}
	defer f.Close()
	most := l.MaxCode()
	raw, err := io.ReadAll(io.LimitReader(f, int64(most)*utf8.UTFMax+1))
	switch {
	case err != nil:
		return "", unreadable(err)
	case !utf8.Valid(raw) && len(raw) <= most*utf8.UTFMax:
		return "", errors.New("the file is not UTF-8")
	case utf8.RuneCount(raw) > most:
		return "", fmt.Errorf("the file has more than %d characters (sandbox.maxCodeLength)", most)
	}
	return string(raw), nil
}

// unreadable says why a file cannot be read, without the path that the problem names already.
func unreadable(err error) error {
	if p := (*fs.PathError)(nil); errors.As(err, &p) {
		err = p.Err
	}
	return fmt.Errorf("the file cannot be read: %w", err)
}
