package rest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/tests/soak"
	"github.com/koan-go/koan/tests/words"
	"github.com/koan-go/koan/tests/words/ent"
)

// repeated is a list of n items.
func repeated(item string) func(n int) string {
	return func(n int) string { return "[" + strings.TrimSuffix(strings.Repeat(item+",", n), ",") + "]" }
}

// members is an object of n members.
func members(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"m%d":1`, i)
	}
	return "{" + strings.TrimPrefix(b.String(), ",") + "}"
}

// bounds are what a value may have too much of.
var bounds = map[string]func(n int) string{
	"depth":   func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) },
	"text":    func(n int) string { return `"` + strings.Repeat("한", n) + `"` },
	"members": members,
	"lists":   repeated("[]"),
	"rows":    repeated(`{"a":1,"b":"x"}`),
}

type noted struct {
	V json.RawMessage `json:"v"`
}

type identified struct {
	ID string `json:"id"`
}

// noteInGo stores a value through ent, past all decoding of inputs.
func noteInGo(ctx context.Context, _ framework.Call, in noted) (identified, error) {
	c, err := ent.ClientOf(ctx)
	if err != nil {
		return identified{}, err
	}
	var v any
	if err := json.Unmarshal(in.V, &v); err != nil {
		return identified{}, err
	}
	w, err := c.Word.Create().SetRequired(map[string]any{"v": v}).Save(ctx)
	if err != nil {
		return identified{}, err
	}
	return identified{fmt.Sprint(w.ID)}, nil
}

// limited is an app whose limits are looked at: a value is stored in each way, and read in each way.
type limited struct{ *server }

func (l limited) call(id, input string) (string, error) {
	raw, err := l.kit.Call(id, json.RawMessage(input))
	if err != nil {
		return "", err
	}
	var out struct {
		ID    string
		Items json.RawMessage // Word has a field of that name, too
	}
	require.NoError(l.t, json.Unmarshal(raw, &out))
	var items []struct{ ID string }
	if json.Unmarshal(out.Items, &items) == nil && len(items) > 0 {
		out.ID = items[len(items)-1].ID
	}
	return out.ID, nil
}

func (l limited) send(method, path, body string) (string, error) {
	r := l.do(method, path, body)
	if r.status >= 300 {
		var p struct{ Code fault.Code }
		require.NoError(l.t, json.Unmarshal(r.body, &p), "%s", r.body)
		return "", fault.New(p.Code, string(r.body))
	}
	return r.object(r.status)["id"].(string), nil
}

func (l limited) script(code string, args string) (id string, err error) {
	r := l.kit.Try(code, koantest.Input{Args: json.RawMessage(args)})
	if !r.Success {
		return "", r.Error
	}
	r.ResultInto(&id)
	return id, nil
}

// writes are the ways in which a value is stored, each of which returns the id.
func (l limited) writes() map[string]func(v string) (string, error) {
	return map[string]func(v string) (string, error){
		"POST": func(v string) (string, error) {
			return l.send(http.MethodPost, "/api/word", `{"required":{"v":`+v+`}}`)
		},
		"PATCH": func(v string) (string, error) {
			id, err := l.send(http.MethodPost, "/api/word", `{}`)
			require.NoError(l.t, err)
			return l.send(http.MethodPatch, "/api/word/"+id, `{"required":{"v":`+v+`}}`)
		},
		"upsert": func(v string) (string, error) {
			return l.call("koan::Word.upsert", `{"model":{"required":{"v":`+v+`}}}`)
		},
		"upsert-many": func(v string) (string, error) {
			return l.call("koan::Word.upsert-many", `{"models":[{},{"required":{"v":`+v+`}}]}`)
		},
		"a script": func(v string) (string, error) {
			return l.script(`SDK.Entities.Word.upsert({required: SDK.args}).id`, `{"v":`+v+`}`)
		},
		"an action in Go": func(v string) (string, error) { return l.call("action::note", `{"v":`+v+`}`) },
	}
}

// reads are the ways in which a row is read.
func (l limited) reads() map[string]func(id string) error {
	out := map[string]func(id string) error{
		"GET": func(id string) error { _, err := l.send(http.MethodGet, "/api/word/"+id, ""); return err },
		"GET of a page": func(id string) error {
			page := l.do(http.MethodGet, "/api/word?filter=%7B%22id%22%3A%22"+id+"%22%7D", "").object(http.StatusOK)
			if items, _ := page["items"].([]any); len(items) != 1 || items[0].(map[string]any)["id"] != id {
				return fmt.Errorf("got %d items", len(items))
			}
			return nil
		},
		"get-by-id": func(id string) error {
			_, err := l.call("koan::Word.get-by-id", fmt.Sprintf(`{"id":%q}`, id))
			return err
		},
		"collection": func(id string) error {
			_, err := l.call("koan::Word.collection", fmt.Sprintf(`{"filter":{"id":%q}}`, id))
			return err
		},
	}
	for name, code := range map[string]string{
		"getById in a script":    `SDK.Entities.Word.getById(SDK.args.id).id`,
		"collection in a script": `SDK.Entities.Word.collection({filter: {id: SDK.args.id}}).items[0].id`,
		"each in a script":       `let last; for (const w of SDK.Entities.Word.each({filter: {id: SDK.args.id}})) last = w.id; last`,
	} {
		out[name] = func(id string) error {
			got, err := l.script(code, fmt.Sprintf(`{"id":%q}`, id))
			if err == nil && got != id {
				return fmt.Errorf("got %s", got)
			}
			return err
		}
	}
	return out
}

// refusals are what a way may end in. What an action's own code is refused is its failure.
var refusals = []fault.Code{fault.InvalidPayload, fault.CallTooLarge, fault.MemoryExceeded, fault.Timeout, fault.ExecutionError}

// What can be written in one way can be read in each: whatever limit a way has, no way stores what is
// beyond that of another.
func TestLimitsOfOneFaceAreThoseOfAll(t *testing.T) {
	soak.Proof(t)
	t.Parallel()
	app := words.App()
	app.GoActions = []framework.GoAction{framework.Action("note", "Stores a value.", noteInGo)}
	for bound, value := range bounds {
		t.Run(bound, func(t *testing.T) {
			l := limited{mount(t, koantest.NewConfined(t, app), framework.HTTPOptions{})}
			writes, reads := l.writes(), l.reads()
			most := 128 // about the largest number that is stored
			for ; most < 8<<20; most *= 2 {
				if _, err := writes["upsert"](value(2 * most)); err != nil {
					break
				}
			}
			largest, of := "", 0 // what was stored, and its size
			for face, write := range writes {
				stored, n := "", 2*most
				for ; stored == "" && n >= most/2; n -= most / 2 {
					id, err := write(value(n))
					if err != nil {
						require.Contains(t, refusals, fault.CodeOf(err), "%d by %s: %v", n, face, err)
					}
					stored = id
				}
				require.NotEmpty(t, stored, face)
				if n += most / 2; n > of {
					largest, of = stored, n
				}
			}
			for how, read := range reads { // a row does not know how it was written
				require.NoError(t, read(largest), "%d read by %s", of, how)
			}
		})
	}
}
