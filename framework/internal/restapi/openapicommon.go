package restapi

import (
	"net/http"

	"github.com/koan-go/koan/framework/fault"
)

// serverTypes adds the schemas that every app has.
func (b *builder) serverTypes() {
	var codes []string
	for _, e := range fault.Entries() {
		codes = append(codes, string(e.Code))
	}
	str := func(about string) node { return node{"type": "string", "description": about} }
	of := func(properties node, required ...string) node {
		return node{"type": "object", "properties": properties, "required": required}
	}
	faulty := node{
		"code": node{"type": "string", "enum": codes, "description": "What kind of failure it is."}, "message": str("What is wrong."), "hint": str("What to do next."),
		"path": str("JSON Pointer into the body, or the name of a query parameter."), "details": node{"description": "Several problems, or numbers about the one."},
		"retry": node{"type": "string", "enum": []string{"safe", "fix", "never"}, "description": "Whether trying again can succeed: as it is, after a change, or not at all."},
		"line":  node{"type": "integer"}, "column": node{"type": "integer"}, "source": str("The line of the script."),
	}
	problem := node{
		"type": str("The kind of failure, as a URN."), "title": str("What that kind is."), "status": node{"type": "integer", "description": "The HTTP status."}, "detail": str("The message."),
	}
	for name, s := range faulty {
		problem[name] = s
	}
	b.schemas["Fault"] = of(faulty, "code", "message", "hint", "retry")
	b.schemas["Problem"] = of(problem, "type", "title", "status", "detail", "code", "message", "hint", "retry")
	b.schemas["Meta"] = of(node{
		"schemaVersion": str("Of the contract."), "toolVersion": str("Of the build."), "ts": str("When the response was made."), "durationMs": node{"type": "integer"},
		"runId": str("The run that the response is of."), "attempts": node{"type": "integer"}, "metrics": anyObject(),
	}, "schemaVersion", "toolVersion", "ts", "durationMs")
	b.schemas["Envelope"] = of(node{
		"ok": node{"type": "boolean"}, "result": anyObject(), "error": reference("Fault"), "_meta": reference("Meta"),
	}, "ok", "_meta")
}

// envelopeOf returns a response with the envelope.
func envelopeOf(about string) node {
	return node{"description": about, "content": node{jsonType: node{"schema": reference("Envelope")}}}
}

// state describes a route about the server's state.
func (b *pathSet) state(path, id, summary, description string, response node) {
	b.add(path, http.MethodGet, node{
		"operationId": id, "summary": summary, "description": description, "tags": []string{"Server"},
		"responses": node{"200": response, "4XX": problemResponse, "5XX": problemResponse},
	})
}

func (b *builder) health() {
	b.state(healthPath, "health", "Whether the server answers", "Needs no token.", envelopeOf("The envelope."))
}

func (b *builder) status() {
	b.state(statusPath, "status", "The state of the server", "Whether calls can be served, and what is missing if not.", envelopeOf("The envelope."))
}

func (b *builder) statusStream() {
	b.state(statusPath+"/stream", "statusStream", "The state of the server as events", "The same as /status, as server-sent events.",
		node{"description": "Events `start`, `result` or `error`, `done`, each with an envelope as its data.", "content": node{eventsType: node{"schema": node{"type": "string"}}}})
}

// anyTool describes the route of tools.
func (b *builder) anyTool() {
	ok := envelopeOf("What the tool returned.")
	ok["content"].(node)[eventsType] = node{"schema": node{"type": "string"}}
	b.add(toolsPath+"{name}", http.MethodPost, node{
		"operationId": "callTool", "summary": "Call any tool", "tags": []string{"Server"},
		"description": "The body is the tool's input. With `Accept: text/event-stream` the response is a stream of the events `start`, `progress`, `result` or `error`, `done`.",
		"parameters":  []node{{"name": "name", "in": "path", "required": true, "description": "The tool's name, as tools/list of MCP has it.", "schema": node{"type": "string"}}, keyParameter},
		"requestBody": b.body(anyObject(), nil, jsonType),
		"responses":   node{"200": ok, "4XX": envelopeOf("Why the call failed."), "5XX": envelopeOf("Why the call failed.")},
	})
}

// events describes the stream of changes.
func (b *builder) events() {
	parameter := func(name, in, about string) node {
		return node{"name": name, "in": in, "description": about, "schema": node{"type": "string"}}
	}
	b.add(eventsPath, http.MethodGet, node{
		"operationId": "events", "summary": "Committed changes, as they happen", "tags": []string{"Server"},
		"description": "A stream of server-sent events that does not end by itself. The data of `change` is `{entity, set, id, action, before, after, runId}`: the action is create, update or delete as the caller sees it, before and after are the entity as it could and can read it, or null. Before its end comes `error` with a Problem. 410 says that what follows the last event is not kept any more.",
		"parameters": []node{
			parameter("entity", "query", "Names of entities, separated by commas; all that the caller may read without it."),
			parameter("set", "query", "Names of sets, separated by commas; all that the caller may use without it."),
			parameter("filter", "query", "A filter of the rows of the one entity that `entity` names, as JSON: changes of rows that it matches before or after. A row that begins to match is a create, one that ceases to a delete."),
			parameter(lastIDHeader, "header", "The id of the last event that the client has; the stream continues after it."),
			parameter(lastIDParameter, "query", "The same, for clients that cannot set the header."),
		},
		"responses": node{
			"200": node{"description": "The stream.", "content": node{eventsType: node{"schema": node{"type": "string"}}}},
			"4XX": problemResponse, "5XX": problemResponse,
		},
	})
}
