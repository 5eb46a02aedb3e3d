package filter

import (
	"errors"
	"strconv"
	"strings"
	"unicode"

	"github.com/koan-go/koan/framework/database/sqltext"
)

// The limits of one path into JSON.
const (
	maxSteps = 16
	maxIndex = 1_000_000
)

var errPath = errors.New("a path is labels with dots between them and indexes in brackets: shelf.rows[0].\"odd.label\"")

// ParsePath reads a path into a JSON document: a.b[0]."with.dot". A label without
// quotes has no dots, brackets, quotes, backslashes or control characters; one in
// quotes may have dots and brackets.
func ParsePath(s string) ([]sqltext.Step, error) {
	var steps []sqltext.Step
	for rest := s; rest != "" || len(steps) == 0; {
		step, after, ok := nextStep(rest, len(steps) == 0)
		if !ok {
			return nil, errPath
		}
		if steps = append(steps, step); len(steps) > maxSteps {
			return nil, errors.New("a path must have at most " + strconv.Itoa(maxSteps) + " steps")
		}
		rest = after
	}
	return steps, nil
}

func nextStep(s string, first bool) (step sqltext.Step, rest string, ok bool) {
	if index, found := strings.CutPrefix(s, "["); found {
		digits, rest, found := strings.Cut(index, "]")
		n, err := strconv.ParseUint(digits, 10, 32)
		return sqltext.Step{Index: int(n)}, rest, found && err == nil && n <= maxIndex && strconv.FormatUint(n, 10) == digits
	}
	if !first {
		if s, ok = strings.CutPrefix(s, "."); !ok {
			return step, s, false
		}
	}
	if quoted, found := strings.CutPrefix(s, "\""); found {
		label, rest, found := strings.Cut(quoted, "\"")
		return sqltext.Step{Label: label}, rest, found && label != "" && !strings.ContainsFunc(label, specialChars)
	}
	end := strings.IndexAny(s, ".[")
	if end < 0 {
		end = len(s)
	}
	label := s[:end]
	return sqltext.Step{Label: label}, s[end:], label != "" && !strings.ContainsAny(label, "\"]") && !strings.ContainsFunc(label, specialChars)
}

// specialChars are the characters that databases write in different ways in paths.
func specialChars(r rune) bool {
	return r == '\\' || unicode.IsControl(r) || r == unicode.ReplacementChar
}
