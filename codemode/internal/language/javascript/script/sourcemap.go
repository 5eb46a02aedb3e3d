package script

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
)

// segment is a position in esbuild's output, and the user's position that it comes from.
// Lines and columns count from 1, columns in UTF-16 units.
type segment struct {
	line, column         int
	userLine, userColumn int // 0 if the user did not write it
}

// after reports whether a segment starts after a position.
func (s segment) after(line, column int) bool {
	return s.line > line || s.line == line && s.column > column
}

var errSourceMap = errors.New("the source map of the script cannot be read")

// decodeSourceMap decodes a source map of version 3. Segments of sources other than the user's are
// kept, as positions that the user did not write.
func decodeSourceMap(text string) ([]segment, error) {
	var m struct {
		Sources  []string
		Mappings string
	}
	if json.Unmarshal([]byte(text), &m) != nil {
		return nil, errSourceMap
	}
	user := slices.Index(m.Sources, userSource)
	out := []segment{}
	source, userLine, userColumn := 0, 0, 0 // each entry is relative to the previous one
	line := 0
	for mappings := range strings.SplitSeq(m.Mappings, ";") {
		line++
		column := 0
		for entry := range strings.SplitSeq(mappings, ",") {
			if entry == "" {
				continue
			}
			fields, ok := decodeVLQ(entry)
			if !ok || len(fields) == 0 {
				return nil, errSourceMap
			}
			column += fields[0]
			s := segment{line: line, column: column + 1}
			if len(fields) >= 4 {
				source, userLine, userColumn = source+fields[1], userLine+fields[2], userColumn+fields[3]
				if source == user {
					s.userLine, s.userColumn = userLine+1, userColumn+1
				}
			}
			out = append(out, s)
		}
	}
	return out, nil
}

const base64Digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

// decodeVLQ decodes numbers in base64 VLQ: five bits per digit, the lowest first. The highest bit of
// a digit means that more follow; the lowest bit of a number is its sign.
func decodeVLQ(text string) (out []int, ok bool) {
	n, shift := 0, 0
	for i := range len(text) {
		digit := strings.IndexByte(base64Digits, text[i])
		if digit < 0 || shift > 30 {
			return nil, false
		}
		n |= digit & 31 << shift
		if shift += 5; digit&32 != 0 {
			continue
		}
		if n&1 != 0 {
			n = -n
		}
		out = append(out, n/2)
		n, shift = 0, 0
	}
	return out, shift == 0
}
