package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/tests/specimen/ent"
	"github.com/koan-go/koan/tests/specimen/owned"
)

// An action in Go that sets more through ent than a column keeps gets the field's fault, however it writes,
// and nothing of it is stored.
func TestValuesOfActionsBeyondTheirColumns(t *testing.T) {
	t.Parallel()
	if forEach(t, TestValuesOfActionsBeyondTheirColumns) {
		return
	}
	var price owned.Decimal
	require.NoError(t, price.UnmarshalText([]byte("9.999")))
	sets := map[string]struct {
		set  func(m *ent.MeasureMutation)
		says string
	}{
		"price": {func(m *ent.MeasureMutation) { m.SetPrice(price) }, "at most 2 digits after the point"},
		"rate":  {func(m *ent.MeasureMutation) { m.SetRate(1.2345) }, "at most 3 digits after the point"},
		"small": {func(m *ent.MeasureMutation) { m.SetSmall(40_000) }, "from -32768 to 32767"},
		"code":  {func(m *ent.MeasureMutation) { m.SetCode("toolong") }, "at most 5 characters"},
		"bits":  {func(m *ent.MeasureMutation) { m.SetBits("1") }, "4 characters, not 1"},
	}
	writes := map[string]func(ctx context.Context, c *ent.Client, set func(m *ent.MeasureMutation)) error{
		"create": func(ctx context.Context, c *ent.Client, set func(m *ent.MeasureMutation)) error {
			b := c.Measure.Create()
			set(b.Mutation())
			return b.Exec(ctx)
		},
		"bulk": func(ctx context.Context, c *ent.Client, set func(m *ent.MeasureMutation)) error {
			b := c.Measure.Create()
			set(b.Mutation())
			return c.Measure.CreateBulk(c.Measure.Create(), b).Exec(ctx)
		},
		"update": func(ctx context.Context, c *ent.Client, set func(m *ent.MeasureMutation)) error {
			b := c.Measure.Update()
			set(b.Mutation())
			return b.Exec(ctx)
		},
	}
	app := framework.App{Name: "measures", Entities: ent.Entities()}
	app.GoActions = []framework.GoAction{framework.Action("work", "Sets what columns do not keep.", func(ctx context.Context, _ framework.Call, _ struct{}) (struct{}, error) {
		c, err := ent.ClientOf(ctx)
		if err != nil {
			return struct{}{}, err
		}
		for field, s := range sets {
			for how, write := range writes {
				err := write(ctx, c, s.set)
				if f := fault.From(err); err == nil || f.Code != fault.InvalidPayload || !strings.Contains(err.Error(), field+" must") || !strings.Contains(err.Error(), s.says) {
					return struct{}{}, fmt.Errorf("%s by %s: %w", field, how, errors.Join(errors.New("not as expected"), err))
				}
			}
		}
		return struct{}{}, c.Measure.Create().SetCode("fits").SetSecond(time.Now()).Exec(ctx)
	})}
	k := koantest.New(t, app, koantest.Setting{Key: "database", Value: place(t)})
	k.Run(`SDK.Entities.Measure.upsert({})`, koantest.Input{})
	k.Run(`SDK.Actions.work({})`, koantest.Input{})
	var codes []any
	k.Run(`SDK.Entities.Measure.all({sort: "id"}).map(m => m.code ?? null)`, koantest.Input{}).ResultInto(&codes)
	require.Equal(t, []any{nil, "fits"}, codes)
}
