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

// painter colours text on a terminal and leaves it plain in a pipe, or where
// NO_COLOR asks for it.
func painter(w io.Writer) func(color, text string) string {
	f, ok := w.(*os.File)
	if !ok || !isatty.IsTerminal(f.Fd()) || os.Getenv("NO_COLOR") != "" {
		return func(_, text string) string { return text }
	}
	return func(color, text string) string { return "\x1b[" + color + "m" + text + "\x1b[0m" }
}
