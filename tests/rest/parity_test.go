package rest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/tests/soak"
)

// step is one call, whatever it is made by.
type step struct {
	entity string
	op     catalog.EntityOperation
	input  map[string]any
}

// outcome is what a step gave: an output, or the code of a fault and its place in the input.
type outcome struct {
	Output any    `json:"output,omitempty"`
	Code   string `json:"code,omitempty"`
	Path   string `json:"path,omitempty"`
}

// placeless is an outcome without the place: REST has parts of some inputs elsewhere.
func (o outcome) placeless() outcome {
	o.Path = ""
	return o
}

// generated are values that differ from app to app: ids, times, cursors.
var generated = regexp.MustCompile(`"[0-9a-f]{8}-[0-9a-f-]{27}"|"\d{4}-\d\d-\d\dT[^"]*"|"(nextCursor)":"[^"]*"`)

func (o outcome) String() string {
	raw, _ := json.Marshal(o)
	return string(generated.ReplaceAll(raw, []byte(`"…"`)))
}

// stepsOf are steps for every operation of every entity: its example, inputs that find
// something, and wrong ones. id is that of a row that each app has.
func stepsOf(t *testing.T, s *server, entity string) (steps []step) {
	view := s.kit.Instance().Snapshot()
	id := "77" // an id of any type
	if rows, _ := s.do("GET", "/api/"+catalog.Kebab(entity)+"?pageSize=1", "").object(http.StatusOK)["items"].([]any); len(rows) > 0 {
		id = rows[0].(map[string]any)["id"].(string)
	}
	for op := range catalog.EntityOperations() {
		known := view.Operation(catalog.EntityID(entity, op.Name))
		if known == nil {
			continue
		}
		add := func(input map[string]any) { steps = append(steps, step{entity, op, input}) }
		var example map[string]any
		if json.Unmarshal(known.Example, &example) == nil && example != nil {
			add(example)
		}
		switch op.Name {
		case "collection":
			add(map[string]any{"pageSize": 2, "sort": "-id", "count": true})
			add(map[string]any{"filter": map[string]any{"id": id}, "fields": "id"})
			add(map[string]any{"pageSize": 0})
			add(map[string]any{"filter": map[string]any{"bogus": 1}})
			add(map[string]any{"set": "nowhere"})
		case "get-by-id":
			add(map[string]any{"id": id})
			add(map[string]any{"id": id, "with": "bogus"})
			add(map[string]any{"id": "88"})
		case "count", "aggregate":
			add(map[string]any{"filter": map[string]any{"bogus": 1}})
		case "new":
			add(map[string]any{"set": "nowhere"})
		case "create":
			add(map[string]any{"model": map[string]any{"bogus": 1}})
			add(map[string]any{"model": map[string]any{"id": id}})
		case "upsert":
			add(map[string]any{"model": map[string]any{"bogus": 1}})
			add(map[string]any{"model": map[string]any{"id": id}})
		case "upsert-many":
			add(map[string]any{"models": []any{map[string]any{"bogus": 1}}})
			add(map[string]any{"models": []any{}})
		case "patch":
			add(map[string]any{"id": id, "changes": map[string]any{"bogus": 1}})
			add(map[string]any{"id": "88", "changes": map[string]any{}})
		case "update-by-query":
			add(map[string]any{"filter": map[string]any{"id": id}, "changes": map[string]any{"bogus": 1}})
			add(map[string]any{"filter": map[string]any{}, "changes": map[string]any{}})
		case "delete-by-query":
			add(map[string]any{"filter": map[string]any{}})
		case "delete":
			add(map[string]any{"id": "88"})
			add(map[string]any{"id": id})
		case "delete-many":
			add(map[string]any{"ids": []any{"88", "89"}})
			add(map[string]any{"ids": []any{map[string]any{}}})
		}
	}
	return steps
}

// tool calls the tool of a step.
func (s *server) tool(st step) outcome {
	return s.callTool(catalog.EntityID(st.entity, st.op.Name), st.input)
}

// callTool calls the tool of an operation.
func (s *server) callTool(id catalog.ID, input map[string]any) outcome {
	body, _ := json.Marshal(input)
	name := s.kit.Instance().Snapshot().ToolName(id)
	message := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`, name, body)
	r := s.do("POST", "/mcp", message, "Accept", "application/json, text/event-stream", "Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", name)
	var got struct {
		Result struct {
			StructuredContent map[string]any
			IsError           bool
		}
		Error *struct{ Data struct{ Code, Path string } }
	}
	require.NoError(s.t, json.Unmarshal(r.body, &got), "%s", r.body)
	switch {
	case got.Error != nil:
		return outcome{Code: got.Error.Data.Code, Path: got.Error.Data.Path}
	case got.Result.IsError:
		return refusal(got.Result.StructuredContent["error"].(map[string]any))
	}
	return outcome{Output: got.Result.StructuredContent}
}

// rest makes a step by one of the routes of its operation.
func (s *server) rest(st step, route catalog.Route) outcome {
	input := maps.Clone(st.input)
	path, body := "/api/"+catalog.Kebab(st.entity), ""
	if route.Suffix != "" {
		path += ":" + route.Suffix
	}
	if route.Item {
		id, _ := input["id"].(string)
		path += "/" + url.PathEscape(id)
		delete(input, "id")
	}
	switch {
	case route.Body != "":
		raw, _ := json.Marshal(input[route.Body])
		body = string(raw)
	case route.Suffix != "":
		raw, _ := json.Marshal(input)
		body = string(raw)
	}
	if route.Suffix == "" {
		query := url.Values{}
		for name, value := range input {
			if name == route.Body {
				continue
			}
			text, isText := value.(string)
			if !isText {
				raw, _ := json.Marshal(value)
				text = string(raw)
			}
			query.Set(name, text)
		}
		path += "?" + query.Encode()
	}
	return s.ask(route.Method, strings.TrimSuffix(path, "?"), body)
}

// ask sends a request of REST.
func (s *server) ask(method, path, body string) outcome {
	r := s.do(method, path, body)
	var got map[string]any
	require.NoError(s.t, json.Unmarshal(r.body, &got), "%s", r.body)
	if r.status >= 300 {
		return refusal(got)
	}
	return outcome{Output: got}
}

// refusal is the outcome that is a fault.
func refusal(fault map[string]any) outcome {
	path, _ := fault["path"].(string)
	return outcome{Code: fault["code"].(string), Path: path}
}

// script is the expression by which a script makes a step.
func (st step) script() string {
	rest := maps.Clone(st.input)
	var arguments []string
	for _, name := range st.op.Arguments {
		raw, _ := json.Marshal(rest[name])
		if _, ok := rest[name]; !ok {
			raw = []byte("undefined")
		}
		arguments = append(arguments, string(raw))
		delete(rest, name)
	}
	raw, _ := json.Marshal(rest)
	return "SDK.Entities." + st.entity + "." + st.op.Methods[0].Name + "(" + strings.Join(append(arguments, string(raw)), ", ") + ")"
}

// guarded is a script that gives what an expression gives, as an outcome.
func guarded(expression string) string {
	return "(() => { try { return {output: " + expression + "} } catch (e) { return {code: e.code, path: e.path} } })()"
}

// execute runs an expression in a script.
func (s *server) execute(expression string) (o outcome) {
	body, _ := json.Marshal(map[string]any{"code": guarded(expression)})
	got := s.do("POST", "/tools/koan.code.execute", string(body)).object(http.StatusOK)["result"].(map[string]any)["result"]
	raw, _ := json.Marshal(got)
	require.NoError(s.t, json.Unmarshal(raw, &o))
	return o
}

// asMethod is an outcome as the method of the SDK gives it.
func (o outcome) asMethod(op catalog.EntityOperation) outcome {
	if whole, ok := o.Output.(map[string]any); ok && op.Output != "" {
		o.Output = whole[op.Output]
	}
	return o
}

// The same input gives the same output, and the same fault, by tool, script, REST and command
// line: for every operation of every entity. Each has an app of its own, so that all find the
// same.
func TestParity(t *testing.T) {
	t.Parallel()
	hasParity(t, "fixture")
}

func TestParityOfPantryPal(t *testing.T) {
	soak.Proof(t)
	t.Parallel()
	hasParity(t, "pantrypal")
}

func hasParity(t *testing.T, name string) {
	t.Helper()
	app := apps[name]
	style := koantest.Setting{Key: "tools.style", Value: "perEntity"}
	byTool, byREST, byScript := serve(t, app(), framework.HTTPOptions{}, style), serve(t, app(), framework.HTTPOptions{}), serve(t, app(), framework.HTTPOptions{})
	var entities []string
	for _, r := range byTool.kit.Instance().Snapshot().Resources() {
		if !strings.HasPrefix(r.Name, "Koan") { // the journal, which each call adds to
			entities = append(entities, r.Name)
		}
	}
	require.NotEmpty(t, entities)
	command := &commandLine{t: t, app: name, data: t.TempDir()}
	seen := map[string]bool{}
	for _, entity := range entities {
		tool, rest, script := stepsOf(t, byTool, entity), stepsOf(t, byREST, entity), stepsOf(t, byScript, entity)
		require.Len(t, rest, len(tool))
		want := make([]outcome, len(tool))
		for i := range tool {
			want[i] = byTool.tool(tool[i])
			routes := tool[i].op.Routes
			for _, route := range routes {
				if route.Replace || route.Method == "GET" && route.Item && rest[i].input["id"] == nil {
					continue // an input of its own
				}
				seen[entity+"."+tool[i].op.Name] = true
				require.Equal(t, want[i].placeless().String(), byREST.rest(rest[i], route).placeless().String(), "%s %s: %v", tool[i].op.Name, route.Method, rest[i].input)
				if tool[i].op.Access.Writes() {
					break // once
				}
			}
			require.Equal(t, want[i].asMethod(tool[i].op).String(), byScript.execute(script[i].script()).String(), "script: %s", script[i].script())
		}
		for i, got := range command.run(entity, script) {
			require.Equal(t, want[i].asMethod(tool[i].op).String(), got.String(), "run: %s", script[i].script())
		}
	}
	for _, e := range entities {
		for _, op := range byTool.kit.Instance().Snapshot().Resource(e).Operations {
			require.True(t, seen[e+"."+op], "%s.%s was not tried", e, op)
		}
	}
}

// commandLine makes steps with `APP run`, in a process and with data of its own.
type commandLine struct {
	t         *testing.T
	app, data string
	env       []string
}

// run makes the steps of an entity in one script.
func (c *commandLine) run(entity string, steps []step) []outcome {
	c.t.Helper()
	// The ids are those of another app: the script finds its own.
	var parts []string
	for _, st := range steps {
		parts = append(parts, guarded(st.script()))
	}
	code := "[" + strings.Join(parts, ",\n") + "]"
	if id := idOf(steps); id != "" && generated.MatchString(`"`+id+`"`) {
		code = "const own = SDK.Entities." + entity + ".collection({pageSize: 1}).items[0].id;\n" + strings.ReplaceAll(code, `"`+id+`"`, "own")
	}
	outcomes := c.execute(code)
	require.Len(c.t, outcomes, len(steps))
	return outcomes
}

// execute runs a script that gives outcomes.
func (c *commandLine) execute(code string) []outcome {
	c.t.Helper()
	self, err := os.Executable()
	require.NoError(c.t, err)
	cmd := exec.Command(self, "run", "-", "--atomic=false")
	cmd.Dir, cmd.Stdin = c.t.TempDir(), strings.NewReader(code)
	cmd.Env = append(c.env, as+"="+c.app, "HOME="+c.t.TempDir(), "PATH="+os.Getenv("PATH"), "KOAN_DATABASE=sqlite://"+filepath.Join(c.data, "data"), "KOAN_LOG_LEVEL=error")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(c.t, err, "%s %s", out, stderr.String())
	var line struct {
		Result struct{ Data []outcome }
	}
	require.NoError(c.t, json.Unmarshal(out, &line), "%s", out)
	return line.Result.Data
}

// idOf is the id of the row that the steps are about, "" for none.
func idOf(steps []step) string {
	i := slices.IndexFunc(steps, func(s step) bool { return s.op.Name == "get-by-id" && s.input["id"] != nil })
	if i < 0 {
		return ""
	}
	id, _ := steps[i].input["id"].(string)
	return id
}
