package codemode

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
)

const faceGateway = "gateway"

// unknownTool is the kind of the fault of code_schema for an id that nothing has: nothing was
// executed.
const unknownTool = "unknown_tool"

// most of code_search.
const defaultTop = 10

var (
	gatewaySearchMembers = members{
		{name: "query", required: true, check: isString, schema: map[string]any{"type": "string", "description": "Words; \"\" lists everything."}},
		whole("top_k", "How many candidates.", defaultTop, maxHits),
		named("upstream", "Only those of one server, plugin or entity."),
	}
	gatewaySchemaMembers  = members{{name: "id", required: true, check: isString, schema: map[string]any{"type": "string", "description": "As code_search returns it."}}}
	gatewayExecuteMembers = members{
		{name: codeName, required: true, check: isString, schema: map[string]any{"type": "string", "description": "JavaScript with callTool(id, params)."}},
		anyValue("args", "The script's SDK.args."),
		limitsMember(),
	}
)

const (
	gatewaySearchOutput = `{"type":"object","required":["query","results"],"properties":{"query":{"type":"string"},"results":{"type":"array","items":{"type":"object","required":["id","name","upstream","description","score","schema_available"],"properties":{` +
		`"id":{"type":"string"},"name":{"type":"string"},"upstream":{"type":"string"},"description":{"type":"string"},"score":{"type":"number"},"schema_available":{"type":"boolean"}}}}}}`
	gatewaySchemaOutput = `{"type":"object","required":["id","name","upstream","description","schema_format","schema"],"properties":{` +
		`"id":{"type":"string"},"name":{"type":"string"},"upstream":{"type":"string"},"description":{"type":"string"},"schema_format":{"const":"json_schema"},"schema":{"type":"object"},"output_schema":{"type":"object"},` +
		`"annotations":{"type":"object"},"example":{"type":"object"}}}`
)

// gatewayFace is the face of gateway-code-mode-contract: find an operation, read its exact
// schema, call it by its id in a script.
type gatewayFace struct{ scripts *scripts }

// operations are the tools of the face.
func (g gatewayFace) operations() []*catalog.Operation {
	reads := catalog.Effects{ReadOnly: true, Idempotent: true}
	return []*catalog.Operation{
		{
			ID: catalog.CodeID(faceGateway, "search"),
			Contract: catalog.Contract{
				Input: gatewaySearchMembers.schema(), Output: json.RawMessage(gatewaySearchOutput), Proven: true, Effects: reads,
				Example: json.RawMessage(`{"query":"list"}`),
			},
			Listing: catalog.Listing{
				Title:   "Find operations",
				Summary: "Finds operations by words. Read the schema of those that you are going to call with code_schema.", Reach: catalog.ReachTools,
			},
			Work: catalog.Work{Decode: kinded(decodeGatewaySearch), Handler: g.search},
		},
		{
			ID: catalog.CodeID(faceGateway, "schema"),
			Contract: catalog.Contract{
				Input: gatewaySchemaMembers.schema(), Output: json.RawMessage(gatewaySchemaOutput), Proven: true, Effects: reads,
			},
			Listing: catalog.Listing{
				Title:   "Read a schema",
				Summary: "Returns the exact schema of an operation's input and output.",
				Reach:   catalog.ReachTools,
			},
			Work: catalog.Work{Decode: kinded(decodeGatewaySchema), Handler: g.schema},
		},
		{
			ID: catalog.CodeID(faceGateway, "execute"),
			Contract: catalog.Contract{
				Input: gatewayExecuteMembers.schema(), Output: json.RawMessage(executeOutput), Proven: true, Refused: json.RawMessage(executeRefused),
				Effects: catalog.Effects{Destructive: true}, Example: json.RawMessage(`{"code":"1 + 1"}`),
			},
			Listing: catalog.Listing{
				Title: "Run code",
				Summary: "Runs one JavaScript program as one transaction. callTool(id, params) calls an operation and returns its result, or throws; those in `await Promise.all([...])` run at once. Ids are those of code_search. " +
					"The result is what the program returns, or the value of its last expression.", Reach: catalog.ReachTools,
			},
			Work: catalog.Work{Decode: kinded(decodeGatewayExecute), Handler: g.execute},
		},
	}
}

const gatewayInstructions = "Find operations with code_search, read the exact schemas of those that you need with code_schema, and do the whole job in one code_execute script: callTool(id, params) calls an operation and returns its result."

// candidate is a result of code_search.
type candidate struct {
	ID              string  `json:"id"`
	Name            string  `json:"name"`
	Upstream        string  `json:"upstream"`
	Description     string  `json:"description"`
	Score           float64 `json:"score"`
	SchemaAvailable bool    `json:"schema_available"`
}

// gatewaySearchInput is the input of code_search.
type gatewaySearchInput struct {
	query, upstream string
	top             int
}

func decodeGatewaySearch(in catalog.Input) (catalog.Decoded, error) {
	v, err := gatewaySearchMembers.read(in.JSON)
	return catalog.Decoded{Value: gatewaySearchInput{v.text("query"), v.text("upstream"), int(cmp.Or(v.number("top_k"), defaultTop))}}, err
}

// decodeGatewaySchema returns the id.
func decodeGatewaySchema(in catalog.Input) (catalog.Decoded, error) {
	v, err := gatewaySchemaMembers.read(in.JSON)
	return catalog.Decoded{Value: v.text("id")}, err
}

func decodeGatewayExecute(in catalog.Input) (catalog.Decoded, error) {
	members, err := gatewayExecuteMembers.given(in.JSON)
	if err != nil {
		return catalog.Decoded{}, err
	}
	return gatewayExecuteMembers.decodeScript(members)
}

// search serves code_search.
func (g gatewayFace) search(ctx context.Context, call catalog.Call) (json.RawMessage, error) {
	in := call.Decoded().(gatewaySearchInput)
	wanted := func(server string) bool { return in.upstream == "" || strings.EqualFold(server, in.upstream) }
	search := func(v *catalog.View) []catalog.Hit {
		return v.SearchOperations(in.query, in.top, func(op *catalog.Operation) bool { return wanted(op.ID.Owner) })
	}
	call, missing, release := g.scripts.tools.await(ctx, call, wanted, nil)
	defer func() { release() }()
	if err := knownOwner(call.View(), in.upstream); err != nil {
		return nil, withKind(err)
	}
	hits := search(call.View())
	if len(hits) == 0 {
		release()
		call, _, release = g.scripts.tools.await(ctx, call, noServer, those(wanted))
		hits = search(call.View())
	}
	out := struct {
		Query    string      `json:"query"`
		Results  []candidate `json:"results"`
		Unlisted []string    `json:"unlisted,omitempty"` // servers whose tools are not known
	}{beginning(in.query, maxEcho), []candidate{}, missing.names()}
	for _, h := range hits {
		op := h.Operation
		out.Results = append(out.Results, candidate{op.ID.String(), op.ID.Op, op.ID.Owner, op.Summary, h.Score, op.ID.Op != catalog.AnyTool && op.NoSchema == ""})
	}
	return wire.Marshal(out)
}

// knownOwner returns the fault of a name that no server, plugin or entity has.
func knownOwner(v *catalog.View, name string) *fault.Fault {
	if name == "" {
		return nil
	}
	var owners []string
	for _, op := range v.Script() {
		if strings.EqualFold(op.ID.Owner, name) {
			return nil
		}
		if op.ID.Owner != "" && !slices.Contains(owners, op.ID.Owner) {
			owners = append(owners, op.ID.Owner)
		}
	}
	return fault.Newf(fault.ServerNotFound, "no server, plugin or entity is called %s%s", quoted(name), fault.DidYouMean(name, owners)).
		WithPath("/upstream").WithHint("Leave it out, or name one of these: %s.", strings.Join(owners, ", "))
}

// schema serves code_schema.
func (g gatewayFace) schema(ctx context.Context, call catalog.Call) (json.RawMessage, error) {
	name := call.Decoded().(string)
	id, err := catalog.ParseID(name)
	if err != nil {
		return nil, withKind(fault.From(err).WithPath("/id"))
	}
	its := func(server string) bool { return id.Kind == catalog.KindUpstream && id.Owner == server }
	unknown := func(server string) bool { return its(server) && call.View().Operation(id) == nil }
	call, missing, release := g.scripts.tools.await(ctx, call, its, those(unknown))
	defer release()
	if why := missing[id.Owner]; why != nil {
		return nil, withKind(fault.From(why))
	}
	v := call.View().At(catalog.SurfaceScript)
	op := v.Operation(id)
	switch {
	case op == nil || id.Kind == catalog.KindCode || !call.View().Scripted(id):
		return nil, fault.Newf(fault.ToolNotFound, "there is no operation %s%s", quoted(name), fault.DidYouMean(name, idsNear(call.View(), id))).WithPath("/id").
			WithDetails(map[string]any{"kind": unknownTool}).WithHint("Take an id from code_search.")
	case id.Op == catalog.AnyTool:
		return nil, withKind(fault.Newf(fault.SchemaUnavailable, "the tools of %s are not known yet", id.Owner))
	case op.NoSchema != "":
		return nil, withKind(fault.Newf(fault.SchemaUnavailable, "%s has no schema that can be shown: %s", quoted(name), op.NoSchema).WithPath("/id").WithRetry(fault.Never).
			WithHint("It can be called all the same: callTool(id, params) takes any object, and its server checks it. It says of itself: %s", summaryLine(op.Description(call.View()))))
	}
	return wire.Marshal(struct {
		ID           string          `json:"id"`
		Name         string          `json:"name"`
		Upstream     string          `json:"upstream"`
		Description  string          `json:"description"`
		SchemaFormat string          `json:"schema_format"`
		Schema       json.RawMessage `json:"schema"`
		OutputSchema json.RawMessage `json:"output_schema"`
		Annotations  map[string]bool `json:"annotations"`
		Example      json.RawMessage `json:"example,omitempty"`
	}{op.ID.String(), op.ID.Op, op.ID.Owner, op.Description(call.View()), "json_schema", op.Input, op.Output, op.Effects.Hints(), op.Example})
}

// idsNear returns the ids that a wrong one may mean: of the same owner, if there is one, else all.
func idsNear(v *catalog.View, wrong catalog.ID) (ids []string) {
	var all []string
	for _, op := range v.Script() {
		all = append(all, op.ID.String())
		if op.ID.Kind == wrong.Kind && op.ID.Owner == wrong.Owner {
			ids = append(ids, op.ID.String())
		}
	}
	if ids == nil {
		return all
	}
	return ids
}

// execute serves code_execute over the same runs as koan.code.execute.
func (g gatewayFace) execute(ctx context.Context, call catalog.Call) (json.RawMessage, error) {
	out, err := g.scripts.execute(ctx, call)
	if err == nil {
		return out, nil
	}
	f := withKind(fault.From(err))
	if clear, ok := replaceError(out, f); ok {
		out = clear
	}
	return out, f
}

// kinded has the faults of a decoder be as those of the calls.
func kinded(decode func(catalog.Input) (catalog.Decoded, error)) func(catalog.Input) (catalog.Decoded, error) {
	return func(in catalog.Input) (catalog.Decoded, error) {
		out, err := decode(in)
		if err != nil {
			err = withKind(fault.From(err))
		}
		return out, err
	}
}

// replaceError puts a fault in place of the one of a failure's body.
func replaceError(body json.RawMessage, f *fault.Fault) (json.RawMessage, bool) {
	var members map[string]json.RawMessage
	if json.Unmarshal(body, &members) != nil || members["error"] == nil {
		return nil, false
	}
	raw, err := wire.Marshal(f)
	if err != nil {
		return nil, false
	}
	members["error"] = raw
	out, err := wire.Marshal(members)
	return out, err == nil
}

// withKind adds the name that a fault has in gateway-code-mode-contract, as details.kind.
// Details that are a list of problems are in details.problems.
func withKind(f *fault.Fault) *fault.Fault {
	entry, _ := fault.Lookup(f.Code)
	details := map[string]any{"kind": entry.GatewayKind()}
	switch known := f.Details.(type) {
	case nil:
	case map[string]any:
		maps.Copy(details, known)
	default:
		details["problems"] = known
	}
	return f.WithDetails(details)
}
