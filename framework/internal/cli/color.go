package cli

import (
	"io"
	"os"

	"github.com/mattn/go-isatty"
)

// ANSI colours.
const (
	red   = "31"
	green = "32"
	faint = "2"
)

// onTerminal reports whether a person is at the other end of a stream.
func onTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}

// painter colours text on a terminal and leaves it plain in a pipe, or if NO_COLOR is set.
func painter(w io.Writer) func(color, text string) string {
	if !onTerminal(w) || os.Getenv("NO_COLOR") != "" {
		return func(_, text string) string { return text }
	}
	return func(color, text string) string { return "\x1b[" + color + "m" + text + "\x1b[0m" }
}
