package model

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/internal/filter"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/database/sqltext"
	"github.com/koan-go/koan/framework/fault"
)

// maxEdgeIDs bounds the ids of one to-many edge in one input.
const maxEdgeIDs = 1000

// rules are what a field's value must obey, compiled once.
type rules struct {
	pattern  *regexp.Regexp
	schema   *jsonschema.Schema
	integers bool // of the schema
}

// readIntegers returns a value of JSON with numbers for the strings that large integers are when
// they are read.
func (r rules) readIntegers(v any) any {
	if r.integers {
		return filter.WithNumbers(v)
	}
	return v
}

func newRules(f *catalog.Field) (r rules, err error) {
	if f.Pattern != "" {
		if r.pattern, err = regexp.Compile(f.Pattern); err != nil {
			return r, fmt.Errorf("the pattern of %s: %w", f.Name, err)
		}
	}
	if f.Schema != nil {
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(f.Schema))
		if err != nil {
			return r, err
		}
		c := jsonschema.NewCompiler()
		if err := c.AddResource("field.json", doc); err != nil {
			return r, err
		}
		r.integers = hasIntegers(doc)
		r.schema, err = c.Compile("field.json")
		return r, err
	}
	return r, nil
}

// decoder checks one input and collects everything that is wrong with it.
type decoder struct {
	report
	kind    *Kind
	graph   filter.Graph   // what a reading operation may be about
	refused error          // of a reading operation, with its details
	ahead   *Model         // not nil: nothing is stored, and what the handler would refuse in any case is reported
	missing []fault.Detail // from models that can only create entities, which the handler finds as well
	models  []*Values      // with values that are wrong unless they are stored as they are
	stored  []*Values      // all that are to be stored
	all     *Model         // what is there besides
	keys    []string       // ids of the kind's own entities that it names
	// changing says that what stands in the input is what shall change, and not a whole model.
	changing bool
}

// report is what is wrong with an input.
type report struct {
	details []fault.Detail
	// later is what the handler would refuse. It counts where nothing else is wrong, as
	// the handler is not reached before.
	later []fault.Detail
	set   string // that the input names, else the run's
}

// full reports whether enough is known of what is wrong.
func (d *report) full() bool { return len(d.details)+len(d.later) >= fault.MaxFound }

func (d *report) fail(at, format string, args ...any) {
	if d.full() {
		return
	}
	d.details = append(d.details, fault.Detail{Path: at, Message: fmt.Sprintf(format, args...)})
}

func (d *report) wrong(at, expected string, got any) {
	if d.full() {
		return
	}
	d.details = append(d.details, fault.Detail{Path: at, Message: fault.Subject(at) + " takes " + expected, Expected: expected, Received: filter.Describe(got)})
}

// err returns all that is wrong with the input. What might be stored as it is (Refused), and what
// the handler finds as well, counts as soon as something else is wrong, so that one answer has
// everything.
func (d *decoder) err() error {
	if len(d.details) == 0 {
		return d.refused
	}
	details := d.details
	for _, m := range d.models {
		details = append(details, m.refusals()...)
	}
	later := d.later
	if d.ahead == nil && len(d.stored) > 0 {
		later = d.laterProblems()
	}
	return fault.Invalid(slices.Concat(details, later, d.missing)...)
}

// settle decides about the values of a model that its fields do not take: they are wrong, unless
// the model changes an entity, which may have them already.
func (d *decoder) settle(m *Values, changes bool) {
	if m != nil {
		d.stored = append(d.stored, m)
	}
	switch {
	case m == nil || len(m.Refused) == 0:
	case changes && d.ahead == nil:
		d.models = append(d.models, m)
	default:
		d.details = append(d.details, m.refusals()...)
		m.Refused = nil
	}
}

// model checks a model or a set of changes. Fields that the app or the system keeps may
// stand in it, since a model that was read is sent back whole; where they could be what was
// read, they are Fixed, to be compared with it. withID says that it may contain the id.
func (d *decoder) model(v any, at string, withID bool) *Values {
	members, ok := v.(map[string]any)
	if !ok {
		d.wrong(at, "an object", v)
		return nil
	}
	m := &Values{At: at}
	for _, name := range sortedKeys(members) {
		value, where := members[name], at+"/"+filter.Escape(name)
		k := d.kind
		switch e, target := k.EdgeNamed(name); {
		case name == k.KeyField().Name && withID:
			d.id(m, value, where)
		case name == k.KeyField().Name:
			d.fail(where, "an id cannot be changed")
		case e != nil:
			d.edge(m, e, target, value, where)
		case k.FieldNamed(name) != nil:
			d.field(m, k.FieldNamed(name), value, where)
		default:
			d.fail(where, "%s has no field %s%s", k.Name(), filter.Quote(name), fault.DidYouMean(name, k.names()))
		}
	}
	d.agree(m, at)
	return m
}

func (d *decoder) id(m *Values, v any, at string) {
	m.ID, m.Shown = d.ownID(v, at)
}

// ownID checks the id of an entity that the input is about.
func (d *decoder) ownID(v any, at string) (id any, shown string) {
	id, shown, ok := d.key(d.kind, v, at)
	if ok {
		d.keys = append(d.keys, shown)
	}
	return id, shown
}

// key checks an id of a kind and returns its native form.
func (d *decoder) key(k *Kind, v any, at string) (id any, shown string, ok bool) {
	seen, problem := filter.Key(k.Entity, v, at)
	if problem == nil {
		var err error
		if id, err = k.ParseID(fmt.Sprint(seen)); err == nil {
			return id, k.FormatID(id), true
		}
		problem = &fault.Detail{Path: at, Message: err.Error()}
	}
	d.details = append(d.details, *problem)
	return nil, "", false
}

func (d *decoder) field(m *Values, f *catalog.Field, v any, at string) {
	column, before := d.kind.Entity.Column(f.Name), len(d.details)
	value, ok := d.value(column, f, v, at)
	if !ok && f.Type != catalog.TypeID && len(d.details) > before {
		m.Refused = append(m.Refused, RefusedValue{Field: f, Value: v, Details: slices.Clone(d.details[before:])})
		d.details = d.details[:before]
	}
	if !ok || f.ReadOnly {
		if ok && (d.changing || !d.moves(f)) {
			m.Fixed = append(m.Fixed, FieldValue{column, f, value})
		}
		return
	}
	m.Fields = append(m.Fields, FieldValue{column, f, value})
	if f.Type == catalog.TypeID && value != nil { // 1 and "1" are the same id
		v = fmt.Sprint(value)
	}
	d.addKey(m, f.Name, v)
}

// moves reports whether a field that callers do not write changes with each write: what was read of it
// may be older than what is stored.
func (d *decoder) moves(f *catalog.Field) bool {
	return f.Generated && !f.Immutable || d.kind.Entity.VersionColumn == d.kind.Entity.Column(f.Name).Name
}

// addKey notes the value of a field of the unique key.
func (d *decoder) addKey(m *Values, name string, v any) {
	if !slices.Contains(d.kind.Entity.UpsertBy, name) {
		return
	}
	if m.Key == nil {
		m.Key = map[string]any{}
	}
	m.Key[name] = v
}

// value checks the value of a field and returns it as the converters of package
// shim take it.
func (d *decoder) value(c *descriptor.Column, f *catalog.Field, v any, at string) (any, bool) {
	if v == nil {
		if !f.Nullable {
			d.fail(at, "%s cannot be null", f.Name)
		}
		return nil, f.Nullable
	}
	if f.Type == catalog.TypeJSON {
		return d.json(f, v, at)
	}
	value, problem := filter.Value(c, f, v, at)
	if problem != nil {
		if f.Sensitive { // what was sent may be near the secret that was meant
			problem.Message, problem.Received = f.Name+" does not have the right type or form", ""
		}
		d.details = append(d.details, *problem)
		return nil, false
	}
	if why := d.limits(f, value); why != "" {
		d.fail(at, "%s %s", f.Name, WithoutValue(f, why))
		return nil, false
	}
	if c.Form != nil {
		canonical, err := c.Form.Canonical(value)
		if err != nil {
			d.fail(at, "%s: %s", f.Name, hideValue(f, value, err.Error()))
			return nil, false
		}
		value = canonical
	}
	if text, ok := value.(string); ok && c.Storage == descriptor.Decimal && c.Capacity != nil {
		value = sqltext.PadDecimal(text, c.Capacity.Scale)
	}
	if why := Exceeds(c, value); why != "" {
		d.fail(at, "%s %s", f.Name, WithoutValue(f, why))
		return nil, false
	}
	return value, true
}

// WithoutValue leaves out of a message about a limit what was sent, where that may be near the
// secret that was meant: of a sensitive field, and of one that the caller does not see (nil).
func WithoutValue(f *catalog.Field, why string) string {
	if f == nil || f.Sensitive {
		why, _, _ = strings.Cut(why, ": ")
		why, _, _ = strings.Cut(why, ", not ")
	}
	return why
}

func (d *decoder) json(f *catalog.Field, v any, at string) (any, bool) {
	if path, why := jsonProblem(v); why != "" {
		if f.Sensitive {
			path, why = "", "does not have the right type or form"
		}
		d.fail(at+path, "%s %s", f.Name, why)
		return nil, false
	}
	if s := d.kind.rules[f.Name].schema; s != nil && s.Validate(v) != nil {
		v = d.kind.rules[f.Name].readIntegers(v)
		if s.Validate(v) != nil {
			d.fail(at, "%s does not match its schema %s", f.Name, f.Schema)
			return nil, false
		}
	}
	raw, err := json.Marshal(v)
	if err != nil {
		d.fail(at, "%s is not valid JSON", f.Name)
		return nil, false
	}
	return json.RawMessage(raw), true
}

// limits returns the limit of its field that a value breaks, "" for none.
func (d *decoder) limits(f *catalog.Field, value any) string {
	switch v := value.(type) {
	case string:
		n := utf8.RuneCountInString(v)
		switch r := d.kind.rules[f.Name]; {
		case f.MinLength != nil && n < *f.MinLength:
			return fmt.Sprintf("must have at least %d characters", *f.MinLength)
		case f.MaxLength != nil && n > *f.MaxLength:
			return fmt.Sprintf("must have at most %d characters, not %d", *f.MaxLength, n)
		case r.pattern != nil && !r.pattern.MatchString(v):
			return "must match " + f.Pattern + asExample(f)
		}
	case int64:
		return bounds(f, float64(v))
	case float64:
		return bounds(f, v)
	}
	return ""
}

// asExample is the field's example, for the end of a sentence about its form.
func asExample(f *catalog.Field) string {
	if f.Example == nil {
		return ""
	}
	return ", as " + string(f.Example) + " does"
}

func bounds(f *catalog.Field, v float64) string {
	number := func(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
	low, high := f.Min != nil && v < *f.Min, f.Max != nil && v > *f.Max
	switch {
	case (low || high) && f.Min != nil && f.Max != nil:
		return fmt.Sprintf("must be from %s to %s, not %s", number(*f.Min), number(*f.Max), number(v))
	case low:
		return fmt.Sprintf("must be at least %s, not %s", number(*f.Min), number(v))
	case high:
		return fmt.Sprintf("must be at most %s, not %s", number(*f.Max), number(v))
	}
	return ""
}

// edge checks what is written to an edge: an id or an object with one, null, a
// list of them, or {$add, $remove, $set}.
func (d *decoder) edge(m *Values, e *Edge, target *Kind, v any, at string) {
	out := EdgeValue{Edge: e.Column, JSON: e.JSON, Target: target}
	before := len(d.details)
	switch list, isList := v.([]any); {
	case !e.JSON.Many && v == nil:
		if e.JSON.Required {
			d.fail(at, "%s cannot be null", e.JSON.Name)
		}
		out.Clear = true
	case !e.JSON.Many:
		out.Link = d.references(&out, []any{v}, at, true)
	case isList:
		out.Clear, out.Link = true, d.references(&out, list, at, false)
	default:
		d.edgeChange(&out, v, at)
	}
	if len(d.details) == before {
		m.Edges = append(m.Edges, out)
	}
}

func (d *decoder) edgeChange(out *EdgeValue, v any, at string) {
	members, ok := v.(map[string]any)
	if !ok || len(members) == 0 {
		d.wrong(at, "a list of ids, or an object with $add, $remove or $set", v)
		return
	}
	for _, name := range sortedKeys(members) {
		where := at + "/" + filter.Escape(name)
		if isCreation(name) {
			d.fail(where, "unknown operator %s; %s", filter.Quote(name), out.creation(d.kind))
			continue
		}
		list, ok := members[name].([]any)
		if !ok {
			d.wrong(where, "a list of ids", members[name])
			continue
		}
		ids := d.references(out, list, where, false)
		switch name {
		case "$add":
			out.Link = append(out.Link, ids...)
		case "$remove":
			out.Unlink = append(out.Unlink, ids...)
		case "$set":
			out.Clear, out.Link = true, append(out.Link, ids...)
		default:
			d.fail(where, "unknown operator %s%s", filter.Quote(name), fault.DidYouMean(name, []string{"$add", "$remove", "$set"}))
		}
	}
	if _, set := members["$set"]; set && len(members) > 1 {
		d.fail(at, "$set cannot be combined with $add or $remove")
	}
	for _, id := range out.Unlink {
		if slices.Contains(out.Link, id) && !out.Clear {
			d.fail(out.Places[id], "%s is in both $add and $remove; choose one", filter.Quote(out.Target.FormatID(id)))
		}
	}
}

// references checks ids, or objects that have one, drops repetitions, and
// remembers where each id stands.
func (d *decoder) references(e *EdgeValue, list []any, at string, one bool) []any {
	target := e.Target
	if len(list) > maxEdgeIDs {
		d.fail(at, "at most %d ids in one call, not %d", maxEdgeIDs, len(list))
		return nil
	}
	out := []any{}
	for i, v := range list {
		where := at
		if !one {
			where = fmt.Sprintf("%s/%d", at, i)
		}
		if o, ok := v.(map[string]any); ok {
			if v, ok = o[target.KeyField().Name]; !ok {
				d.fail(where, "want an id, or an object with id; %s", e.creation(d.kind))
				continue
			}
			where += "/" + target.KeyField().Name
		}
		if id, _, ok := d.key(target, v, where); ok && !slices.Contains(out, id) {
			out = append(out, id)
			if e.Places == nil {
				e.Places = map[any]string{}
			}
			e.Places[id] = where
		}
	}
	return out
}

// agree reconciles an edge with the field that is its key: a model that was read with
// its edges may contain both, if they agree. An edge alone says what the field would.
func (d *decoder) agree(m *Values, at string) {
	m.Edges = slices.DeleteFunc(m.Edges, func(e EdgeValue) bool {
		if e.JSON.Reference == "" || !m.Has(e.JSON.Reference) {
			if e.JSON.Reference != "" && len(e.Link) == 1 {
				d.addKey(m, e.JSON.Reference, e.Target.FormatID(e.Link[0]))
			}
			return false
		}
		i := slices.IndexFunc(m.Fields, func(f FieldValue) bool { return f.Field.Name == e.JSON.Reference })
		said := m.Fields[i].Value
		if e.Clear != (said == nil) || !e.Clear && e.Target.FormatID(e.Link[0]) != fmt.Sprint(said) {
			d.fail(at+"/"+filter.Escape(e.JSON.Name), "%s and %s contradict each other; send only one of them", e.JSON.Name, e.JSON.Reference)
		}
		return true
	})
}

func sortedKeys(m map[string]any) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	sort.Strings(out)
	return out
}

// names returns everything that can stand in a model.
func (k *Kind) names() []string {
	out := []string{k.KeyField().Name}
	for i := range k.Entity.Resource.Fields {
		out = append(out, k.Entity.Resource.Fields[i].Name)
	}
	for i := range k.Edges {
		out = append(out, k.Edges[i].JSON.Name)
	}
	return slices.DeleteFunc(out, func(s string) bool { return strings.TrimSpace(s) == "" })
}
