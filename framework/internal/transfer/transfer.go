// Package transfer takes the rows of entities out to files and in from them: as lines of JSON, or as CSV in which ""
// and null are two things. Both ways are a run through the operations of entities, with their rights, hooks and
// validation.
//
// What belongs here: the two formats, and the runs. Not here: the command line, and the tables of a
// database, which backups take whole.
package transfer

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
)

// Format is how rows stand in a file.
type Format string

// The formats.
const (
	JSONL Format = "jsonl" // an object a line
	CSV   Format = "csv"   // a header with the names of fields; see csvReader
)

// Formats are the names of all formats.
var Formats = []string{string(JSONL), string(CSV)}

// ParseFormat reads the name of a format.
func ParseFormat(name string) (Format, error) {
	if !slices.Contains(Formats, name) {
		return "", fault.Newf(fault.InvalidPayload, "unknown format %s%s", catalog.Quote(fault.Clip(name, 64)), fault.DidYouMean(name, Formats)).
			WithHint("There are jsonl and csv.")
	}
	return Format(name), nil
}

// Job is what exports and imports have in common: on whose behalf they work, and on what.
type Job struct {
	Engine    *run.Engine
	View      *catalog.View
	Principal auth.Principal
	Set       string // "" is the default set of the principal
	Entity    string // as in the SDK
	Format    Format
}

// request is the request of the job's run.
func (j *Job) request() run.Request {
	return run.Request{View: j.View, Principal: j.Principal, Set: j.Set, Surface: "run", Via: catalog.SurfaceApp}
}

// operation is the operation of the job's run, whose handler makes all calls.
func operation(name string, effects catalog.Effects, handler catalog.Handler) *catalog.Operation {
	return &catalog.Operation{
		ID:       catalog.CodeID("koan", name),
		Contract: catalog.Contract{Proven: true, Effects: effects},
		Work:     catalog.Work{Nested: true, Rights: &catalog.Rights{}, Handler: handler},
	}
}

// resource finds the job's entity, which must have an operation.
func (j *Job) resource(op string) (*catalog.Resource, error) {
	var known []string
	for _, r := range j.resources(op) {
		if strings.EqualFold(r.Name, strings.ReplaceAll(j.Entity, "-", "")) {
			return r, nil
		}
		known = append(known, r.Name)
	}
	slices.Sort(known)
	message := "there is no entity " + catalog.Quote(fault.Clip(j.Entity, 64)) + " with the operation " + op + " in the set " + catalog.Quote(j.set())
	return nil, fault.New(fault.ToolNotFound, message+fault.DidYouMean(j.Entity, known)).WithHint("Name it as in the SDK. There are: %s.", strings.Join(known, ", "))
}

// resources are the entities with an operation that live in the job's set.
func (j *Job) resources(op string) []*catalog.Resource {
	var out []*catalog.Resource
	for _, o := range j.View.Routes() {
		if o.ID.Kind != catalog.KindEntity || o.ID.Op != op {
			continue
		}
		if r := j.View.At(catalog.SurfaceREST).Resource(o.Resource); r != nil && r.LivesIn(j.set()) {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b *catalog.Resource) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func (j *Job) set() string {
	if j.Set == "" {
		return j.Principal.DefaultSet()
	}
	return j.Set
}

// fields are the fields of an entity that a filter lets through, its key first.
func fields(r *catalog.Resource, keep func(*catalog.Field) bool) []*catalog.Field {
	key := r.Key
	key.Type = catalog.TypeID
	out := []*catalog.Field{&key}
	for i := range r.Fields {
		if f := &r.Fields[i]; f.Name != key.Name && keep(f) {
			out = append(out, f)
		}
	}
	return out
}

// named is a row of an export of several entities, with the name of its own.
type named struct {
	Entity string          `json:"entity"`
	Item   json.RawMessage `json:"item"`
}
