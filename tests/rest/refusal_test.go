package rest

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/koantest"
)

// An action that refuses its input is no error of the server; one that is broken is.
func TestActionsThatRefuse(t *testing.T) {
	dir := t.TempDir()
	head := `export const action = { description: "Refuses.", input: { type: "object", properties: { id: { type: "string" } } } };` + "\n"
	for name, body := range map[string]string{
		"throws":    `throw new Error("the order is paid already")`,
		"own-class": `class Paid extends Error { name = "Paid" }; throw new Paid("already")`,
		"broken":    `return input.lines.length`,
		"misspelt":  `return inputs`,
		"misses":    `return SDK.Entities.Todo.getById("nobody")`,
		"misuses":   `return SDK.Entities.Todo.getById(1, 2, 3)`,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name+".js"), []byte(head+"export default (input) => { "+body+" };\n"), 0o600))
	}
	app := fixtureApp()
	refusing := func(name string, err error) framework.GoAction {
		return framework.Action(name, "Refuses.", func(context.Context, framework.Call, person) (greeting, error) { return greeting{}, err })
	}
	app.GoActions = append(app.GoActions,
		refusing("go-refuses", fault.New(fault.InvalidPayload, "nobody has that name").WithPath("/name")),
		refusing("go-fails", errors.New("the disk is full")))
	s := serve(t, app, framework.HTTPOptions{}, koantest.Setting{Key: "actions.dir", Value: dir})
	for name, want := range map[string]struct {
		status int
		code   string
		detail string
	}{
		"throws":     {http.StatusUnprocessableEntity, "execution_error", "the order is paid already"},
		"own-class":  {http.StatusUnprocessableEntity, "execution_error", "Paid: already"},
		"broken":     {http.StatusInternalServerError, "execution_error", "TypeError"},
		"misspelt":   {http.StatusInternalServerError, "execution_error", "ReferenceError"},
		"misses":     {http.StatusNotFound, "not_found", "nobody"},
		"misuses":    {http.StatusInternalServerError, "execution_error", "misuses failed"},
		"go-refuses": {http.StatusBadRequest, "invalid_payload", "nobody has that name"},
		"go-fails":   {http.StatusInternalServerError, "execution_error", "could not be carried out"},
	} {
		body := `{}`
		if name == "go-refuses" || name == "go-fails" {
			body = `{"name":"Ann"}`
		}
		got := s.do("POST", "/api/actions/"+name, body).object(want.status)
		require.Equal(t, want.code, got["code"], name)
		require.Contains(t, got["detail"], want.detail, name)
		require.NotEmpty(t, got["hint"], name)
		require.EqualValues(t, want.status, got["status"], name)
		require.Equal(t, want.status, s.do("POST", "/tools/"+name, body).status, name)
	}
}

// Who shows the hint of a problem alone shows what is wrong; a hint of its own stays as it is.
func TestHintsOfProblemsSayWhatIsWrong(t *testing.T) {
	s := serve(t, fixtureApp(), framework.HTTPOptions{})
	for path, want := range map[string]string{
		"/api/todo?sort=titel": `Correct the named fields (unknown field "titel" of Todo; did you mean "title"?).`,
		"/api/todo/nobody":     `Check the id and the set (there is no Todo with id "nobody").`,
		"/api/todos":           `GET /openapi.json lists the routes (there is no entity "todos"; did you mean "todo"?).`,
		"/api/todo?filter=%7B": "Write the value as JSON, and encode it (curl: -G --data-urlencode).",
	} {
		r := s.do("GET", path, "")
		require.Equal(t, want, r.object(r.status)["hint"], path)
	}
}
