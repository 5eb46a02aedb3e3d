package catalog

import (
	"context"
	"io"
)

// Commander is a provider with commands of its own on the app's command line. Commands is
// called once, before Start, and commands run without Start: one may be needed to make
// the start possible.
type Commander interface {
	Commands() []*Command
}

// Command is one command, or a group of them, which has no Run.
type Command struct {
	Name    string   // "plan"
	Args    []string // in brackets those at the end that may be left out: "[SOURCE]"
	Short   string   // one line for --help
	Long    string
	Example string // without the app's name: "migrate plan add_due_date"
	Flags   []CommandFlag
	Sub     []*Command
	// Run does the work. The host has the checked configuration and no snapshot. The
	// fault invalid_payload counts as wrong use of the command line, any other error as
	// a failure. ErrNotice is a failure that was already reported.
	Run func(ctx context.Context, host Host, in *Invocation) error
}

// CommandFlag is a flag of a command; Default is a bool, a string, or []string for one that
// can be given several times.
type CommandFlag struct {
	Name    string
	Default any
	Help    string
}

// Invocation is what a command was called with, and where it writes.
type Invocation struct {
	Args    []string // as many as the command has
	Bools   map[string]bool
	Strings map[string]string
	Lists   map[string][]string
	In      io.Reader
	Out     Printer // results
	Err     Printer // messages about the work
	// ListBytes starts the app, and returns how many bytes its tools/list has for a client
	// that understands code mode.
	ListBytes func(ctx context.Context) (int, error)
}

// Printer writes for people: aligned, coloured on a terminal, plain in a pipe.
type Printer interface {
	// Printf writes text.
	Printf(format string, args ...any)
	// Table writes rows in columns.
	Table(rows [][]Cell)
	// JSON writes a value as one line.
	JSON(v any) error
}

// Cell is one field of a table.
type Cell struct {
	Text string
	Mood Mood
}

// Mood says whether a cell is good or bad news.
type Mood int

// The moods.
const (
	Plain Mood = iota
	Good
	Bad
	Faint
)

// ErrNotice ends a command that has already printed what is wrong.
var ErrNotice error = notice{}

type notice struct{}

func (notice) Error() string { return "" }
