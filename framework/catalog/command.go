package catalog

import (
	"context"
	"io"
	"regexp"
	"strconv"
	"strings"
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

// Again is how a command of an app is typed so that it works on what a process of the app serves: with the
// configuration and in the folder of that process. The zero value is a command alone.
type Again struct {
	Program   string   // in place of the command's first word, "" for that word
	Variables []string // NAME=value
	Flags     []string // --name, value
}

// Typed returns a command line for a shell. The words have no flags that would take the next word.
func (a Again) Typed(command, words string) string {
	var line []string
	for _, v := range a.Variables {
		name, value, _ := strings.Cut(v, "=")
		line = append(line, name+"="+ShellWord(value))
	}
	if a.Program != "" {
		_, rest, _ := strings.Cut(command, " ")
		command = ShellWord(a.Program) + " " + rest
	}
	line = append(line, command, words)
	for _, f := range a.Flags {
		line = append(line, ShellWord(f))
	}
	return strings.Join(line, " ")
}

// plainWord is what a shell takes as it is.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`)

// ShellWord quotes a word for a shell. Control characters, which a terminal would act upon, are left out.
func ShellWord(word string) string {
	word = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, word)
	if plainWord.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
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

// Counted names a number of things, whose plural has an s: "1 run", "2 runs".
func Counted(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return strconv.Itoa(n) + " " + what
}
