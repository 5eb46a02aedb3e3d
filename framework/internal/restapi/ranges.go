package restapi

import (
	"strconv"
	"strings"
)

// fileRange is a Range header as net/http reads it, of a file with so many bytes: "" for one that is
// to be ignored, since it counts in other units than bytes, or is not one by the grammar (RFC 9110, sections
// 14.1.1 and 14.2). net/http rejects those, and sends a part of no bytes for the last 0, which no file can
// satisfy (section 14.1.2), and for the end of a file of none, which has no parts.
func fileRange(header string, size int64) string {
	unit, list, ok := strings.Cut(header, "=")
	if size == 0 || !ok || !strings.EqualFold(strings.TrimSpace(unit), "bytes") {
		return ""
	}
	var kept []string
	asked := 0
	for part := range strings.SplitSeq(list, ",") {
		part = strings.Trim(part, " \t")
		if part == "" { // a list may have empty members
			continue
		}
		asked++
		first, last, ok := bounds(part)
		switch {
		case !ok:
			return ""
		case first == "" && strings.Trim(last, "0") == "", first != "" && beyond(first, size):
		case first == "" && beyond(last, size): // all of it
			kept = append(kept, "0-")
		case last != "" && beyond(last, size):
			kept = append(kept, first+"-")
		default:
			kept = append(kept, first+"-"+last)
		}
	}
	switch {
	case asked == 0:
		return ""
	case len(kept) == 0: // which begins behind the end, and is rejected so
		kept = []string{strconv.FormatInt(size, 10) + "-"}
	}
	return "bytes=" + strings.Join(kept, ",")
}

// bounds returns the digits of a range, and whether it is one: the last is not before the first.
func bounds(part string) (first, last string, ok bool) {
	first, last, ok = strings.Cut(part, "-")
	if !ok || !onlyDigits(first) || !onlyDigits(last) || first == "" && last == "" {
		return "", "", false
	}
	if first == "" || last == "" {
		return first, last, true
	}
	a, b := strings.TrimLeft(first, "0"), strings.TrimLeft(last, "0")
	return first, last, len(a) < len(b) || len(a) == len(b) && a <= b
}

func onlyDigits(text string) bool { return strings.Trim(text, "0123456789") == "" }

// beyond reports whether a number of any length is a size or more.
func beyond(digits string, size int64) bool {
	n, err := strconv.ParseInt(digits, 10, 64)
	return err != nil || n >= size
}
