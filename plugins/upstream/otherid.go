package upstream

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// otherID is the error of an answer with an id that was not asked: whose answer it is, nobody knows.
type otherID struct{ got, asked, words string }

func (e *otherID) Error() string {
	text := fmt.Sprintf("it sent an answer with the id %s, but was asked with the id %s", e.got, e.asked)
	if e.words != "" {
		text += ": " + e.words
	}
	return text
}

// sameID reports whether an id is the one of a request: a number may be written in another way.
func sameID(id json.RawMessage, asked string) bool {
	if string(id) == asked {
		return true
	}
	a, err := strconv.ParseFloat(string(id), 64)
	b, wrong := strconv.ParseFloat(asked, 64)
	return err == nil && wrong == nil && a == b
}

// misdirected returns why an answer over HTTP is not that of the request that it came for; nil for one
// that is, for an error, which can be about nothing else there, and for what is no answer.
func misdirected(message []byte, asked string) *otherID {
	var e envelope
	if json.Unmarshal(message, &e) != nil || given(e.Method) || given(e.Error) || !given(e.ID) || sameID(e.ID, asked) {
		return nil
	}
	return &otherID{got: plainText(string(e.ID), 100), asked: asked}
}

// stray reports whether a message of a stream that all requests share is an answer that nobody can have asked
// for. If only one request waits, it ends: nothing else is going to answer it.
func (conn *connection) stray(message []byte) bool {
	var e envelope
	if json.Unmarshal(message, &e) != nil || given(e.Method) || !given(e.ID) {
		return false
	}
	known, only := conn.requests.find(e.ID)
	if known {
		return false
	}
	if only != "" {
		why := &otherID{got: plainText(string(e.ID), 100), asked: only}
		if given(e.Error) {
			why.words = plainText(conn.secrets.redact(wordsOf(e.Error)), 300)
		}
		conn.requests.unreadable(only, why)
	}
	return true
}
