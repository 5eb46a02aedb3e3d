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

// A key is one job of one caller's, whatever it does.
func TestKeyOfAnotherJob(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestKeyOfAnotherJob) {
		return
	}
	s := serve(t, fixtureApp(), framework.HTTPOptions{})
	for _, entity := range []string{"todo", "label"} { // with versions, and without
		name := map[string]string{"todo": "title", "label": "name"}[entity]
		made := s.do("POST", "/api/"+entity, `{"`+name+`":"zero"}`)
		made.object(http.StatusCreated)
		at, tag, body := made.header.Get("Location"), made.header.Get("ETag"), `{"`+name+`":"one"}`
		first := s.do("PATCH", at, body, "Idempotency-Key", entity)
		first.object(http.StatusOK)
		for _, c := range []struct {
			method, path, body string
			header             []string
		}{
			{"PATCH", at, body, []string{"If-Match", tag}},
			{"PATCH", at, body, []string{"If-Match", first.header.Get("ETag")}},
			{"PATCH", at, body, []string{"If-Match", "*"}},
			{"PUT", at, body, nil},
			{"PUT", at, body, []string{"If-None-Match", "*"}},
			{"DELETE", at, "", nil},
			{"POST", "/api/" + entity, body, nil},
			{"POST", "/api/" + entity + ":upsert-many", `{"models":[` + body + `]}`, nil},
			{"POST", "/api/person", `{"name":"Ann","email":"a@b.c"}`, nil},
			{"POST", "/api/actions/greet", `{"name":"Ann"}`, nil},
			{"POST", "/tools/" + entity + ".delete-many", `{"ids":["` + first.object(http.StatusOK)["id"].(string) + `"]}`, nil},
		} {
			r := s.do(c.method, c.path, c.body, append(c.header, "Idempotency-Key", entity)...)
			require.Equal(t, http.StatusConflict, r.status, "%v: %s", c, r.body)
		}
		again := s.do("PATCH", at, body, "Idempotency-Key", entity)
		require.Equal(t, first.object(http.StatusOK), again.object(http.StatusOK))
		require.Equal(t, first.header.Get("Koan-Run"), again.header.Get("Koan-Run"))

		held := s.do("PATCH", at, `{"`+name+`":"two"}`, "If-Match", first.header.Get("ETag"), "Idempotency-Key", entity+"2")
		held.object(http.StatusOK)
		require.Equal(t, held.header.Get("Koan-Run"), s.do("PATCH", at, `{"`+name+`":"two"}`, "If-Match", first.header.Get("ETag"), "Idempotency-Key", entity+"2").header.Get("Koan-Run"), "the first reply, though the tag is old by now")
		require.Equal(t, http.StatusConflict, s.do("PATCH", at, `{"`+name+`":"two"}`, "Idempotency-Key", entity+"2").status)
	}
}

// The header is taken by tools that run scripts, as idempotencyKey in the body is.
func TestKeyOfAScript(t *testing.T) {
	t.Parallel()
	s := serve(t, fixtureApp(), framework.HTTPOptions{})
	run := func(status int, body, key string) map[string]any {
		return s.do("POST", "/tools/koan.code.execute", body, "Idempotency-Key", key).object(status)
	}
	const script = `"code":"return SDK.Entities.Todo.upsert({title: 'once'}).id"`
	first := run(200, "{"+script+"}", "one")["result"].(map[string]any)
	for _, again := range []string{"{" + script + "}", " { " + script + `, "idempotencyKey": "one"}`, `{"idempotencyKey":null,` + script + "}"} {
		require.Equal(t, first["result"], run(200, again, "one")["result"].(map[string]any)["result"], again)
	}
	inBody := s.do("POST", "/tools/koan.code.execute", `{"idempotencyKey":"one",`+script+"}").object(200)["result"].(map[string]any)
	require.Equal(t, first["result"], inBody["result"], "the header is the same key")
	differs := run(400, `{"idempotencyKey":"two",`+script+"}", "one")["error"].(map[string]any)
	require.Equal(t, []any{"invalid_payload", "Send one of them."}, []any{differs["code"], differs["hint"]})
	other := run(409, `{"code":"return 2"}`, "one")["error"].(map[string]any)
	require.Equal(t, "conflict", other["code"])
	require.Equal(t, "invalid_payload", s.do("POST", "/tools/koan.code.validate", `{"code":"1"}`, "Idempotency-Key", "three").object(400)["error"].(map[string]any)["code"], "it writes nothing")
	require.Equal(t, "invalid_payload", run(400, `{}`, "four")["error"].(map[string]any)["code"])
}
