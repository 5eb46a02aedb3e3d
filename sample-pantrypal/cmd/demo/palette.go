package main

import (
	"io"
	"os"

	"github.com/mattn/go-isatty"
)

// palette colours text where somebody sees colours, and leaves it alone in a
// pipe or with NO_COLOR set.
type palette bool

func paint(w io.Writer) palette {
	f, ok := w.(*os.File)
	return palette(ok && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && isatty.IsTerminal(f.Fd()))
}

func (p palette) in(code, s string) string {
	if !p || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (p palette) bold(s string) string   { return p.in("1", s) }
func (p palette) dim(s string) string    { return p.in("2", s) }
func (p palette) red(s string) string    { return p.in("31", s) }
func (p palette) green(s string) string  { return p.in("32", s) }
func (p palette) yellow(s string) string { return p.in("33", s) }
func (p palette) cyan(s string) string   { return p.in("36", s) }
