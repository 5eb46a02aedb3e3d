package schema

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
)

// A fault about a union is about the branch that was meant, and does not contradict itself.
func TestUnionsAreExplainedByTheBranchThatWasMeant(t *testing.T) {
	t.Parallel()
	const (
		tagged  = `{"oneOf":[{"type":"object","properties":{"t":{"const":"a"},"v":{"type":"integer"}},"required":["t","v"]},{"type":"object","properties":{"t":{"const":"b"},"n":{"type":"string"}},"required":["t","n"]}]}`
		byRef   = `{"anyOf":[{"$ref":"#/$defs/Circle"},{"$ref":"#/$defs/Square"}],"$defs":{"Circle":{"type":"object","properties":{"r":{"type":"number"}},"required":["r"],"additionalProperties":false},"Square":{"type":"object","properties":{"side":{"type":"number"},"unit":{"type":"string"}},"required":["side","unit"],"additionalProperties":false}}}`
		titled  = `{"anyOf":[{"title":"By name","required":["first","last"],"properties":{"first":{"type":"string"}}},{"title":"By key","required":["key"],"properties":{"key":{"type":"integer"}}}]}`
		colours = `{"oneOf":[{"properties":{"t":{"const":"a"},"colour":{"enum":["red","blue"]}},"required":["t"]},{"properties":{"t":{"const":"b"}},"required":["t"]}]}`
		nested  = `{"anyOf":[{"type":"null"},{"anyOf":[{"type":"string","minLength":3},{"type":"array","items":{"oneOf":[{"type":"integer"},{"enum":["all"]}]}}]}]}`
	)
	for name, tt := range map[string]struct{ schema, value, path, message string }{
		"a member is missing":             {tagged, `{"t":"a"}`, "/v", `"v" is missing, where t is "a"`},
		"of the second branch":            {tagged, `{"t":"b"}`, "/n", `"n" is missing, where t is "b"`},
		"a member is of another type":     {tagged, `{"t":"b","n":5}`, "/n", `must be string, not number, where t is "b"`},
		"a constant that is none":         {tagged, `{"t":"c","n":5}`, "/t", `must be one of "a", "b"`},
		"no constant":                     {tagged, `{"v":5}`, "/t", `"t" is missing, where t is "a"`},
		"nothing":                         {tagged, `{}`, "", `must have "t" and "v", or "t" and "n"`},
		"no object":                       {tagged, `5`, "", `must be object, not number`},
		"branches of definitions":         {byRef, `{"side":1}`, "/unit", `"unit" is missing, in the form Square`},
		"a member that is of no branch":   {byRef, `{"r":1,"x":1}`, "/x", `there is no "x" here, in the form Circle`},
		"branches with titles":            {titled, `{"first":"x"}`, "", `must have "last", or "key"`},
		"a title":                         {titled, `{"key":"x"}`, "/key", `must be integer, not string, in the form By key`},
		"an enum beside the constant":     {colours, `{"t":"a","colour":"pink"}`, "/colour", `must be one of "red", "blue", where t is "a"`},
		"null or a value":                 {`{"anyOf":[{"type":"string","minLength":2},{"type":"null"}]}`, `"a"`, "", `must have at least 2 characters, not 1`},
		"null or another type":            {`{"anyOf":[{"type":"string"},{"type":"null"}]}`, `5`, "", `must be string or null, not number`},
		"constants, one by one":           {`{"anyOf":[{"const":"a"},{"const":"b"},{"type":"null"}]}`, `"c"`, "", `must be one of "a", "b" or null`},
		"a union in a union":              {nested, `5`, "", `must be null or string or array, not number`},
		"a union in a list in a union":    {nested, `[1,"some"]`, "/1", `must be "all" or integer`},
		"a branch without a name":         {`{"anyOf":[{"properties":{"a":{"minimum":1}}},{"properties":{"a":{"minimum":2},"b":false}}]}`, `{"a":0,"b":1}`, "/a", `must be at least 1, not 0, in the form 1 of 2`},
		"the branch of a nullable member": {`{"nullable":true,"oneOf":[{"type":"object","required":["x"]}]}`, `{}`, "/x", `"x" is missing`},
	} {
		t.Run(name, func(t *testing.T) {
			f := fault.From(Check(json.RawMessage(tt.schema), json.RawMessage(tt.value)))
			require.Equal(t, fault.InvalidPayload, f.Code)
			details, _ := f.Details.([]fault.Detail)
			require.Len(t, details, 1)
			require.Equal(t, tt.message, details[0].Message)
			require.Equal(t, tt.path, details[0].Path)
		})
	}
}

// Schemas of OpenAPI and of earlier versions are read as they were meant, also where they do not say
// what they are.
func TestOtherDialects(t *testing.T) {
	t.Parallel()
	const tuple = `"type":"array","items":[{"type":"string"},{"type":"integer"}],"additionalItems":false`
	for name, tt := range map[string]struct{ schema, takes, refuses string }{
		"nullable":                          {`{"type":"string","nullable":true}`, `null`, `5`},
		"nullable, of several types":        {`{"type":["string","integer"],"nullable":true}`, `null`, `true`},
		"nullable, of an enum":              {`{"type":"string","enum":["a"],"nullable":true}`, `null`, `"b"`},
		"nullable, of an enum with null":    {`{"enum":["a",null],"nullable":true}`, `null`, `"b"`},
		"nullable, of a constant":           {`{"const":"a","nullable":true}`, `null`, `"b"`},
		"nullable, of a reference":          {`{"$ref":"#/$defs/A","nullable":true,"$defs":{"A":{"type":"string"}}}`, `null`, `5`},
		"nullable, of a reference inside":   {`{"properties":{"a":{"$ref":"#/$defs/A","nullable":true}},"$defs":{"A":{"type":"string"}}}`, `{"a":null}`, `{"a":5}`},
		"nullable, of all of several":       {`{"allOf":[{"type":"object","required":["a"]}],"nullable":true}`, `null`, `{}`},
		"nullable, of one of several":       {`{"type":"object","oneOf":[{"required":["a"]}],"nullable":true}`, `null`, `{}`},
		"nullable: false":                   {`{"type":"string","nullable":false}`, `"a"`, `null`},
		"a member that is called nullable":  {`{"properties":{"nullable":{"type":"boolean"}},"required":["nullable"]}`, `{"nullable":true}`, `{"nullable":null}`},
		"a default that has nullable":       {`{"properties":{"a":{"default":{"type":"string","nullable":true},"type":"string"}}}`, `{"a":"b"}`, `{"a":null}`},
		"a tuple without a version":         {`{` + tuple + `}`, `["a",1]`, `[1,"a"]`},
		"a tuple that ends":                 {`{` + tuple + `}`, `["a"]`, `["a",1,2]`},
		"a tuple inside":                    {`{"properties":{"p":{` + tuple + `}}}`, `{"p":["a",1]}`, `{"p":[1]}`},
		"a tuple that says 2020-12":         {`{"$schema":"https://json-schema.org/draft/2020-12/schema",` + tuple + `}`, `["a",1]`, `[1,"a"]`},
		"a tuple of draft 7":                {`{"$schema":"http://json-schema.org/draft-07/schema#",` + tuple + `}`, `["a",1]`, `[1,"a"]`},
		"a tuple of 2020-12":                {`{"prefixItems":[{"type":"string"},{"type":"integer"}],"items":false}`, `["a",1]`, `["a",1,2]`},
		"a tuple of 2020-12, in draft 7":    {`{"$schema":"http://json-schema.org/draft-07/schema#","prefixItems":[{"type":"string"}],"items":{"type":"integer"}}`, `["a",1]`, `[1,1]`},
		"tuples of both":                    {`{"properties":{"a":{` + tuple + `},"b":{"prefixItems":[{"type":"string"}],"items":false}}}`, `{"a":["a"],"b":["b"]}`, `{"b":["b",1]}`},
		"a reference into a tuple":          {`{"properties":{"a":{` + tuple + `},"b":{"$ref":"#/properties/a/items/1"}}}`, `{"b":1}`, `{"b":"x"}`},
		"what 2020-12 adds, beside a tuple": {`{"properties":{"a":{` + tuple + `},"b":{"$ref":"#/$defs/B","minLength":2}},"dependentRequired":{"a":["b"]},"$defs":{"B":{"type":"string"}}}`, `{"a":["x"],"b":"xy"}`, `{"a":["x"]}`},
		"an exclusive bound of OpenAPI":     {`{"type":"number","minimum":0,"exclusiveMinimum":true}`, `0.1`, `0`},
		"an inclusive bound of OpenAPI":     {`{"type":"number","maximum":5,"exclusiveMaximum":false}`, `5`, `6`},
		"an exclusive bound of draft 4":     {`{"$schema":"http://json-schema.org/draft-04/schema#","maximum":5,"exclusiveMaximum":true}`, `4`, `5`},
	} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, Check(json.RawMessage(tt.schema), json.RawMessage(tt.takes)))
			require.Equal(t, fault.InvalidPayload, fault.CodeOf(Check(json.RawMessage(tt.schema), json.RawMessage(tt.refuses))))
		})
	}
}
