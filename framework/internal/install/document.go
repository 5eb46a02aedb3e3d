package install

import (
	"errors"
	"fmt"
	"reflect"
	"unicode/utf8"
)

// document is a client's file, as far as servers stand in it. Everything else in it stays
// byte for byte.
type document interface {
	// servers returns the servers in the order of the file.
	servers() []server
	// set adds a server at the end, or makes the one of that name equal in own members.
	set(name string, members []member) error
	// take removes a server, and returns what put needs to restore it.
	take(name string) []piece
	// hasList reports whether the file has a place for servers.
	hasList() bool
	// dropList takes that out, if nothing is in it.
	dropList()
	// put restores pieces that several take returned, in the order of these.
	put(pieces []piece) error
	// bytes returns the file.
	bytes() []byte
}

// server is one server of a file.
type server struct {
	name  string
	value map[string]any // nil where it is no object
	// fixed says why it cannot be taken out as a whole, "" where it can.
	fixed string
}

// piece is a part of a file that was taken out, with what it followed.
type piece struct {
	Name     string `json:"name"`
	Previous string `json:"previous"` // what stood before it; "" is the beginning
	Text     string `json:"text"`
	After    string `json:"after,omitempty"` // a comment behind it, on the same line
}

// open reads a client's file; raw is empty for one that does not exist.
func (c client) open(raw []byte) (document, error) {
	if !utf8.Valid(raw) { // what is not would not stay byte for byte
		return nil, errors.New("it is not UTF-8")
	}
	if c.toml {
		return openTOML(raw, c.members)
	}
	return openJSON(raw, c.members)
}

// checkRest compares two versions of a file apart from the servers that an edit is about.
// It is the guard against a mistake of ours in somebody's file.
func (c client) checkRest(was, now []byte, touched map[string]bool) error {
	rest := func(raw []byte) (map[string]any, error) {
		d, err := c.open(raw)
		if err != nil {
			return nil, err
		}
		var whole map[string]any
		if c.toml {
			whole, err = decodeTOML(raw)
		} else {
			whole, err = decodeJSON(raw)
		}
		if err != nil {
			return nil, err
		}
		delete(whole, c.members)
		others := map[string]any{}
		for _, s := range d.servers() {
			if !touched[s.name] {
				others[s.name] = s.value
			}
		}
		return map[string]any{"rest": whole, "others": others}, nil
	}
	a, err := rest(was)
	if err != nil {
		return err
	}
	b, err := rest(now)
	if err != nil {
		return fmt.Errorf("the change would damage the file: %w", err)
	}
	if !reflect.DeepEqual(a, b) {
		return fmt.Errorf("the change would touch more than the servers that it is about")
	}
	return nil
}
