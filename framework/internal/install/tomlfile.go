package install

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// tomlFile is a client's file in TOML. No library for Go writes TOML back with its
// comments, so the file is cut into blocks where tables begin, and blocks are added and
// taken out whole; go-toml's parser says where they are.
type tomlFile struct {
	key    string
	blocks []block
	tail   string // the line ends at the end of the file
	// values are the decoded servers.
	values  map[string]map[string]any
	newline string
}

// block is a table with the blank lines and comments right before its header. Its text
// begins at the end of the line before, so that blocks and tail together are the file.
type block struct {
	text string
	path []string // of the header; nil for what stands before the first one
	name string   // the header, numbered where it is there several times
	body int      // where the line after the header begins
	keys []tomlKey
}

// tomlKey is a key of a block: its name, and where it and its value stand.
type tomlKey struct {
	path       []string
	start, end int
}

func decodeTOML(raw []byte) (map[string]any, error) {
	out := map[string]any{}
	return out, toml.Unmarshal(bytes.TrimPrefix(raw, byteOrderMark), &out)
}

func openTOML(raw []byte, key string) (*tomlFile, error) {
	f := &tomlFile{key: key, values: map[string]map[string]any{}, newline: "\n"}
	whole, err := decodeTOML(raw)
	if err != nil {
		if e := (*toml.DecodeError)(nil); errors.As(err, &e) {
			line, column := e.Position()
			return nil, fmt.Errorf("line %d, column %d: %s", line, column, strings.TrimPrefix(e.Error(), "toml: "))
		}
		return nil, err
	}
	if bytes.Contains(raw, []byte("\r\n")) {
		f.newline = "\r\n"
	}
	if list, there := whole[key]; there {
		members, ok := list.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("%q is not a table", key)
		}
		for name, v := range members {
			value, _ := v.(map[string]any)
			f.values[name] = value
		}
	}
	return f, f.cut(string(raw))
}

// cut finds the blocks.
func (f *tomlFile) cut(text string) error {
	whole := strings.TrimRight(text, "\r\n")
	f.tail = text[len(whole):]
	var p unstable.Parser
	p.Reset([]byte(text))
	count := map[string]int{}
	start, end := 0, 0 // of the block, and of the expression before
	current := block{}
	for p.NextExpression() {
		n := p.Expression()
		path, first, last := keyOf(n)
		if n.Kind == unstable.KeyValue {
			from := int(n.Raw.Offset)
			end = from + int(n.Raw.Length)
			current.keys = append(current.keys, tomlKey{path, from - start, end - start})
			continue
		}
		begin := leadOf(text, end, first)
		current.text = text[start:begin]
		f.blocks = append(f.blocks, current)
		header := strings.Join(quoted(path), ".")
		count[header]++
		if n := count[header]; n > 1 {
			header += "#" + strconv.Itoa(n)
		}
		end = last + 1
		body := len(whole)
		if i := strings.IndexByte(text[last:], '\n'); i >= 0 {
			body = last + i
		}
		start, current = begin, block{path: path, name: header, body: min(body, len(whole)) - begin}
		end = max(end, start)
	}
	if err := p.Error(); err != nil {
		return err
	}
	current.text = text[start:max(len(whole), start)]
	f.blocks = append(f.blocks, current)
	return nil
}

// keyOf returns the key of an expression, and where its first and last parts stand.
func keyOf(n *unstable.Node) (path []string, first, last int) {
	first = -1
	for it := n.Key(); it.Next(); {
		k := it.Node()
		path = append(path, string(k.Data))
		if first < 0 {
			first = int(k.Raw.Offset)
		}
		last = int(k.Raw.Offset) + int(k.Raw.Length)
	}
	return path, first, last
}

func quoted(path []string) []string {
	out := make([]string, len(path))
	for i, p := range path {
		out[i] = tomlName(p)
	}
	return out
}

// leadOf returns where the block of a header begins whose key is at an offset: before the
// comments right above it and the blank lines above these, but after the expression that
// ends at end.
func leadOf(text string, end, header int) int {
	lineEnd := func(at int) int { // the end of the line above the one of at, without its line end
		i := strings.LastIndexByte(text[:at], '\n')
		if i > 0 && text[i-1] == '\r' {
			i--
		}
		return i
	}
	begin := lineEnd(header)
	blank := false
	for begin > end {
		above := strings.LastIndexByte(text[:begin], '\n') + 1
		if above <= end && end > 0 { // the line of the expression
			break
		}
		line := strings.TrimSpace(text[above:begin])
		if line != "" && (blank || !strings.HasPrefix(line, "#")) {
			break
		}
		blank = blank || line == ""
		if above == 0 {
			return 0
		}
		begin = lineEnd(begin)
	}
	return max(begin, 0)
}

func (f *tomlFile) bytes() []byte {
	var b strings.Builder
	for _, one := range f.blocks {
		b.WriteString(one.text)
	}
	b.WriteString(f.tail)
	return []byte(b.String())
}

// ownerOf returns the server that a path belongs to.
func (f *tomlFile) ownerOf(path []string) (string, bool) {
	if len(path) < 2 || path[0] != f.key {
		return "", false
	}
	return path[1], true
}

func (f *tomlFile) servers() []server {
	var out []server
	seen := map[string]int{}
	add := func(name, fixed string) {
		i, ok := seen[name]
		if !ok {
			i = len(out)
			seen[name] = i
			out = append(out, server{name: name, value: f.values[name]})
		}
		if fixed != "" {
			out[i].fixed = fixed
		}
	}
	for _, b := range f.blocks {
		if name, ok := f.ownerOf(b.path); ok {
			add(name, "")
			continue
		}
		for _, k := range b.keys {
			path := append(slices.Clone(b.path), k.path...)
			if name, ok := f.ownerOf(path); ok {
				add(name, fmt.Sprintf("it is not written as a table [%s.%s] of its own", f.key, tomlName(name)))
			} else if len(path) == 1 && path[0] == f.key {
				for name := range f.values {
					add(name, fmt.Sprintf("%s is written as an inline table", f.key))
				}
			}
		}
	}
	return out
}

// tomlName writes one part of a key.
func tomlName(name string) string {
	plain := name != ""
	for _, r := range name {
		plain = plain && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-')
	}
	if plain {
		return name
	}
	return tomlText(name)
}

// tomlText writes a basic string, whose escapes are JSON's.
func tomlText(s string) string { return strings.ReplaceAll(encode(s, "", ""), "\x7f", `\u007f`) }

func tomlValue(v any) string {
	switch v := v.(type) {
	case []string:
		parts := make([]string, len(v))
		for i, s := range v {
			parts[i] = tomlText(s)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case string:
		return tomlText(v)
	}
	panic(fmt.Sprintf("install: no TOML for a %T", v))
}

func (f *tomlFile) set(name string, members []member) error {
	i := slices.IndexFunc(f.blocks, func(b block) bool { return slices.Equal(b.path, []string{f.key, name}) })
	if i >= 0 {
		f.update(i, members)
		return f.again()
	}
	for _, s := range f.servers() {
		if s.name == name {
			return fmt.Errorf("the entry for %q cannot be written: %s", name, s.fixed)
		}
	}
	for _, b := range f.blocks {
		for _, k := range b.keys {
			if b.path == nil && slices.Equal(k.path, []string{f.key}) {
				return fmt.Errorf("%s is written as an inline table; write it as tables", f.key)
			}
		}
	}
	lines := []string{"[" + f.key + "." + tomlName(name) + "]"}
	for _, m := range members {
		lines = append(lines, m.name+" = "+tomlValue(m.value))
	}
	text := strings.Join(lines, f.newline)
	if len(strings.TrimSuffix(string(f.bytes()), f.tail)) > 0 {
		text = f.newline + f.newline + text
	} else {
		f.tail = f.newline
	}
	f.blocks = append(f.blocks, block{text: text})
	return f.again()
}

// again reads the file as it is now.
func (f *tomlFile) again() error {
	next, err := openTOML(f.bytes(), f.key)
	if err != nil {
		return err
	}
	*f = *next
	return nil
}

// update makes a table equal in own members, and leaves others and their comments.
func (f *tomlFile) update(at int, members []member) {
	b := &f.blocks[at]
	was := f.values[b.path[1]]
	want := decoded(members)
	text := b.text
	for _, k := range slices.Backward(b.keys) {
		if len(k.path) != 1 || !slices.Contains(own, k.path[0]) {
			continue
		}
		name := k.path[0]
		i := slices.IndexFunc(members, func(m member) bool { return m.name == name })
		switch {
		case i < 0:
			from := strings.LastIndexByte(text[:k.start], '\n')
			text = text[:max(from, 0)] + text[k.end:]
		case !equalValues(was[name], want[name]):
			text = text[:k.start] + tomlName(name) + " = " + tomlValue(members[i].value) + text[k.end:]
		}
	}
	var added strings.Builder
	for _, m := range members {
		if _, there := was[m.name]; !there {
			added.WriteString(f.newline + m.name + " = " + tomlValue(m.value))
		}
	}
	b.text = text[:b.body] + added.String() + text[b.body:]
}

func (f *tomlFile) take(name string) []piece {
	var out []piece
	for i := 0; i < len(f.blocks); i++ {
		b := f.blocks[i]
		if owner, ok := f.ownerOf(b.path); !ok || owner != name {
			continue
		}
		out = append(out, piece{Name: name, Previous: f.blocks[i-1].name, Text: b.text})
		f.blocks = slices.Delete(slices.Clone(f.blocks), i, i+1)
		i--
	}
	delete(f.values, name)
	return out
}

// hasList is true: each server has a table of its own, and a file needs no other.
func (f *tomlFile) hasList() bool { return true }

func (f *tomlFile) dropList() {}

func (f *tomlFile) put(pieces []piece) error {
	for _, p := range slices.Backward(pieces) { // each stands as take left the file
		at := len(f.blocks)
		if i := slices.IndexFunc(f.blocks, func(b block) bool { return b.name == p.Previous }); i >= 0 {
			at = i + 1
		}
		f.blocks = slices.Insert(slices.Clone(f.blocks), at, block{text: p.Text})
		if err := f.again(); err != nil {
			return fmt.Errorf("%s: %w", p.Name, err)
		}
	}
	return nil
}
