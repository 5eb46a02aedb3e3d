package engine_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/tests/fixture/ent"
	specimen "github.com/koan-go/koan/tests/specimen/ent"
)

func TestARefusalSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	if forEach(t, TestARefusalSaysWhatIsWrong) {
		return
	}
	fixture, zoo := start(t, ent.Entities()), start(t, specimen.Entities())
	fixture.call("Label.upsert", `{"model":{"name":"a"}}`)
	for _, c := range []struct {
		app                        *app
		op, input, path, complaint string
	}{
		{fixture, "Todo.upsert", `{"model":{"id":"` + strings.Repeat("é", 50) + `","title":"x"}}`, "/model/id", "id must have at most 64 bytes of UTF-8, not 100"},
		{fixture, "Todo.upsert", `{"model":{"title":"x","labels":{"$add":[1],"$remove":["1"]}}}`, "/model/labels/$remove/0", `"1" is in both $add and $remove; choose one`},
		{zoo, "Specimen.upsert", `{"model":{"u64":"9223372036854775808"}}`, "/model/u64", `"u64" stores integers from 0 to 9223372036854775807`},
		{zoo, "Specimen.upsert", `{"model":{"u64":18446744073709551616}}`, "/model/u64", `"u64" stores integers from 0 to 9223372036854775807`},
		{zoo, "Specimen.collection", `{"filter":{"i64":-9223372036854775809}}`, "/filter/i64", `"i64" stores integers from -9223372036854775808 to 9223372036854775807`},
	} {
		f := c.app.fails(fault.InvalidPayload, c.op, c.input)
		require.Equal(t, c.path, f.Path, c.input)
		require.Equal(t, c.complaint, f.Message, c.input)
	}
}
