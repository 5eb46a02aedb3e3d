package schema

import (
	"bytes"
	"encoding/json"
	"errors"
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
	if wrong := d.rounded(known.Schema, d.root, nil); len(wrong) > 0 {
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

// convert makes numbers of strings of digits at which a schema takes an integer. It reports whether
// that changed anything.
func (d *document) convert(schema *jsonschema.Schema) (changed bool) {
	const rounds = 4 // a union says only then what is wrong inside, once its constants fit
	for range rounds {
		wrong := typeErrors(schema.Validate(d.root))
		before, done := len(wrong), false
		for _, w := range wrong {
			s, ok := d.at(w.path).(string)
			if !ok || !integerText.MatchString(s) || !slices.Contains(w.want, "integer") {
				continue
			}
			d.replace(w.path, json.Number(s))
			if !d.takesLarge(schema, w.path) { // any of them is a number in JavaScript: a string is a mistake
				d.replace(w.path, s)
				continue
			}
			if left := typeErrors(schema.Validate(d.root)); len(left) >= before {
				d.replace(w.path, s) // of another branch of a union
				continue
			} else {
				before = len(left)
			}
			changed, done = true, true
		}
		if !done {
			return changed
		}
	}
	return changed
}

// takesLarge reports whether a schema that takes the integer at a path takes others too, which are
// beyond 2^53 on either side of 0.
func (d *document) takesLarge(schema *jsonschema.Schema, path []string) bool {
	least := violations(schema.Validate(d.root), path)
	was := d.at(path)
	defer d.replace(path, was)
	for _, large := range []json.Number{"9007199254740993", "-9007199254740993"} {
		d.replace(path, large)
		if violations(schema.Validate(d.root), path) <= least {
			return true
		}
	}
	return false
}

// violations counts those of the value at a path, in all branches of unions.
func violations(err error, path []string) int {
	var v *jsonschema.ValidationError
	if !errors.As(err, &v) {
		return 0
	}
	var count func(v *jsonschema.ValidationError) int
	count = func(v *jsonschema.ValidationError) (n int) {
		if len(v.Causes) == 0 && slices.Equal(v.InstanceLocation, path) {
			return 1
		}
		for _, cause := range v.Causes {
			n += count(cause)
		}
		return n
	}
	return count(v)
}

// rounded returns the violations of numbers that are not the integers which somebody wrote.
func (d *document) rounded(schema *jsonschema.Schema, v any, path []string) (wrong []fault.Detail) {
	switch v := v.(type) {
	case json.Number:
		if isRounded([]byte(v)) && (d.wantsInteger(schema, path) || d.takesAnything(schema, path)) {
			wrong = append(wrong, fault.Detail{
				Path: pointer(path), Message: "the number " + fault.Clip(v.String(), 40) + " is beyond 2^53, where JavaScript has rounded it",
				Expected: "an integer: a BigInt, or a string of digits", Received: "number",
			})
		}
	case []any:
		for i, item := range v {
			wrong = append(wrong, d.rounded(schema, item, append(slices.Clip(path), strconv.Itoa(i)))...)
		}
	case map[string]any:
		for name, item := range v {
			wrong = append(wrong, d.rounded(schema, item, append(slices.Clip(path), name))...)
		}
	}
	return wrong
}

// wantsInteger reports whether a schema takes integers at a path and no other numbers.
func (d *document) wantsInteger(schema *jsonschema.Schema, path []string) bool {
	was := d.replace(path, json.Number("0.5"))
	defer d.replace(path, was)
	return slices.ContainsFunc(typeErrors(schema.Validate(d.root)), func(w typeError) bool {
		return slices.Equal(w.path, path) && slices.Contains(w.want, "integer")
	})
}

// takesAnything reports whether a schema has no type at a path.
func (d *document) takesAnything(schema *jsonschema.Schema, path []string) bool {
	was := d.at(path)
	defer d.replace(path, was)
	before := len(typeErrors(schema.Validate(d.root)))
	for _, other := range []any{"text", true, map[string]any{}} {
		d.replace(path, other)
		if len(typeErrors(schema.Validate(d.root))) > before {
			return false
		}
	}
	return true
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
