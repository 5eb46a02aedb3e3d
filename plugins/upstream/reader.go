package upstream

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"sync/atomic"
)

// lineReader reads the lines of a stream, of at most maxMessage bytes each.
type lineReader struct {
	from *bufio.Reader
	line []byte
}

func newLines(from io.Reader) *lineReader {
	return &lineReader{from: bufio.NewReaderSize(from, 32<<10)}
}

// next returns the next line without its end. It is valid until the next one is read.
func (l *lineReader) next() ([]byte, error) {
	l.line = l.line[:0]
	for {
		part, err := l.from.ReadSlice('\n')
		if len(l.line)+len(part) > maxMessage {
			return nil, errMessageTooLong
		}
		l.line = append(l.line, part...)
		switch {
		case err == nil:
			return bytes.TrimRight(l.line, "\r\n"), nil
		case errors.Is(err, bufio.ErrBufferFull):
		case len(l.line) > 0 && errors.Is(err, io.EOF):
			return bytes.TrimRight(l.line, "\r\n"), nil
		default:
			return nil, err
		}
	}
}

// messageReader reads the messages of a server's standard output, each as one line. What stands
// before, behind and between them is skipped.
type messageReader struct {
	lines *lineReader
	// unread is called with the id of a message that cannot be read, and why; owner returns the
	// request that an error without an id is about; skipped is called with what is skipped.
	unread  func(id string, why error)
	owner   func(text []byte) string
	skipped func(words string)
	stray   func(message []byte) bool // reports whether a message is an answer to nothing, which is skipped

	begun []byte                 // a message of which not all lines have come
	shape shape                  // of begun
	ready []byte                 // messages that were not taken yet
	said  atomic.Pointer[string] // what was skipped last
	done  chan struct{}          // closed when nothing more can be read
	err   error                  // why, once it is closed
}

func newMessageReader(from io.Reader) *messageReader {
	return &messageReader{
		lines: newLines(from), done: make(chan struct{}), unread: func(string, error) {}, owner: func([]byte) string { return "" }, skipped: func(string) {}, stray: func([]byte) bool { return false },
	}
}

// hear sets what is called. It is for the time before the first read.
func (m *messageReader) hear(unread func(id string, why error), owner func(text []byte) string, skipped func(words string), stray func(message []byte) bool) {
	m.unread, m.owner, m.skipped, m.stray = unread, owner, skipped, stray
}

// Read implements io.Reader. The stream ends where reading fails: the client library would log it.
func (m *messageReader) Read(b []byte) (int, error) {
	for len(m.ready) == 0 {
		if m.err != nil {
			return 0, io.EOF
		}
		line, err := m.lines.next()
		if err != nil {
			m.giveUp()
			m.err = err
			close(m.done)
			continue
		}
		m.take(bytes.TrimSpace(bytes.TrimPrefix(line, byteOrderMark)))
	}
	n := copy(b, m.ready)
	m.ready = m.ready[n:]
	return n, nil
}

// failure is why reading ended, nil before that.
func (m *messageReader) failure() error {
	select {
	case <-m.done:
		return m.err
	default:
		return nil
	}
}

// take reads a line.
func (m *messageReader) take(line []byte) {
	if len(line) == 0 {
		return
	}
	if found := readMessages(line, m.owner(line)); found != nil && (m.begun == nil || bytes.Contains(line, []byte(`"jsonrpc"`))) {
		if m.begun != nil && bytes.Equal(idOf(m.begun), idOf(found[0])) {
			m.skip(m.begun) // it is said again, as a whole
			m.begun, m.shape = nil, shape{}
		}
		m.giveUp()
		m.pass(found)
		return
	}
	if m.begun != nil {
		m.goOn(line)
		return
	}
	found, words, begun := messagesWithin(line, m.owner(line))
	m.pass(found)
	switch {
	case begun == nil && len(found) == 0 && (line[0] == '{' || line[0] == '['):
		if !openEnded(line) {
			m.refuse(line)
			return
		}
		words, begun = nil, line
	case len(bytes.TrimSpace(words)) > 0:
		m.skip(words)
	}
	if begun != nil {
		m.begun = bytes.Clone(begun)
		m.shape.take(begun)
	}
}

// goOn adds a line to the message that has begun.
func (m *messageReader) goOn(line []byte) {
	m.begun = appendLine(m.begun, line, m.shape.inString)
	m.shape.take(line)
	switch {
	case m.shape.wrong, len(m.begun) > maxMessage:
		m.giveUp()
	case m.shape.depth > 0 || m.shape.inString:
	default:
		text := m.begun
		m.begun, m.shape = nil, shape{}
		if found := readMessages(text, m.owner(text)); found != nil {
			m.pass(found)
			return
		}
		m.refuse(text)
	}
}

// giveUp skips the message that has begun: what follows is no part of it.
func (m *messageReader) giveUp() {
	if m.begun != nil {
		text := m.begun
		m.begun, m.shape = nil, shape{}
		m.refuse(text)
	}
}

// idOf returns the id of a message, of which there may be only the beginning.
func idOf(text []byte) []byte {
	var s shape
	s.take(text)
	return s.id
}

// refuse skips a text that is like a message and is none.
func (m *messageReader) refuse(text []byte) {
	var s shape
	s.take(text)
	m.skip(text)
	why := s.unreadable()
	switch {
	case len(s.id) == 0:
		return
	case why == nil && json.Valid(text):
		if !bytes.Contains(text, []byte(`"jsonrpc"`)) {
			return // output of its own, with an id of its own
		}
		why = errNoResult
	case why == nil:
		why = errNotJSON
	}
	m.unread(string(s.id), why)
}

func (m *messageReader) skip(words []byte) {
	if text := plainText(string(words[:min(len(words), maxSkipped)]), maxSkipped); text != "" {
		m.said.Store(&text)
		m.skipped(text)
	}
}

// maxSkipped bounds what is kept of what was skipped, in bytes.
const maxSkipped = 300

func (m *messageReader) pass(messages [][]byte) {
	for _, text := range messages {
		if m.stray(text) {
			m.skip(text)
			continue
		}
		m.ready = append(append(m.ready, text...), '\n')
	}
}
