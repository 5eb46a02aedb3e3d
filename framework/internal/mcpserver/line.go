package mcpserver

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"slices"
)

// line is one line of input without its end, or what is left of one that was
// too long, or the error that ended the input.
type line struct {
	text    []byte
	tooLong bool
	id      []byte // of a line that was too long: its request's id, if it was found
	err     error  // io.EOF, or why reading failed
}

// headSize and tailSize are how much of an overlong line's beginning and end is kept
// to find its id.
const (
	headSize = 2048
	tailSize = 512
)

// lineReader cuts an input into lines of at most max bytes. A longer line is
// read to its end and reported, so that the next one is whole.
type lineReader struct {
	r   *bufio.Reader
	max int
}

func newLineReader(r io.Reader, max int) *lineReader {
	return &lineReader{r: bufio.NewReaderSize(r, 64<<10), max: max}
}

// next returns the next line that is not blank. The text belongs to the caller.
func (l *lineReader) next() line {
	for {
		got := l.read()
		if got.err != nil || got.tooLong || len(bytes.TrimSpace(got.text)) > 0 {
			return got
		}
	}
}

func (l *lineReader) read() line {
	var text, head, tail []byte
	tooLong := false
	for {
		part, err := l.r.ReadSlice('\n')
		if len(head) < headSize {
			head = append(head, part[:min(len(part), headSize-len(head))]...)
		}
		if !tooLong && len(text)+len(part) > l.max+2 { // the line's end does not count
			tooLong = true
			tail, text = keepTail(nil, text), nil
		}
		if tooLong {
			tail = keepTail(tail, part)
		} else {
			if cap(text)-len(text) < len(part) { // twice as much each time: a long line is copied less often
				text = slices.Grow(text, max(len(part), min(len(text), l.max+2-len(text))))
			}
			text = append(text, part...)
		}
		if err == nil {
			break
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			if len(text) == 0 && !tooLong {
				return line{err: err}
			}
			break // a last line without an end counts; the error comes again with the next read
		}
	}
	text = bytes.TrimSuffix(bytes.TrimSuffix(text, []byte("\n")), []byte("\r"))
	if tooLong || len(text) > l.max {
		return line{tooLong: true, id: idOf(head, keepTail(tail, text))}
	}
	return line{text: text}
}

// keepTail appends b to tail and keeps the last tailSize bytes.
func keepTail(tail, b []byte) []byte {
	if len(b) > tailSize {
		b = b[len(b)-tailSize:]
	}
	tail = append(tail, b...)
	if over := len(tail) - tailSize; over > 0 {
		tail = tail[over:]
	}
	return tail
}

// idOf finds the id of a request whose line was discarded, in the line's beginning and
// end; nil if it is not there, or if the line is a response, whose id is one of ours.
func idOf(head, tail []byte) []byte {
	id, answers := leadingID(head)
	if id == nil && !answers {
		id = trailingID(tail)
	}
	return id
}

// leadingID finds the id among the members of the root object that are complete in the
// beginning of a line, if its method is one of them. answers reports that the line is a
// response.
func leadingID(head []byte) (id []byte, answers bool) {
	d := json.NewDecoder(bytes.NewReader(head))
	if begin, err := d.Token(); err != nil || begin != json.Delim('{') {
		return nil, false
	}
	method := false
	for d.More() {
		name, err := d.Token()
		if err != nil {
			break
		}
		if answers = name == "result" || name == "error"; answers {
			return nil, true
		}
		var value json.RawMessage
		if d.Decode(&value) != nil || d.InputOffset() == int64(len(head)) {
			break // a token at the end of the head may continue after it
		}
		switch name {
		case "method":
			method = true
		case "id":
			if _, ok := idKey(value); ok {
				id = value
			}
		}
	}
	if !method {
		return nil, false
	}
	return id, false
}

// lastMember matches an id as the last member of the root object, which is where
// the common clients put it: what is directly before the line's last brace
// belongs to the root.
var lastMember = regexp.MustCompile(`[,{]\s*"id"\s*:\s*(-?[0-9]{1,20}|"[^"\\]{0,128}")\s*\}$`)

// trailingID finds the id where it is the last member of the root object.
func trailingID(tail []byte) []byte {
	m := lastMember.FindSubmatch(bytes.TrimSpace(tail))
	if m == nil {
		return nil
	}
	return bytes.Clone(m[1])
}
