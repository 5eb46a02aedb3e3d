package typegen

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/tests/pytypes"
)

func TestReferencesAndAlternatives(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, schema, input, output, types string }{
		{
			"a reference is the type of its target, which has one name",
			`{"properties":{"a":{"$ref":"#/$defs/user"},"b":{"$ref":"#/$defs/user"}},"$defs":{"user":{"type":"object","properties":{"id":{"type":"string"}}}}}`,
			"FInput", "FOutput",
			`FInputUser = TypedDict("FInputUser", {"id": _str, }, total=False)
FInput = TypedDict("FInput", {"a": FInputUser, "b": FInputUser, }, total=False)
class FOutputUser(_Row):
    __slots__ = ()
    id: _str

class FOutput(_Row):
    __slots__ = ()
    a: FOutputUser
    b: FOutputUser

`,
		},
		{
			"a target may refer to itself, and to the whole",
			`{"properties":{"up":{"$ref":"#"},"n":{"$ref":"#/definitions/n"}},"definitions":{"n":{"properties":{"next":{"$ref":"#/definitions/n"}}}}}`,
			"FInput", "FOutput",
			`FInputN = TypedDict("FInputN", {"next": FInputN, }, total=False)
FInput = TypedDict("FInput", {"n": FInputN, "up": FInput, }, total=False)
class FOutputN(_Row):
    __slots__ = ()
    next: FOutputN

class FOutput(_Row):
    __slots__ = ()
    n: FOutputN
    up: FOutput

`,
		},
		{
			"alternatives are a union, whichever word says so",
			`{"anyOf":[{"type":"string"},{"oneOf":[{"type":"integer"},{"type":"null"}]},{"allOf":[{"type":"string"}]}]}`,
			"Union[_str, Union[_int, None]]", "Union[_str, Union[_int, None]]", "",
		},
		{
			"the whole may be a reference, or one of several objects",
			`{"$ref":"#/$defs/f","$defs":{"f":{"anyOf":[{"properties":{"a":{"type":"string"}}},{"properties":{"b":{"type":"string"}}}]}}}`,
			"Union[FInput, FInput2]", "Union[FOutputF, FOutputF2]",
			`FInput = TypedDict("FInput", {"a": _str, }, total=False)
FInput2 = TypedDict("FInput2", {"b": _str, }, total=False)
class FOutputF(_Row):
    __slots__ = ()
    a: _str

class FOutputF2(_Row):
    __slots__ = ()
    b: _str

`,
		},
		{
			"a long type that several refer to has a name",
			`{"properties":{"a":{"$ref":"#/$defs/s"}},"$defs":{"s":{"enum":["a long word","another long word","the last"]}}}`,
			"FInput", "FOutput",
			`FInputS = Literal["a long word", "another long word", "the last"]
FInput = TypedDict("FInput", {"a": FInputS, }, total=False)
FOutputS = Literal["a long word", "another long word", "the last"]
class FOutput(_Row):
    __slots__ = ()
    a: FOutputS

`,
		},
		{
			"an alternative that says nothing, another document and a circle without an object admit anything",
			`{"properties":{"a":{"anyOf":[{"type":"string"},{}]},"b":{"$ref":"x.json"},"c":{"$ref":"#/properties/c"},"d":{"$ref":"#/nowhere"}}}`,
			"FInput", "FOutput",
			`FInput = TypedDict("FInput", {"a": Any, "b": Any, "c": Any, "d": Any, }, total=False)
class FOutput(_Row):
    __slots__ = ()
    a: Any
    b: Any
    c: Any
    d: Any

`,
		},
		{
			"what a schema says itself counts before its alternatives",
			`{"type":"string","anyOf":[{"minLength":1},{"enum":["a"]}]}`,
			"Mapping[_str, Any]", "_str", "",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			g := &generator{taken: map[string]bool{}}
			in, out := g.inputs("FInput", json.RawMessage(c.schema)).input(), g.outputs("FOutput", json.RawMessage(c.schema)).output()
			require.Equal(t, []string{c.input, c.output, c.types}, []string{in.whole, out, g.types.String()})
		})
	}
}

// Types that double with each reference stay short.
func TestReferencesDoNotGrow(t *testing.T) {
	t.Parallel()
	var defs strings.Builder
	for i := range 60 {
		next := fmt.Sprintf(`{"$ref":"#/$defs/n%d"}`, i+1)
		fmt.Fprintf(&defs, `"n%d":{"anyOf":[%s,{"type":"array","items":%s}]},`, i, next, next)
	}
	schema := `{"properties":{"a":{"$ref":"#/$defs/n0"}},"$defs":{` + defs.String() + `"n60":{"type":"string"}}}`
	require.True(t, json.Valid([]byte(schema)), schema)
	require.Less(t, len(written(schema)), len(prelude)+20_000)
	require.Less(t, len(shortInput(json.RawMessage(schema))), 200)
}

func TestReferencesHoldUnderTypeCheckers(t *testing.T) {
	t.Parallel()
	stub := written(`{"properties":{"node":{"anyOf":[{"$ref":"#/$defs/Node"},{"type":"null"}]},"shape":{"oneOf":[{"$ref":"#/$defs/Circle"},{"$ref":"#/$defs/Square"}]}},"$defs":{
		"Node":{"type":"object","properties":{"name":{"type":"string"},"all":{"type":"array","items":{"$ref":"#/$defs/Node"}},"up":{"$ref":"#"}}},
		"Circle":{"type":"object","properties":{"kind":{"const":"circle"},"radius":{"type":"number"}}},
		"Square":{"type":"object","properties":{"kind":{"const":"square"},"side":{"type":"number"}}}}}`) + "\nf: _F\n"
	files := map[string]string{
		"right_in.py": "f.f({'node': {'name': 'a', 'all': [{'all': [{'name': 'b'}]}], 'up': {'node': None}}, 'shape': {'kind': 'circle', 'radius': 1}})\nf.f(shape={'kind': 'square', 'side': 1}, node=None)",
		"right_out.py": "out = f.f()\nif out.node is not None:\n    for n in out.node.all:\n        name: str = n.all[0].name\n        up = n.up.shape\n" +
			"if out.shape.kind == 'circle':\n    r: float = out.shape.radius\nelse:\n    s: float = out.shape.side",
		"wrong_name.py":  "f.f({'node': {'nam': 'a'}})",
		"wrong_kind.py":  "f.f({'node': {'all': [{'name': 3}]}})",
		"wrong_shape.py": "f.f(shape={'kind': 'circle', 'side': 1})",
		"wrong_none.py":  "name: str = f.f().node.name",
		"wrong_out.py":   "out = f.f()\nif out.node is not None:\n    out.node.all[0].nam",
	}
	want := []string{"wrong_kind.py", "wrong_name.py", "wrong_none.py", "wrong_out.py", "wrong_shape.py"}
	for name, text := range files {
		files[name] = "from koan import f\n" + text + "\n"
	}
	mypy, pyright := pytypes.Check(t, stub, files)
	for name, found := range map[string]pytypes.Found{"mypy": mypy, "pyright": pyright} {
		require.Equal(t, want, found.Files(), "%s: %v", name, found)
	}
}
