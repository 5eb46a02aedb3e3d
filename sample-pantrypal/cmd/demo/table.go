package main

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// cell is one text of a table and how to colour it; nil leaves it plain.
type cell struct {
	text  string
	tint  func(string) string
	right bool // right-aligned, for numbers
}

// table prints rows in columns as wide as their widest text, indented, with a
// head in front if there is one.
func table(w io.Writer, p palette, head []string, rows [][]cell) {
	if head != nil {
		top := make([]cell, len(head))
		for i, h := range head {
			top[i] = cell{text: h, tint: p.dim, right: len(rows) > 0 && i < len(rows[0]) && rows[0][i].right}
		}
		rows = append([][]cell{top}, rows...)
	}
	var widths []int
	for _, row := range rows {
		for i, c := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(c.text))
		}
	}
	for _, row := range rows {
		var b strings.Builder
		for i, c := range row {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c.text))
			text := c.text
			if c.tint != nil {
				text = c.tint(text)
			}
			b.WriteString("  ")
			switch {
			case c.right:
				b.WriteString(pad + text)
			case i == len(row)-1: // no blanks at the end of a line
				b.WriteString(text)
			default:
				b.WriteString(text + pad)
			}
		}
		fmt.Fprintln(w, "  "+strings.TrimRight(b.String(), " "))
	}
}

// plural counts things.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
