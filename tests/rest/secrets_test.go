package rest

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/koantest"
)

// No response has a part of a secret that the app knows, wherever the text that quotes it was cut.
func TestClippedTextsHaveNoPartOfASecret(t *testing.T) {
	t.Parallel()
	const secret = "q7ZkT2mXw9LpY4tRbH8sNvJc3FgD6eKu" // of no known shape
	s := serve(t, fixtureApp(), framework.HTTPOptions{}, koantest.Setting{Key: "server.secret", Value: secret})
	for name, send := range map[string]func(text string) reply{
		"route":     func(text string) reply { return s.do("GET", "/api/"+url.PathEscape(text)+"/x/y", "") },
		"entity":    func(text string) reply { return s.do("GET", "/api/"+url.PathEscape(text), "") },
		"id":        func(text string) reply { return s.do("GET", "/api/todo/"+url.PathEscape(text), "") },
		"suffix":    func(text string) reply { return s.do("POST", "/api/todo:"+url.PathEscape(text), "{}") },
		"parameter": func(text string) reply { return s.do("GET", "/api/todo?"+url.QueryEscape(text)+"=1", "") },
		"set":       func(text string) reply { return s.do("GET", "/api/todo?set="+url.QueryEscape(text), "") },
		"filter":    func(text string) reply { return s.do("GET", `/api/todo?filter={"`+text+`":1}`, "") },
		"value":     func(text string) reply { return s.do("GET", `/api/todo?filter={"priority":"`+text+`"}`, "") },
		"sort":      func(text string) reply { return s.do("GET", "/api/todo?sort="+url.QueryEscape(text), "") },
		"cursor":    func(text string) reply { return s.do("GET", "/api/todo?cursor="+url.QueryEscape(text), "") },
		"event":     func(text string) reply { return s.do("GET", "/api/events?entity="+url.QueryEscape(text), "") },
		"last id":   func(text string) reply { return s.do("GET", "/api/events", "", "Last-Event-ID", text) },
		"tag":       func(text string) reply { return s.do("PATCH", "/api/todo/1", "{}", "If-Match", text) },
		"method":    func(text string) reply { return s.do(text, "/api/todo", "") },
		"encoding":  func(text string) reply { return s.do("POST", "/api/todo", "{}", "Content-Encoding", text) },
		"tool":      func(text string) reply { return s.do("POST", "/tools/"+url.PathEscape(text), "{}") },
		"member":    func(text string) reply { return s.do("POST", "/tools/todo.upsert", `{"model":{"`+text+`":1}}`) },
		"enum": func(text string) reply {
			return s.do("POST", "/tools/todo.upsert", `{"model":{"title":"t","priority":"`+text+`"}}`)
		},
		"file":      func(text string) reply { return s.do("GET", "/api/files/"+url.PathEscape(text), "") },
		"script":    func(text string) reply { return execute(s, fmt.Sprintf("throw new Error(%q)", text)) },
		"log":       func(text string) reply { return execute(s, fmt.Sprintf("console.log(%q); null.x", text)) },
		"import":    func(text string) reply { return execute(s, fmt.Sprintf("await import(%q)", "@codemode/"+text)) },
		"name":      func(text string) reply { return execute(s, fmt.Sprintf("SDK.Entities.Todo.count({ %q: 1 })", text)) },
		"operation": func(text string) reply { return execute(s, fmt.Sprintf("SDK.Entities.Todo.getById(%q)", text)) },
	} {
		for pad := range 130 {
			if pad%3 != 0 { // each cut shows at some of them
				continue
			}
			got := send(strings.Repeat("p", pad) + "." + secret + "tail")
			for _, text := range []string{string(got.body), fmt.Sprint(got.header)} {
				require.NotContains(t, text, secret[:10], "%s, %d", name, pad)
			}
			require.GreaterOrEqual(t, got.status, 400, "%s: %s", name, got.body)
		}
	}
}

func execute(s *server, code string) reply {
	return s.do("POST", "/tools/koan.code.execute", fmt.Sprintf(`{"code":%q}`, code))
}
