package rest

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/tests/pgtest"
)

// A key stands for what is asked for, however its JSON is written.
func TestKeyOfTheSameInput(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestKeyOfTheSameInput) {
		return
	}
	s := serve(t, fixtureApp(), framework.HTTPOptions{})
	for key, c := range map[string]struct{ method, path, body, samePath, same, otherPath, other string }{
		"create":   {"POST", "/api/todo", `{"title":"a","effort":1}`, "/api/todo?set=default", "{\n\t\"effort\": 1.0, \"title\": \"\\u0061\"}", "/api/todo?set=tenant-a", `{"title":"a","effort":1}`},
		"absent":   {"PUT", "/api/todo/x", `{"title":"a"}`, "/api/todo/x?set=default", `{"title": "a"}`, "/api/todo/x", `{"title":"b"}`},
		"tool":     {"POST", "/tools/todo.upsert", `{"model":{"title":"a"}}`, "/tools/todo_upsert", `{"set":"default", "model": {"title":"a"}}`, "/tools/todo.upsert", `{"model":{"title":"a"},"replace":true}`},
		"many":     {"POST", "/api/todo:upsert-many", `{"models":[{"title":"a"},{"title":"b"}]}`, "/api/todo:upsert-many", `{"set":"default","models":[{"title":"a"},{"title":"b"}]}`, "/api/todo:upsert-many", `{"models":[{"title":"b"},{"title":"a"}]}`},
		"function": {"POST", "/api/actions/greet", `{"name":"Ann"}`, "/api/actions/greet", `{ "name" : "Ann" }`, "/api/actions/greet", `{"name":"Bob"}`},
	} {
		header := []string{"Idempotency-Key", key}
		if key == "absent" {
			header = append(header, "If-None-Match", "*")
		}
		first := s.do(c.method, c.path, c.body, header...)
		require.Less(t, first.status, 300, "%s: %s", key, first.body)
		same := s.do(c.method, c.samePath, c.same, header...)
		require.Equal(t, first.status, same.status, "%s: %s", key, same.body)
		require.Equal(t, first.header.Get("Koan-Run"), same.header.Get("Koan-Run"), key)
		other := s.do(c.method, c.otherPath, c.other, header...)
		require.Equal(t, http.StatusConflict, other.status, "%s: %s", key, other.body)
		require.Contains(t, string(other.body), "another input", key)
		require.NotContains(t, string(other.body), "script", key)
	}
}
