package owncode

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	stdent "entgo.io/ent"
	"entgo.io/ent/privacy"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/tests/fixture"
	"github.com/koan-go/koan/tests/fixture/ent"
	"github.com/koan-go/koan/tests/pgtest"
)

// refusing is a hook that refuses todos by their title: with an error, with a fault, and as a policy
// does.
func refusing(next stdent.Mutator) stdent.Mutator {
	return stdent.MutateFunc(func(ctx context.Context, m stdent.Mutation) (stdent.Value, error) {
		v, err := next.Mutate(ctx, m)
		if err != nil {
			return v, err
		}
		switch title, _ := m.Field("title"); title {
		case "error":
			return nil, fmt.Errorf("it is sunday")
		case "fault":
			return nil, fault.New(fault.Conflict, "somebody is at it").WithHint("Come back on monday.")
		case "wrapped":
			return nil, fmt.Errorf("the rule: %w", fault.New(fault.InvalidPayload, "not this one").WithHint("Take another."))
		case "unable":
			return nil, fault.New(fault.CapabilityUnsupported, "that is for later")
		case "denied":
			return nil, privacy.Denyf("you may not")
		}
		return v, nil
	})
}

// What a rule of the app refuses keeps its code and its words, however the change was asked for.
func TestRefusalsOfRules(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestRefusalsOfRules) {
		return
	}
	const inFile = `
export const action = { description: "Stores a todo.", input: { type: "object", properties: { title: { type: "string" } } }, effects: { destructive: true } };
export default ({ title }) => SDK.Entities.Todo.upsert({ title });`
	const around = `
export const action = { description: "Calls another action.", input: { type: "object", properties: { title: { type: "string" } } }, effects: { destructive: true } };
export default ({ title }) => SDK.Actions.NAME({ title });`
	type in struct {
		Title string `json:"title"`
	}
	calls := func(id string, input func(in) any) func(context.Context, framework.Call, in) (nothing, error) {
		return func(ctx context.Context, call framework.Call, in in) (nothing, error) {
			return nothing{}, call.Invoke(ctx, id, input(in), nil)
		}
	}
	model := func(in in) any { return map[string]any{"model": in} }
	app := fixture.App()
	app.Entities = ent.Entities(ent.OnClient(func(c *ent.Client) { c.Todo.Use(refusing) }))
	app.Actions = fstest.MapFS{
		"actions/in-file.js":     {Data: []byte(inFile)},
		"actions/around-file.js": {Data: []byte(strings.Replace(around, "NAME", "inFile", 1))},
		"actions/around-go.js":   {Data: []byte(strings.Replace(around, "NAME", "inGo", 1))},
	}
	app.GoActions = []framework.GoAction{
		framework.Action("in-go", "Stores a todo.", calls("koan::Todo.upsert", model)),
		framework.Action("around", "Calls another action.", calls("action::in-file", func(in in) any { return in })),
		framework.Action("with-client", "Stores a todo through ent.", func(ctx context.Context, _ framework.Call, in in) (nothing, error) {
			c, err := ent.ClientOf(ctx)
			if err != nil {
				return nothing{}, err
			}
			return nothing{}, c.Todo.Create().SetTitle(in.Title).Exec(ctx)
		}),
	}
	var settings []koantest.Setting
	if pgtest.Here(t) {
		settings = append(settings, koantest.Setting{Key: "database", Value: pgtest.Place(t)})
	}
	kit := koantest.NewConfined(t, app, settings...)
	kit.Run(`SDK.Entities.Todo.upsert({ id: "there", title: "there" })`, koantest.Input{})

	call := func(id string, input func(title string) any) func(string) error {
		return func(title string) error {
			_, err := kit.Call(id, input(title))
			return err
		}
	}
	titled := func(title string) any { return map[string]any{"title": title} }
	script := func(code string) func(string) error {
		return func(title string) error {
			if r := kit.Try(code, koantest.Input{Args: title}); r.Error != nil {
				return r.Error
			}
			return nil
		}
	}
	for name, does := range map[string]func(title string) error{
		"tool":  call("koan::Todo.upsert", func(title string) any { return map[string]any{"model": titled(title)} }),
		"patch": call("koan::Todo.patch", func(title string) any { return map[string]any{"id": "there", "changes": titled(title)} }),
		"update by query": call("koan::Todo.update-by-query", func(title string) any {
			return map[string]any{"filter": map[string]any{"id": "there"}, "changes": titled(title), "all": true}
		}),
		"many":                      call("koan::Todo.upsert-many", func(title string) any { return map[string]any{"models": []any{titled("fine"), titled(title)}} }),
		"script":                    script(`SDK.Entities.Todo.upsert({ title: SDK.args })`),
		"action in a file":          call("action::in-file", titled),
		"action in Go":              call("action::in-go", titled),
		"action with ent's client":  call("action::with-client", titled),
		"file calls file":           call("action::around-file", titled),
		"file calls Go":             call("action::around-go", titled),
		"Go calls file":             call("action::around", titled),
		"script calls file":         script(`SDK.Actions.inFile({ title: SDK.args })`),
		"script calls Go":           script(`SDK.Actions.inGo({ title: SDK.args })`),
		"script calls ent's client": script(`SDK.Actions.withClient({ title: SDK.args })`),
		"Tx": func(title string) error {
			_, err := kit.Instance().Tx(t.Context(), auth.Local(), "", func(ctx context.Context, _ framework.Call) error {
				c, err := ent.ClientOf(ctx)
				if err != nil {
					return err
				}
				return c.Todo.Create().SetTitle(title).Exec(ctx)
			})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			for title, want := range map[string]struct {
				code fault.Code
				says string
				hint string
			}{
				"error":   {fault.InvalidPayload, "it is sunday", "A rule of the app refused"},
				"fault":   {fault.Conflict, "somebody is at it", "Come back on monday."},
				"wrapped": {fault.InvalidPayload, "not this one", "Take another."},
				"unable":  {fault.CapabilityUnsupported, "that is for later", ""},
				"denied":  {fault.Forbidden, "you may not", "policy"},
			} {
				f := fault.From(does(title))
				require.Equal(t, want.code, f.Code, "%s: %v", title, f)
				require.Contains(t, f.Message, want.says)
				require.Contains(t, f.Hint, want.hint)
				require.NotContains(t, f.Hint+f.Message, "defect")
				require.NotContains(t, f.Hint, "An input that works")
			}
		})
	}
	raw, err := kit.Call("koan::Todo.count", map[string]any{})
	require.NoError(t, err)
	require.JSONEq(t, `{"count":1}`, string(raw), "nothing of what was refused was kept")

	_, err = kit.Call("koan::Todo.upsert-many", map[string]any{"models": []any{titled("fine"), titled("error")}})
	require.Equal(t, "/models/1", fault.From(err).Path)
}
