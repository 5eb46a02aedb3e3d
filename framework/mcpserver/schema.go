package mcpserver

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/koan-go/koan/framework/catalog"
)

// failureSchema is the shape of a failed tool (CONTRACT sections 2 and 4). It names
// what is always there and no more: it stands in every tool, and clients read all
// of them.
const failureSchema = `{"required":["success","error"],"properties":{"success":{"const":false},"error":{"type":"object"}}}`

// inputSchema is the operation's input with its example.
func inputSchema(op *catalog.Operation) json.RawMessage {
	schema := compact(op.Input)
	var members map[string]json.RawMessage
	if len(op.Example) == 0 || json.Unmarshal(schema, &members) != nil || members["examples"] != nil {
		return schema
	}
	out := bytes.TrimSuffix(schema, []byte("}"))
	if len(members) > 0 {
		out = append(out, ',')
	}
	out = append(out, `"examples":[`...)
	out = append(out, compact(op.Example)...)
	return append(out, "]}"...)
}

// outputSchema admits success or failure: clients check structuredContent
// against it in both cases, and want an object at the root.
func outputSchema(op *catalog.Operation) json.RawMessage {
	success, defs := hoisted(op.Output)
	if wrapped(op) {
		success = json.RawMessage(`{"type":"object","required":["result"],"properties":{"result":` + string(success) + `}}`)
	}
	var b bytes.Buffer
	b.WriteString(`{"type":"object","anyOf":[`)
	b.Write(success)
	b.WriteString("," + failureSchema + "]")
	for _, d := range defs {
		b.WriteString(`,"` + d.name + `":`)
		b.Write(d.schema)
	}
	b.WriteString("}")
	return b.Bytes()
}

// wrapped tells whether the operation's result is no object, and so stands under
// "result".
func wrapped(op *catalog.Operation) bool {
	var s struct {
		Type json.RawMessage `json:"type"`
	}
	if json.Unmarshal(op.Output, &s) != nil {
		return true // true and false are schemas too
	}
	return len(s.Type) > 0 && string(s.Type) != `"object"`
}

type definitions struct {
	name   string
	schema json.RawMessage
}

// hoisted takes the definitions out of a schema, so that it can stand inside
// another one: references to them are from the root. References to other parts
// of the schema are moved to where it will stand.
func hoisted(schema json.RawMessage) (json.RawMessage, []definitions) {
	schema = compact(schema)
	var members map[string]json.RawMessage
	if json.Unmarshal(schema, &members) != nil || members["$id"] != nil {
		return schema, nil
	}
	refs := bytes.Contains(schema, []byte(`"$ref"`)) || bytes.Contains(schema, []byte(`"$dynamicRef"`))
	if !refs && members["$schema"] == nil && members["$defs"] == nil && members["definitions"] == nil {
		return schema, nil
	}
	var defs []definitions
	for _, name := range []string{"$defs", "definitions"} {
		if d := members[name]; d != nil {
			defs = append(defs, definitions{name, moved(d)})
		}
	}
	for _, name := range []string{"$schema", "$defs", "definitions"} {
		delete(members, name)
	}
	rest, err := encode(members) // members in a fixed order: by name
	if err != nil {
		return schema, nil
	}
	return moved(rest), defs
}

// moved rewrites references to the root of a schema that now stands at
// #/anyOf/0.
func moved(schema json.RawMessage) json.RawMessage {
	if !bytes.Contains(schema, []byte(`"#`)) {
		return schema
	}
	dec := json.NewDecoder(bytes.NewReader(schema))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return schema
	}
	out, err := encode(moveRefs(v))
	if err != nil {
		return schema
	}
	return out
}

func moveRefs(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = moveRefs(v[i])
		}
	case map[string]any:
		for k, member := range v {
			ref, isText := member.(string)
			if (k == "$ref" || k == "$dynamicRef") && isText {
				own := strings.HasPrefix(ref, "#/$defs/") || strings.HasPrefix(ref, "#/definitions/")
				if ref == "#" || strings.HasPrefix(ref, "#/") && !own {
					v[k] = "#/anyOf/0" + ref[1:]
				}
				continue
			}
			v[k] = moveRefs(member)
		}
	}
	return v
}

// compact takes the blanks out of JSON that a snapshot has checked.
func compact(raw json.RawMessage) json.RawMessage {
	if out, ok := compacted(raw); ok {
		return out
	}
	return json.RawMessage("{}")
}

// compacted takes the blanks out of what may be no JSON.
func compacted(raw json.RawMessage) (out json.RawMessage, ok bool) {
	b := bytes.NewBuffer(make([]byte, 0, len(raw)))
	if json.Compact(b, raw) != nil {
		return nil, false
	}
	return b.Bytes(), true
}
