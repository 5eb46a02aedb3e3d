package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"regexp"
	"slices"
	"strconv"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/koan-go/koan/framework/exact"
	"github.com/koan-go/koan/framework/fault"
)

// Integers returns a value with its integers as a schema has them: strings of digits become numbers
// where the schema takes an integer of any size, and no string. A number beyond 2^53 that was written as a double,
// which has rounded it, is a violation where the schema takes an integer, or anything at all. Whatever
// else is wrong with the value is left for Check.
func (c *Cache) Integers(schema, value json.RawMessage) (json.RawMessage, error) {
	digits, rounded := digitText.Match(value), hasRounded(value)
	if !digits && !rounded {
		return value, nil
	}
	known, err := c.get(schema)
	if err != nil {
		return nil, err
	}
	d, err := decodeExact(value)
	if err != nil {
		return value, nil //nolint:nilerror // Check says what is wrong with it
	}
	changed := digits && d.convert(known.Schema)
	if wrong := d.rounded(known.Schema); len(wrong) > 0 {
		return nil, fault.Invalid(wrong...).WithHint("JavaScript rounds numbers beyond 2^53: write a BigInt, such as 9007199254740993n, or a string of digits.")
	}
	if !changed {
		return value, nil
	}
	return d.text()
}

// digitText finds a string that may be an integer.
var digitText = regexp.MustCompile(`"-?[0-9]+"`)

var integerText = regexp.MustCompile(`^-?(0|[1-9][0-9]*)$`)

// isRounded reports whether a number of JSON is an integer beyond 2^53 in the form of a double, such as
// 9.007199254740992e+15. Doubles of 1e21 and more stand for magnitudes.
func isRounded(number []byte) bool {
	if !bytes.ContainsAny(number, "eE") {
		return false
	}
	x, err := strconv.ParseFloat(string(number), 64)
	return err == nil && (x > 1<<53-1 || x < -(1<<53-1)) && x < 1e21 && x > -1e21
}

func hasRounded(value []byte) (found bool) {
	if !json.Valid(value) {
		return false
	}
	exact.MapNumbers(value, func(number []byte) []byte {
		found = found || isRounded(number)
		return nil
	})
	return found
}

// document is a decoded value whose parts can be replaced.
type document struct{ root any }

func decodeExact(value []byte) (*document, error) {
	root, err := jsonschema.UnmarshalJSON(bytes.NewReader(value))
	return &document{root}, err
}

func (d *document) text() (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(d.root)
	return bytes.TrimSpace(b.Bytes()), err
}

// replace puts a value at a path and returns the one that was there.
func (d *document) replace(path []string, with any) (was any) {
	if len(path) == 0 {
		was, d.root = d.root, with
		return was
	}
	last := path[len(path)-1]
	switch holder := d.at(path[:len(path)-1]).(type) {
	case map[string]any:
		was, holder[last] = holder[last], with
	case []any:
		i, _ := strconv.Atoi(last)
		was, holder[i] = holder[i], with
	}
	return was
}

func (d *document) at(path []string) any {
	v := d.root
	for _, step := range path {
		switch holder := v.(type) {
		case map[string]any:
			v = holder[step]
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(holder) {
				return nil
			}
			v = holder[i]
		default:
			return nil
		}
	}
	return v
}

// convert makes numbers of strings of digits at which a schema takes integers of any size. It reports
// whether that changed anything.
func (d *document) convert(schema *jsonschema.Schema) (changed bool) {
	const rounds = 4 // a union says only then what is wrong inside, once its constants fit
	for range rounds {
		texts := d.digits(typeErrors(schema.Validate(d.root)))
		if len(texts) == 0 || !d.convertAll(schema, texts) {
			return changed
		}
		changed = true
	}
	return changed
}

// part is a value inside a document, with what it was.
type part struct {
	path []string
	was  any
}

// digits returns the strings of digits among values where a schema, or a branch of it, wants integers.
func (d *document) digits(wrong []typeError) (texts []part) {
	seen := map[string]bool{}
	for _, w := range wrong {
		s, ok := d.at(w.path).(string)
		if at := pointer(w.path); ok && !seen[at] && slices.Contains(w.want, "integer") && integerText.MatchString(s) {
			seen[at] = true
			texts = append(texts, part{w.path, s})
		}
	}
	return texts
}

// convertAll makes numbers of strings of digits, but for those of another branch of a union, and those
// where the schema bounds integers to what JavaScript holds as numbers, so that a string is a mistake.
// It reports whether that changed anything. All are tried together, since there may be thousands.
func (d *document) convertAll(schema *jsonschema.Schema, texts []part) (changed bool) {
	put := func(value func(p part) any) map[string]int {
		for _, p := range texts {
			d.replace(p.path, value(p))
		}
		return violations(schema.Validate(d.root))
	}
	larger := put(func(part) any { return json.Number("9007199254740993") })
	smaller := put(func(part) any { return json.Number("-9007199254740993") })
	meant := put(func(p part) any { return json.Number(p.was.(string)) })
	others := map[string]bool{} // of another branch
	for _, w := range typeErrors(schema.Validate(d.root)) {
		others[pointer(w.path)] = true
	}
	for _, p := range texts {
		at := pointer(p.path)
		if others[at] || min(larger[at], smaller[at]) > meant[at] {
			d.replace(p.path, p.was)
			continue
		}
		changed = true
	}
	return changed
}

// violations counts those of each value, by its JSON Pointer, in all branches of unions.
func violations(err error) map[string]int {
	out := map[string]int{}
	var v *jsonschema.ValidationError
	if !errors.As(err, &v) {
		return out
	}
	var count func(v *jsonschema.ValidationError)
	count = func(v *jsonschema.ValidationError) {
		if len(v.Causes) == 0 {
			out[pointer(v.InstanceLocation)]++
		}
		for _, cause := range v.Causes {
			count(cause)
		}
	}
	count(v)
	return out
}

// rounded returns the violations of numbers that are not the integers which somebody wrote: where the
// schema takes integers and no other numbers, or has no type.
func (d *document) rounded(schema *jsonschema.Schema) (wrong []fault.Detail) {
	var parts []part
	var walk func(v any, path []string)
	walk = func(v any, path []string) {
		switch v := v.(type) {
		case json.Number:
			if isRounded([]byte(v)) {
				parts = append(parts, part{slices.Clone(path), v})
			}
		case []any:
			for i, item := range v {
				walk(item, append(path, strconv.Itoa(i)))
			}
		case map[string]any:
			for _, name := range slices.Sorted(maps.Keys(v)) {
				walk(v[name], append(path, name))
			}
		}
	}
	walk(d.root, nil)
	if len(parts) == 0 {
		return nil
	}
	// try returns where a type is wrong, and how often, with another value in place of the numbers.
	try := func(value any, of func(w typeError) bool) map[string]int {
		for _, p := range parts {
			d.replace(p.path, value)
		}
		out := map[string]int{}
		for _, w := range typeErrors(schema.Validate(d.root)) {
			if of(w) {
				out[pointer(w.path)]++
			}
		}
		return out
	}
	all := func(typeError) bool { return true }
	integers := try(json.Number("0.5"), func(w typeError) bool { return slices.Contains(w.want, "integer") })
	typed := []map[string]int{try("text", all), try(true, all), try(map[string]any{}, all)}
	for _, p := range parts {
		d.replace(p.path, p.was)
	}
	for _, p := range parts {
		at := pointer(p.path)
		anything := !slices.ContainsFunc(typed, func(wrong map[string]int) bool { return wrong[at] > 0 })
		if integers[at] == 0 && !anything {
			continue
		}
		wrong = append(wrong, fault.Detail{
			Path: at, Message: "the number " + fault.Clip(p.was.(json.Number).String(), 40) + " is beyond 2^53, where JavaScript has rounded it",
			Expected: "an integer: a BigInt, or a string of digits", Received: "number",
		})
		if len(wrong) >= fault.MaxFound {
			break
		}
	}
	return wrong
}

// typeError is a value of another type than a schema, or a branch of a union in it, wants.
type typeError struct {
	path []string
	want []string
}

func typeErrors(err error) (all []typeError) {
	var v *jsonschema.ValidationError
	if !errors.As(err, &v) {
		return nil
	}
	var walk func(v *jsonschema.ValidationError)
	walk = func(v *jsonschema.ValidationError) {
		if k, ok := v.ErrorKind.(*kind.Type); ok {
			all = append(all, typeError{v.InstanceLocation, k.Want})
		}
		for _, cause := range v.Causes {
			walk(cause)
		}
	}
	walk(v)
	return all
}
