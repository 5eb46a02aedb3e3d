package read

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/framework/fault"
)

// MaxCursor is how long a cursor may be, in characters. It holds the values of
// the sort of one row.
const MaxCursor = 1 << 18

// A cursor is the place where a page ended: the values that its last row has in
// the sort, so that the next page starts behind them whatever was inserted or
// deleted meanwhile. It is bound to its query (entity, set, filter, q, sort) by a
// digest that every process of every replica makes alike. The digest keeps
// mistakes out: a cursor of another query, a damaged or a made-up one. It keeps no
// secret and gives no right: the values are checked as to their types and bound
// like those of a filter, and only fields that the caller may sort by are in it.
//
//	version | tag | number of the next page | values
const (
	cursorVersion = 1
	tagSize       = 16
)

var errCursor = errors.New("this is not a cursor of a collection")

// place is what a cursor says: where the next page starts, and which one it is.
type place struct {
	page   int
	values []any // of each term; nil, bool, int64, float64, string or blob
}

// parsedCursor is a cursor that is read, but not yet compared with its query.
type parsedCursor struct {
	place
	tag []byte
}

func (p place) encode() []byte {
	out := binary.AppendUvarint(nil, uint64(p.page))
	for _, v := range p.values {
		switch v := v.(type) {
		case nil:
			out = append(out, 'n')
		case bool:
			out = append(out, map[bool]byte{false: 'f', true: 't'}[v])
		case int64:
			out = binary.AppendVarint(append(out, 'i'), v)
		case float64:
			out = binary.BigEndian.AppendUint64(append(out, 'd'), math.Float64bits(v))
		case string:
			out = binary.AppendUvarint(append(out, 's'), uint64(len(v)))
			out = append(out, v...)
		case keyBytes:
			out = binary.AppendUvarint(append(out, 'b'), uint64(len(v)))
			out = append(out, v...)
		default:
			panic(fmt.Sprintf("read: a %T in a sort", v))
		}
	}
	return out
}

func decodePlace(raw []byte) (p place, err error) {
	page, n := binary.Uvarint(raw)
	if n <= 0 || page < 1 || page > maxPage {
		return p, errCursor
	}
	p.page, raw = int(page), raw[n:]
	for len(raw) > 0 {
		v, rest, err := decodeValue(raw[0], raw[1:])
		if err != nil {
			return p, err
		}
		p.values, raw = append(p.values, v), rest
	}
	return p, nil
}

func decodeValue(kind byte, raw []byte) (v any, rest []byte, err error) {
	switch kind {
	case 'n':
		return nil, raw, nil
	case 'f', 't':
		return kind == 't', raw, nil
	case 'i':
		if i, n := binary.Varint(raw); n > 0 {
			return i, raw[n:], nil
		}
	case 'd':
		if len(raw) >= 8 {
			return math.Float64frombits(binary.BigEndian.Uint64(raw)), raw[8:], nil
		}
	case 's', 'b':
		if size, n := binary.Uvarint(raw); n > 0 && size <= uint64(len(raw)-n) {
			end := n + int(size)
			if kind == 'b' {
				return keyBytes(raw[n:end]), raw[end:], nil
			}
			return string(raw[n:end]), raw[end:], nil
		}
	}
	return nil, nil, errCursor
}

// last returns the last value of a place, nil for none.
func (p place) last() any {
	if len(p.values) == 0 {
		return nil
	}
	return p.values[len(p.values)-1]
}

// offset is how many rows come before the page. Rows without ids may be alike, so that their cursors
// count them, and so do those of rows whose ids may be null.
func (c *Collection) offset() int64 {
	if c.after == nil {
		return int64(c.Page-1) * int64(c.PageSize)
	}
	n, _ := c.after.last().(int64)
	return n
}

// mayLackIDs reports whether rows may have null for their ids, as SQLite lets them.
func (c *Collection) mayLackIDs() bool {
	key := &c.Entity.Key
	return !key.Absent() && (key.Nullable || slices.ContainsFunc(key.Parts, func(p descriptor.Column) bool { return p.Nullable }))
}

// counts reports whether the page begins behind so many rows, and not behind the place of a row: the last one had
// no id, by which it differs from others.
func (c *Collection) counts() bool {
	if c.after == nil || c.Entity.Key.Absent() {
		return true
	}
	if !c.mayLackIDs() {
		return false
	}
	for i, t := range c.order {
		key := &c.Entity.Key
		if c.after.values[i] == nil && t.column != nil && len(t.path) == 0 && (t.column.Name == key.Name || key.HasPart(t.column.Name)) {
			return true
		}
	}
	return false
}

// placeAfter is the place where a page of so many items ends.
func (c *Collection) placeAfter(root *level, items int) place {
	if c.Entity.Key.Absent() {
		return place{c.Page + 1, []any{c.offset() + int64(items)}}
	}
	n := len(c.order)
	values := root.places[(items-1)*n : items*n]
	if c.mayLackIDs() {
		values = append(slices.Clone(values), c.offset()+int64(items))
	}
	return place{c.Page + 1, values}
}

// readCursor takes a cursor apart.
func readCursor(s string) (*parsedCursor, error) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(s)
	if err != nil || len(raw) < 1+tagSize || raw[0] != cursorVersion || strings.ContainsAny(s, "\r\n") {
		return nil, errCursor
	}
	p, err := decodePlace(raw[1+tagSize:])
	if err != nil || !bytes.Equal(p.encode(), raw[1+tagSize:]) {
		return nil, errCursor
	}
	return &parsedCursor{p, raw[1 : 1+tagSize]}, nil
}

// cursor returns the cursor of a place in the query. It ends in call_too_large where the
// values are too long for one.
func (c *Collection) cursor(p place) (string, error) {
	for _, v := range p.values {
		if size, ok := v.(oversizedValue); ok {
			return "", longSortFault(base64.RawURLEncoding.EncodedLen(int(size)))
		}
	}
	payload := p.encode()
	raw := slices.Concat([]byte{cursorVersion}, c.cursorDigest(payload), payload)
	s := base64.RawURLEncoding.EncodeToString(raw)
	if len(s) > MaxCursor {
		return "", longSortFault(len(s))
	}
	return s, nil
}

func longSortFault(length int) error {
	return fault.Newf(fault.CallTooLarge, "the fields of this sort are too long for a cursor: %d characters, at most %d", length, MaxCursor).
		WithPath("/sort").WithHint("Sort by shorter fields.")
}

// cursorDigest is the digest of a query and of a place in it.
func (c *Collection) cursorDigest(payload []byte) []byte {
	h := sha256.New()
	part := func(b []byte) {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(b))))
		h.Write(b)
	}
	part([]byte("koan cursor 1"))
	part([]byte(c.Entity.Resource.Name))
	part([]byte(c.Set))
	filter := []byte("{}")
	if c.given != nil {
		filter, _ = json.Marshal(c.given) // it came out of JSON
	}
	part(filter)
	for _, w := range c.Words.List() {
		part([]byte(w))
	}
	for _, t := range c.order {
		part([]byte(t.name()))
	}
	part(payload)
	return h.Sum(nil)[:tagSize]
}

// checkCursor checks that the cursor belongs to the query. It ends in invalid_payload
// where it does not.
func (c *Collection) checkCursor() error {
	if c.after == nil {
		return nil
	}
	wrong := func(message string) error {
		return fault.Invalid(fault.Detail{Path: "/cursor", Message: message}).
			WithHint("A cursor continues a query with the same filter, q, sort and set. Leave it out to start over.")
	}
	if subtle.ConstantTimeCompare(c.after.tag, c.cursorDigest(c.after.encode())) != 1 {
		return wrong("this cursor belongs to another query or is damaged")
	}
	if c.Entity.Key.Absent() {
		if n, ok := c.after.last().(int64); !ok || n < 0 || len(c.after.values) != 1 {
			return wrong(errCursor.Error())
		}
		return nil
	}
	want := len(c.order)
	if c.mayLackIDs() {
		want++
	}
	if n, ok := c.after.last().(int64); len(c.after.values) != want || want > len(c.order) && (!ok || n < 0) {
		return wrong(errCursor.Error())
	}
	for i, t := range c.order {
		if !t.accepts(c.after.values[i]) {
			return wrong(errCursor.Error())
		}
	}
	return nil
}
