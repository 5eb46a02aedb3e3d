package install

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// byteOrderMark is what some editors of Windows begin a file with.
var byteOrderMark = []byte("\xef\xbb\xbf")

// lineEnd is put behind a file while it is read: a comment on its last line ends nowhere else.
var lineEnd = []byte("\n")

// jsonFile is a client's file in JSON, with comments and trailing commas where the client
// allows them. The syntax tree of hujson has every byte of the file.
type jsonFile struct {
	mark    []byte
	root    hujson.Value
	object  *hujson.Object // of the root
	list    *hujson.Object // the servers; nil until there are some
	key     string
	newline string
	unit    string // of indentation; "" for a file on one line
}

func openJSON(raw []byte, key string) (*jsonFile, error) {
	f := &jsonFile{key: key, newline: "\n", unit: "  "}
	if rest, ok := bytes.CutPrefix(raw, byteOrderMark); ok {
		f.mark, raw = byteOrderMark, rest
	}
	if len(bytes.TrimSpace(raw)) == 0 {
		raw = []byte("{}\n")
	}
	if bytes.Contains(raw, []byte("\r\n")) {
		f.newline = "\r\n"
	}
	var err error
	if f.root, err = hujson.Parse(slices.Concat(raw, lineEnd)); err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "hujson: "))
	}
	var ok bool
	if f.object, ok = f.root.Value.(*hujson.Object); !ok {
		return nil, errors.New("it is not a JSON object")
	}
	if err := f.findList(); err != nil {
		return nil, err
	}
	f.unit = f.indentUnit()
	return f, nil
}

func (f *jsonFile) findList() error {
	for i := range f.object.Members {
		m := &f.object.Members[i]
		if nameOf(m) != f.key {
			continue
		}
		if f.list != nil {
			return fmt.Errorf("it has %q twice", f.key)
		}
		list, ok := m.Value.Value.(*hujson.Object)
		if !ok {
			return fmt.Errorf("%q is not an object", f.key)
		}
		f.list = list
	}
	if f.list == nil {
		return nil
	}
	seen := map[string]bool{}
	for i := range f.list.Members {
		name := nameOf(&f.list.Members[i])
		if seen[name] {
			return fmt.Errorf("the server %q is there twice", name)
		}
		seen[name] = true
	}
	return nil
}

func nameOf(m *hujson.ObjectMember) string {
	name, _ := m.Name.Value.(hujson.Literal)
	return name.String()
}

// indentUnit is what the file indents its first member with.
func (f *jsonFile) indentUnit() string {
	if len(f.object.Members) == 0 {
		return "  "
	}
	indent, ok := indentOf(f.object.Members[0].Name.BeforeExtra)
	if !ok {
		return ""
	}
	return indent
}

// indentOf returns the blanks before a member; ok is false if it is on the line of what
// stands before it.
func indentOf(extra hujson.Extra) (string, bool) {
	i := bytes.LastIndexByte(extra, '\n')
	if i < 0 {
		return "", false
	}
	return string(bytes.TrimLeft(extra[i+1:], "\r")), true
}

func (f *jsonFile) bytes() []byte {
	return append(slices.Clone(f.mark), bytes.TrimSuffix(f.root.Pack(), lineEnd)...)
}

func (f *jsonFile) servers() []server {
	if f.list == nil {
		return nil
	}
	var out []server
	for i := range f.list.Members {
		m := &f.list.Members[i]
		s := server{name: nameOf(m)}
		v := m.Value.Clone()
		v.Standardize()
		if err := json.Unmarshal(v.Pack(), &s.value); err != nil || s.value == nil {
			s.fixed = "it is not an object"
		}
		out = append(out, s)
	}
	return out
}

func decodeJSON(raw []byte) (map[string]any, error) {
	raw = bytes.TrimPrefix(raw, byteOrderMark)
	if len(bytes.TrimSpace(raw)) == 0 {
		return map[string]any{}, nil
	}
	text, err := hujson.Standardize(slices.Concat(raw, lineEnd))
	if err != nil {
		return nil, err
	}
	var out map[string]any
	return out, json.Unmarshal(text, &out)
}

func (f *jsonFile) set(name string, members []member) error {
	if f.list == nil {
		if err := f.append(f.object, "", f.key, "{}"); err != nil {
			return err
		}
		if err := f.findList(); err != nil {
			return err
		}
	}
	if i := f.index(name); i >= 0 {
		return f.update(&f.list.Members[i], members)
	}
	return f.append(f.list, f.unit, name, object(members, f.unit+f.unit, f.unit))
}

func (f *jsonFile) index(name string) int {
	if f.list == nil {
		return -1
	}
	return slices.IndexFunc(f.list.Members, func(m hujson.ObjectMember) bool { return nameOf(&m) == name })
}

// update makes a server equal in own members, and leaves others and their comments.
func (f *jsonFile) update(m *hujson.ObjectMember, members []member) error {
	list, ok := m.Value.Value.(*hujson.Object)
	if !ok {
		v, err := f.parse(object(members, f.unit+f.unit, f.unit))
		if err != nil {
			return err
		}
		m.Value.Value = v.Value
		return nil
	}
	for _, name := range own {
		i := slices.IndexFunc(list.Members, func(m hujson.ObjectMember) bool { return nameOf(&m) == name })
		j := slices.IndexFunc(members, func(m member) bool { return m.name == name })
		switch {
		case i >= 0 && j < 0:
			removeMember(list, i)
		case i >= 0:
			v, err := f.parse(encode(members[j].value, f.unit+f.unit+f.unit, f.unit))
			if err != nil {
				return err
			}
			if !equalJSON(list.Members[i].Value, v) {
				list.Members[i].Value.Value = v.Value
			}
		case j >= 0:
			if err := f.append(list, f.unit+f.unit, name, encode(members[j].value, f.unit+f.unit+f.unit, f.unit)); err != nil {
				return err
			}
		}
	}
	return nil
}

func equalJSON(a, b hujson.Value) bool {
	a, b = a.Clone(), b.Clone()
	a.Minimize()
	b.Minimize()
	return bytes.Equal(a.Pack(), b.Pack())
}

// parse returns a value with the line ends of the file.
func (f *jsonFile) parse(text string) (hujson.Value, error) {
	return hujson.Parse([]byte(strings.ReplaceAll(text, "\n", f.newline)))
}

// append adds a member at the end of an object that is indented by indent.
func (f *jsonFile) append(o *hujson.Object, indent, name, value string) error {
	v, err := f.parse(value)
	if err != nil {
		return err
	}
	lead, colon := "", ":"
	switch {
	case len(o.Members) > 0:
		own, ok := indentOf(o.Members[len(o.Members)-1].Name.BeforeExtra)
		if ok {
			lead = f.newline + own
		} else if blanks := o.Members[len(o.Members)-1].Name.BeforeExtra; len(bytes.TrimSpace(blanks)) == 0 {
			lead = string(blanks)
		}
	case f.unit != "":
		lead = f.newline + indent + f.unit
	}
	if f.unit != "" {
		colon = ": "
	}
	m, err := memberOf(lead + encode(name, "", "") + colon + string(v.Pack()))
	if err != nil {
		return err
	}
	if len(o.Members) == 0 && f.unit != "" && len(bytes.TrimSpace(o.AfterExtra)) == 0 {
		o.AfterExtra = hujson.Extra(f.newline + indent)
	}
	insertMember(o, len(o.Members), m, nil)
	return nil
}

// memberOf reads the text of one member.
func memberOf(text string) (hujson.ObjectMember, error) {
	v, err := hujson.Parse([]byte("{" + text + ",}"))
	if err != nil {
		return hujson.ObjectMember{}, err
	}
	o, ok := v.Value.(*hujson.Object)
	if !ok || len(o.Members) != 1 || len(o.AfterExtra) > 0 {
		return hujson.ObjectMember{}, errors.New("it is not one member of an object")
	}
	return o.Members[0], nil
}

// after returns what follows member i of an object up to the next one, or to its end.
func after(o *hujson.Object, i int) *hujson.Extra {
	if i+1 < len(o.Members) {
		return &o.Members[i+1].Name.BeforeExtra
	}
	return &o.AfterExtra
}

// sameLine splits what stands between two members into a comment on the line of the first
// one, which belongs to it, and the rest.
func sameLine(extra hujson.Extra) (comment, rest hujson.Extra) {
	for i := 0; i < len(extra); i++ {
		switch {
		case bytes.HasPrefix(extra[i:], []byte("/*")):
			end := bytes.Index(extra[i+2:], []byte("*/"))
			if end < 0 {
				return nil, extra
			}
			i += 2 + end + 1
		case extra[i] == '\n':
			if i > 0 && extra[i-1] == '\r' {
				i--
			}
			if len(bytes.TrimSpace(extra[:i])) == 0 {
				return nil, extra
			}
			return extra[:i], extra[i:]
		}
	}
	return nil, extra
}

func joined(a, b hujson.Extra) hujson.Extra { return append(slices.Clone(a), b...) }

// removeMember takes member i out of an object. A comment on the line of the member before it
// stays there, and one on its own line goes with it.
func removeMember(o *hujson.Object, i int) (m hujson.ObjectMember, comment hujson.Extra) {
	trailing := hasTrailingComma(o)
	m = o.Members[i]
	before, lead := sameLine(m.Name.BeforeExtra)
	comment, rest := sameLine(*after(o, i))
	*after(o, i) = joined(before, rest)
	m.Name.BeforeExtra = slices.Clone(lead)
	comment = slices.Clone(comment)
	o.Members = slices.Delete(slices.Clone(o.Members), i, i+1)
	closeComma(o, trailing)
	return m, comment
}

// insertMember is what undoes removeMember.
func insertMember(o *hujson.Object, i int, m hujson.ObjectMember, comment hujson.Extra) {
	trailing := hasTrailingComma(o)
	next := &o.AfterExtra
	if i < len(o.Members) {
		next = &o.Members[i].Name.BeforeExtra
	}
	before, rest := sameLine(*next)
	m.Name.BeforeExtra = joined(before, m.Name.BeforeExtra)
	*next = joined(comment, rest)
	if m.Value.AfterExtra == nil {
		m.Value.AfterExtra = hujson.Extra{}
	}
	o.Members = slices.Insert(slices.Clone(o.Members), i, m)
	closeComma(o, trailing)
}

// hasTrailingComma reports whether an object ends in a comma, which hujson keeps in
// AfterExtra of the last value.
func hasTrailingComma(o *hujson.Object) bool {
	return len(o.Members) > 0 && o.Members[len(o.Members)-1].Value.AfterExtra != nil
}

// closeComma gives an object a comma at its end, or none.
func closeComma(o *hujson.Object, trailing bool) {
	if len(o.Members) == 0 {
		return
	}
	last := &o.Members[len(o.Members)-1].Value
	switch {
	case trailing && last.AfterExtra == nil:
		last.AfterExtra = hujson.Extra{}
	case !trailing && last.AfterExtra != nil:
		o.AfterExtra = joined(last.AfterExtra, o.AfterExtra)
		last.AfterExtra = nil
	}
}

func (f *jsonFile) take(name string) []piece {
	i := f.index(name)
	if i < 0 {
		return nil
	}
	p := piece{Name: name}
	if i > 0 {
		p.Previous = nameOf(&f.list.Members[i-1])
	}
	m, comment := removeMember(f.list, i)
	p.Text, p.After = string(m.Name.Pack())+":"+string(m.Value.Pack()), string(comment)
	return []piece{p}
}

func (f *jsonFile) hasList() bool { return f.list != nil }

func (f *jsonFile) dropList() {
	if f.list == nil || len(f.list.Members) > 0 || len(bytes.TrimSpace(f.list.AfterExtra)) > 0 {
		return // or only a comment
	}
	i := slices.IndexFunc(f.object.Members, func(m hujson.ObjectMember) bool { return nameOf(&m) == f.key })
	removeMember(f.object, i)
	f.list = nil
	if len(f.object.Members) == 0 && len(bytes.TrimSpace(f.object.AfterExtra)) == 0 {
		f.object.AfterExtra = nil
	}
}

func (f *jsonFile) put(pieces []piece) error {
	for _, p := range slices.Backward(pieces) { // each stands as take left the file
		m, err := memberOf(p.Text)
		if err != nil {
			return fmt.Errorf("%s: %w", p.Name, err)
		}
		if f.list == nil {
			if err := f.append(f.object, "", f.key, "{}"); err != nil {
				return err
			}
			if err := f.findList(); err != nil {
				return err
			}
		}
		at := 0
		if p.Previous != "" {
			at = len(f.list.Members)
			if i := f.index(p.Previous); i >= 0 {
				at = i + 1
			}
		}
		insertMember(f.list, at, m, hujson.Extra(p.After))
	}
	return nil
}
