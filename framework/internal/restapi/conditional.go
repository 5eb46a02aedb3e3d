package restapi

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
)

// writeID is the operation of writes that depend on the row that is there.
var writeID = catalog.EntityID("rest", "write")

// matchPath is where its input has the entity tags of If-Match.
const matchPath = "/match"

// conditionalInput is its input: the call of an entity's operation, and what it depends on.
type conditionalInput struct {
	Entity    string          `json:"entity"`
	Operation string          `json:"operation"`
	ID        string          `json:"id"`
	Set       string          `json:"set,omitempty"`
	Input     json.RawMessage `json:"input"`
	Match     []string        `json:"match,omitempty"`  // of If-Match; nil for no condition
	Absent    bool            `json:"absent,omitempty"` // there must be none, as If-None-Match: * says
	Merge     bool            `json:"merge,omitempty"`  // changes are a merge patch
}

// Operations returns the operation by which REST makes writes that depend on the row that is
// there. It is reached by the routes alone, and what it may do is decided by the operations
// that it calls.
func Operations(d Digester) []*catalog.Operation {
	return []*catalog.Operation{{
		ID: writeID,
		Contract: catalog.Contract{
			Input:   json.RawMessage(`{"type":"object","required":["entity","operation","id","input"],"properties":{"entity":{"type":"string"},"operation":{"enum":["upsert","patch","delete"]},"id":{"type":"string"},"set":{"type":"string"},"input":{"type":"object"},"match":{"type":"array","items":{"type":"string"}},"absent":{"type":"boolean"},"merge":{"type":"boolean"}},"additionalProperties":false}`),
			Output:  json.RawMessage(`{"type":"object"}`),
			Effects: catalog.Effects{Destructive: true}, Proven: true,
		},
		Listing: catalog.Listing{
			Title:   "Write on a condition",
			Summary: "Reads an entity, and stores, changes or deletes it if it is still the one that the caller has seen.", Reach: catalog.ReachApp,
		},
		Work: catalog.Work{
			Nested:  true,
			Handler: (&conditional{d}).handle,
		},
	}}
}

type conditional struct{ digester Digester }

func (c *conditional) handle(ctx context.Context, call catalog.Call) (json.RawMessage, error) {
	var in conditionalInput
	if err := json.Unmarshal(call.Input(), &in); err != nil {
		return nil, fault.Invalid(fault.Detail{Message: "the input cannot be read"})
	}
	resource := call.View().Snapshot().Resource(in.Entity)
	if resource == nil {
		return nil, fault.Newf(fault.ToolNotFound, "there is no entity %s", catalog.Quote(in.Entity))
	}
	ask := map[string]json.RawMessage{"id": text(in.ID)}
	if in.Set != "" {
		ask["set"] = text(in.Set)
	}
	out, err := call.Invoke(ctx, catalog.EntityID(in.Entity, "get-by-id"), object(ask))
	switch {
	case in.Absent && err == nil:
		return nil, changed(in.Entity + " has an entity with this id already")
	case in.Absent && fault.CodeOf(err) == fault.NotFound:
		return call.Invoke(ctx, catalog.EntityID(in.Entity, in.Operation), in.Input)
	case err != nil:
		if fault.CodeOf(err) == fault.NotFound && in.Match != nil {
			return nil, changed("there is no " + in.Entity + " with this id, so none that If-Match names")
		}
		return nil, err
	}
	if in.Match != nil {
		sealer, err := c.digester(ctx)
		if err != nil {
			return nil, err
		}
		if !matches(in.Match, tagger{sealer}.tag(resource, out), false) {
			return nil, changed("the " + in.Entity + " is not the one that If-Match names: somebody changed it")
		}
	}
	if in.Merge {
		in.Input = mergeChanges(in.Input, rowOf(out))
	}
	return call.Invoke(ctx, catalog.EntityID(in.Entity, in.Operation), in.Input)
}

func changed(message string) error {
	return fault.New(fault.Conflict, message).WithPath(matchPath).WithHint("Read the entity again, and repeat the change with its new ETag.")
}

// conditional makes a call depend on the row that is there, where the request says so.
func (h *invocations) conditional(r *http.Request, e *entity, found route, c *call) error {
	match, err := condition(r, "If-Match")
	if err != nil {
		return err
	}
	none, err := condition(r, "If-None-Match")
	if err != nil {
		return err
	}
	c.matches = len(match) > 0
	merge, absent := c.merge && mergesObjects(c.input), len(none) > 0
	if !c.matches && !merge && !absent {
		return nil
	}
	if absent && (len(match) > 0 || found.Method != http.MethodPut || len(none) > 1 || none[0] != anyTag) {
		return fault.New(fault.InvalidRequest, "of what writes, PUT alone takes If-None-Match, and only as `If-None-Match: *`").WithHint("Use If-Match with the ETag of the entity that you have read.")
	}
	if !found.Item {
		return fault.New(fault.InvalidRequest, "If-Match is for a path that ends in an id").WithHint("PUT to the path of the entity instead.")
	}
	if len(match) > 0 && !slices.ContainsFunc(match, func(tag string) bool { return !strings.HasPrefix(tag, weakMark) }) {
		return rejection{
			Fault:  fault.New(fault.Conflict, "a weak entity tag matches nothing in If-Match").WithHint("Send the ETag without W/, which proxies add that compress.").WithRetry(fault.Fix),
			status: http.StatusPreconditionFailed,
		}
	}
	if version, ok := versionTag(match); ok && e.Versioned && !merge && !absent {
		input := rowOf(c.input)
		input["ifVersion"] = json.RawMessage(version)
		c.input = object(input)
		return nil
	}
	var set struct{ Set string }
	if json.Unmarshal(c.input, &set) != nil {
		return nil // a set that is not a text: the operation says so
	}
	if set.Set == auth.From(r.Context()).DefaultSet() { // as if it were not named: keys tell inputs apart by their JSON
		input := rowOf(c.input)
		delete(input, "set")
		c.input, set.Set = object(input), ""
	}
	raw, err := json.Marshal(conditionalInput{
		Entity: e.Name, Operation: found.operation.ID.Op, ID: r.PathValue("id"), Set: set.Set, Input: c.input, Match: match, Absent: absent, Merge: merge,
	})
	if err != nil {
		return fault.New(fault.Internal, "").Because(err)
	}
	op := h.opts.Catalog().Operation(writeID)
	if op == nil {
		return fault.New(fault.Internal, "")
	}
	c.operation, c.input, c.via = op, raw, catalog.SurfaceApp
	return nil
}

// versionTag returns the version in a header with one entity tag of ours.
func versionTag(match []string) (version string, ok bool) {
	if len(match) != 1 {
		return "", false
	}
	tag := match[0]
	if len(tag) < 3 || !strings.HasPrefix(tag, `"`) || !strings.HasSuffix(tag, `"`) {
		return "", false
	}
	version = tag[1 : len(tag)-1]
	n, err := strconv.ParseInt(version, 10, 64)
	return version, err == nil && strconv.FormatInt(n, 10) == version
}

// mergesObjects reports whether changes have an object as a value, which a merge patch merges
// with what is there.
func mergesObjects(input json.RawMessage) bool {
	for _, value := range rowOf(rowOf(input)["changes"]) {
		if value[0] == '{' {
			return true
		}
	}
	return false
}

// mergeChanges returns an input of patch whose objects are merged with those of a row. What is
// no object in the row is left to the operation: of a relationship it reads {"$add": [...]}.
func mergeChanges(input json.RawMessage, row map[string]json.RawMessage) json.RawMessage {
	in := rowOf(input)
	changes := rowOf(in["changes"])
	for name, value := range changes {
		if there, ok := row[name]; ok && value[0] == '{' && !isOperators(value) {
			changes[name] = mergePatch(there, value)
		}
	}
	in["changes"] = object(changes)
	return object(in)
}

// isOperators reports whether all members of an object begin with "$".
func isOperators(value json.RawMessage) bool {
	members := rowOf(value)
	for name := range members {
		if !strings.HasPrefix(name, "$") {
			return false
		}
	}
	return len(members) > 0
}

// mergePatch applies a merge patch to a JSON value (RFC 7396).
func mergePatch(target, patch json.RawMessage) json.RawMessage {
	if len(patch) == 0 || patch[0] != '{' {
		return patch
	}
	out := map[string]json.RawMessage{}
	if len(target) > 0 && target[0] == '{' {
		out = rowOf(target)
	}
	changes := rowOf(patch)
	names := make([]string, 0, len(changes))
	for name := range changes {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if string(changes[name]) == "null" {
			delete(out, name)
			continue
		}
		out[name] = mergePatch(out[name], changes[name])
	}
	return object(out)
}
