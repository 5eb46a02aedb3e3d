package schema

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
)

func TestHugeNumbersAreReportedByPath(t *testing.T) {
	anything := json.RawMessage(`{}`)
	for text, path := range map[string]string{
		`1e999`:                   "",
		`[1,[2,3e-500]]`:          "/1/1",
		`{"a":[1,{"b/c":1e401}]}`: "/a/1/b~1c",
	} {
		f := fault.From(Check(anything, json.RawMessage(text)))
		require.Equal(t, fault.InvalidPayload, f.Code, text)
		require.Equal(t, path, f.Path, text)
		require.Contains(t, f.Message, "out of range", text)
	}
	require.NoError(t, Check(anything, json.RawMessage(`{"a":[1e300,{"b":-1.5e-300}]}`)))
}

// What a value does not keep to is said as entities say it.
func TestViolationsReadWell(t *testing.T) {
	schema := json.RawMessage(`{"type":"object","properties":{
		"n":{"exclusiveMinimum":0,"maximum":10.5},"t":{"type":"string","minLength":1,"maxLength":3,"pattern":"\\S"},"e":{"enum":["a",1,null]},"c":{"const":"x"},
		"l":{"maxItems":1,"uniqueItems":true},"d":{"format":"date"},"x":false,"m":{"multipleOf":2,"minimum":-1e300},"o":{"oneOf":[{"type":"string"},{"maxLength":2}]},"code":{"pattern":"^[a-z]+$"}}}`)
	for input, want := range map[string]string{
		`{"n":0}`: "must be more than 0, not 0", `{"n":1e30}`: "must be at most 10.5, not 1e+30", `{"t":""}`: "must have at least 1 character, not 0", `{"t":"four"}`: "must have at most 3 characters, not 4",
		`{"t":"  "}`: "must not be blank", `{"t":5}`: "must be string, not number", `{"e":"b"}`: `must be one of "a", 1, null`, `{"c":"y"}`: `must be "x"`, `{"l":[1,2]}`: "must have at most 1 item, not 2",
		`{"x":1}`: "must not be here", `{"m":3}`: "must be a multiple of 2, not 3", `{"o":"b"}`: "has several of the forms of the schema, and must have one", `{"code":"A1"}`: "must match the pattern ^[a-z]+$",
	} {
		f := fault.From(Check(schema, json.RawMessage(input)))
		require.Equal(t, fault.InvalidPayload, f.Code, input)
		details, _ := f.Details.([]fault.Detail)
		require.NotEmpty(t, details, input)
		require.Equal(t, want, details[0].Message, input)
		if len(details) == 1 {
			require.Equal(t, fault.Subject(details[0].Path)+" "+want, f.Message, "alone, it says what it is about")
		}
	}
}

// The same input gets the same fault, with its problems in the same order.
func TestViolationsHaveAnOrder(t *testing.T) {
	schema := json.RawMessage(`{"type":"object","required":["z","y"],"properties":{"a":{"type":"string"},"b":{"type":"string"},"c":{"type":"string"},"l":{"items":{"type":"string"}}},"additionalProperties":false}`)
	input := json.RawMessage(`{"c":1,"b":2,"a":3,"l":[0,"x",0,0,0,0,0,0,0,0,0,0],"w":1,"v":2,"u":3}`)
	first := fault.From(Check(schema, input)).Message
	for range 50 {
		require.Equal(t, first, fault.From(Check(schema, input)).Message)
	}
	require.Regexp(t, `"z" is missing.*"y" is missing`, first)
	require.Regexp(t, `/u: .*/v: .*/w: `, first)
	require.Regexp(t, `/a: .*/b: .*/c: .*/l/2: .*/l/10: `, first)
}
