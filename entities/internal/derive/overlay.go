package derive

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/koan-go/koan/entities/internal/inspect"
	"github.com/koan-go/koan/framework/exposure"
	"github.com/koan-go/koan/framework/fault"
)

// Overlay is what a configuration says of the entities of a database, by the names of its keys.
type Overlay map[string]*EntityOverlay

// EntityOverlay is what it says of one. Texts are "" and flags nil where it says nothing.
type EntityOverlay struct {
	Table, Name, Description string
	Version, Exposure        string
	Hidden, ReadOnly         *bool
	Lists
	Fields        map[string]*FieldOverlay
	Relationships map[string]*RelationshipOverlay
}

// Lists are what it says in lists of names.
type Lists struct{ Operations, UpsertBy, Sets, Scopes []string }

// FieldOverlay is what it says of a field.
type FieldOverlay struct {
	Description, Fold            string
	Hidden, ReadOnly, Searchable *bool
}

// RelationshipOverlay is what it says of a relationship. Via is the column along which it leads.
type RelationshipOverlay struct {
	Via, Description string
	Hidden           *bool
}

// Section is the key of the configuration that has overlays.
const Section = "entities"

// ParseOverlay reads the keys below the section, as package config has them: the names of nested keys with
// dots between them, and values as texts. Its error has every problem.
func ParseOverlay(values map[string]string) (Overlay, error) {
	out, problems := Overlay{}, problemList{}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		name, rest, _ := strings.Cut(key, ".")
		if rest == "" {
			problems.add(name, "must have keys below it, such as table: orders")
			continue
		}
		if out[name] == nil {
			out[name] = &EntityOverlay{Fields: map[string]*FieldOverlay{}, Relationships: map[string]*RelationshipOverlay{}}
		}
		if why := out[name].set(rest, values[key]); why != "" {
			problems.add(key, why)
		}
	}
	return out, problems.err()
}

// problemList collects what is wrong with an overlay.
type problemList []fault.Detail

func (p *problemList) add(key, message string) {
	*p = append(*p, fault.Detail{Path: Section + "." + key, Message: message})
}

// err returns the fault of all problems, nil for none.
func (p problemList) err() error {
	if len(p) == 0 {
		return nil
	}
	lines := make([]string, len(p))
	for i, d := range p {
		lines[i] = d.Path + " " + d.Message
	}
	return fault.New(fault.ServiceUnavailable, "the configuration does not fit the database: "+strings.Join(lines, "; ")).
		WithPath(p[0].Path).WithDetails([]fault.Detail(p)).
		WithHint("Names are those that `koan init --database ... --check` lists; correct koan.yaml, or the database.")
}

// set takes one value, and says what is wrong with it.
func (e *EntityOverlay) set(key, value string) string {
	section, rest, nested := strings.Cut(key, ".")
	if nested {
		name, key, _ := strings.Cut(rest, ".")
		switch section {
		case "fields":
			if e.Fields[name] == nil {
				e.Fields[name] = &FieldOverlay{}
			}
			return e.Fields[name].set(key, value)
		case "relationships":
			if e.Relationships[name] == nil {
				e.Relationships[name] = &RelationshipOverlay{}
			}
			return e.Relationships[name].set(key, value)
		case "policy":
			return "is not supported yet: there are no policies in data"
		}
		return unknownKey(key, []string{"fields", "relationships"})
	}
	switch key {
	case "exposure":
		if !slices.Contains([]exposure.Mode{exposure.Auto, exposure.Code, exposure.Tools, exposure.Full}, exposure.Mode(value)) {
			return "must be auto, code, tools or full"
		}
		e.Exposure = value
	case "sets":
		return "is not supported: a database that exists is one set, default"
	case "policy":
		return "is not supported yet: there are no policies in data"
	default:
		return setKey(key, value, map[string]any{
			"table": &e.Table, "name": &e.Name, "description": &e.Description, "version": &e.Version, "hidden": &e.Hidden, "readOnly": &e.ReadOnly,
			"operations": &e.Operations, "upsertBy": &e.UpsertBy, "scopes": &e.Scopes,
		})
	}
	return ""
}

func (f *FieldOverlay) set(key, value string) string {
	return setKey(key, value, map[string]any{"description": &f.Description, "hidden": &f.Hidden, "readOnly": &f.ReadOnly, "searchable": &f.Searchable, "fold": &f.Fold})
}

func (r *RelationshipOverlay) set(key, value string) string {
	return setKey(key, value, map[string]any{"via": &r.Via, "description": &r.Description, "hidden": &r.Hidden})
}

// setKey puts a value where its key is kept.
func setKey(key, value string, known map[string]any) string {
	switch to := known[key].(type) {
	case *string:
		*to = value
	case **bool:
		b, err := strconv.ParseBool(value)
		if err != nil {
			return "must be true or false, not " + strconv.Quote(value)
		}
		*to = &b
	case *[]string:
		if json.Unmarshal([]byte(value), to) != nil {
			*to = strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' })
		}
	default:
		return unknownKey(key, slices.Sorted(maps.Keys(known)))
	}
	return ""
}

func unknownKey(key string, known []string) string {
	return "is unknown" + fault.DidYouMeanOr(key, known, "there are "+strings.Join(known, ", "))
}

// is reports whether an overlay is about a table.
func (e *EntityOverlay) is(r *inspect.Relation) bool {
	return e.Table != "" && (e.Table == r.Name || e.Table == r.Qualified())
}

// Writes reports whether the configuration has an entity written.
func (o Overlay) Writes() bool {
	for _, e := range o {
		if e.ReadOnly != nil && !*e.ReadOnly {
			return true
		}
	}
	return false
}

// names reports whether an overlay makes an entity of a table, whatever else it would be.
func (o Overlay) names(r *inspect.Relation) bool {
	for _, e := range o {
		if e.is(r) {
			return true
		}
	}
	return false
}

// of returns the overlay of a relation whose entity would have a name, and its key.
func (o Overlay) of(r *inspect.Relation, name string) (string, *EntityOverlay) {
	for _, key := range slices.Sorted(maps.Keys(o)) {
		if o[key].is(r) {
			return key, o[key]
		}
	}
	if e := o[name]; e != nil && e.Table == "" {
		return name, e
	}
	return "", nil
}

// nameOf returns the name that an overlay gives an entity, "" for none.
func (o Overlay) nameOf(r *inspect.Relation, name string) string {
	key, e := o.of(r, name)
	if e == nil {
		return ""
	}
	if e.Name != "" {
		return e.Name
	}
	return key
}

// CheckKey checks one key below the section, and its value.
func CheckKey(key, value string) error {
	_, rest, _ := strings.Cut(key, ".")
	if rest == "" {
		return errors.New("must have keys below it, such as table: orders")
	}
	e := &EntityOverlay{Fields: map[string]*FieldOverlay{}, Relationships: map[string]*RelationshipOverlay{}}
	if why := e.set(rest, value); why != "" {
		return errors.New(why)
	}
	return nil
}
