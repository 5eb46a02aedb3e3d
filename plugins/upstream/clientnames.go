package upstream

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/koan-go/koan/framework/catalog"
)

// maxName bounds the id of a server in bytes: files and operations are named after it.
const maxName = 128

// namedEntry is one member of an object with servers.
type namedEntry struct {
	name string
	raw  json.RawMessage
}

// serverList are the members of an object with servers, in the order of the file.
type serverList []namedEntry

// UnmarshalJSON implements json.Unmarshaler.
func (l *serverList) UnmarshalJSON(raw []byte) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil || members == nil {
		return err
	}
	*l = serverList{}
	d := json.NewDecoder(bytes.NewReader(raw))
	if _, err := d.Token(); err != nil { // the brace
		return err
	}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return err
		}
		name, _ := t.(string)
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return err
		}
		*l = append(*l, namedEntry{name, value})
	}
	return nil
}

// leaveOut marks an entry that has no place among the servers.
func (c *Config) leaveOut(why error) { c.leftOut, c.wrong = true, why }

// label is what a server is called in messages: its id, or the name of an entry that has none.
func (c *Config) label() string {
	if c.leftOut {
		return shownName(c.name)
	}
	return c.ID
}

// shownName returns the name of an entry for messages, in quotes where it has more than an id has.
func shownName(name string) string {
	if name != "" && catalog.UpstreamID(name) == name {
		return cut(name, 100)
	}
	return fmt.Sprintf("%q", cut(name, 100))
}

// checkID reports why a server cannot have the id that it has.
func (c *Config) checkID() error {
	switch {
	case c.ID == "":
		return errors.New("the name is empty")
	case len(c.ID) > maxName:
		return fmt.Errorf("the name has more than %d bytes", maxName)
	case catalog.UpstreamID(c.ID) != c.ID:
		return errors.New("a server's name has letters, digits, $, - and _ alone")
	}
	return nil
}

// assignIDs makes the ids of all entries different. Where several names give the same id, the entry whose name
// equals it keeps it, since what is configured for the id was meant for that entry; else the first one does. The
// others get an id with a digest of their names, which does not depend on what else is in the file. Rules for one
// server never apply to another one.
func assignIDs(entries []Config) {
	owners := map[string]*Config{}
	exact := func(c *Config) bool { return c.name == c.ID }
	for i := range entries {
		if c := &entries[i]; !c.leftOut && (owners[c.ID] == nil || exact(c) && !exact(owners[c.ID])) {
			owners[c.ID] = c
		}
	}
	for i := range entries {
		c := &entries[i]
		if c.leftOut || owners[c.ID] == c {
			continue
		}
		owner, sum := owners[c.ID], sha256.Sum256([]byte(c.name))
		own := c.ID + "-" + hex.EncodeToString(sum[:3])
		if owners[own] != nil || c.ID == "" {
			c.leaveOut(fmt.Errorf("%s is left out: %s and %s have the same id, %s", c.Place, shownName(owner.name), shownName(c.name), c.ID))
			continue
		}
		c.shared = fmt.Sprintf("its id is %s, since %s is that of %s", own, c.ID, shownName(owner.name))
		c.ID, owners[own] = own, c
	}
	for i := range entries {
		c := &entries[i]
		if c.off == "" {
			continue
		}
		c.off = fmt.Sprintf("%s is switched off (%s)", c.Place, c.off)
		if other := owners[c.ID]; other != nil && other.name != c.name {
			c.off += fmt.Sprintf("; its id, %s, is that of %s meanwhile, and so is what is configured for it", c.ID, shownName(other.name))
		}
	}
}

// renameHint says what to do about an entry that is left out.
const renameHint = "Rename it in the client's file."

// leftOutCheck is the check of an entry that is left out.
func (c *Config) leftOutCheck() catalog.Check {
	if c.off != "" {
		return catalog.Check{Name: checkPrefix + c.label(), OK: true, Detail: c.off}
	}
	return catalog.Check{Name: checkPrefix + c.label(), Detail: c.wrong.Error(), Hint: renameHint}
}

// apart returns the servers of a configuration, and the entries that are left out of them.
func apart(all []Config) (servers, leftOut []Config) {
	for _, c := range all {
		if c.leftOut {
			leftOut = append(leftOut, c)
		} else {
			servers = append(servers, c)
		}
	}
	return servers, leftOut
}
