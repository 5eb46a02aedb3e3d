package framework_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"

	_ "github.com/koan-go/koan/codemode/languages"
	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/tests/fixture"
)

// A program that has a use for an app of its own starts it as a value and calls its operations.
func Example() {
	data, err := os.MkdirTemp("", "koan-example-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(data)
	ctx := context.Background()
	i, err := framework.New(ctx, fixture.App(), framework.Options{
		Config: framework.Source{Flags: map[string]string{"database": "sqlite://" + data}},
		Log:    slog.New(slog.DiscardHandler),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer i.Stop(ctx)

	me := framework.Principal{Subject: "nightly", Scopes: []string{"*"}, Sets: []string{"default"}}
	var created struct {
		Title string `json:"title"`
	}
	_, err = i.Invoke(ctx, me, "koan::Todo.create", map[string]any{"model": map[string]any{"id": "one", "title": "Water the plants"}}, &created)
	fmt.Println(created.Title, err)
	_, err = i.Invoke(ctx, me, "koan::Todo.patch", map[string]any{"id": "two", "changes": map[string]any{"title": "x"}}, nil)
	fmt.Println(fault.CodeOf(err))
	// Output:
	// Water the plants <nil>
	// not_found
}

// An action is a function that tools, REST and scripts can call; what it does is one transaction.
func ExampleAction() {
	type in struct {
		Name string `json:"name" jsonschema:"Who is greeted."`
	}
	type out struct {
		Text string `json:"text"`
	}
	app := fixture.App()
	app.GoActions = append(app.GoActions, framework.Action("greet", "Greets somebody and notes it.", func(ctx context.Context, call framework.Call, v in) (out, error) {
		if v.Name == "" {
			return out{}, fault.Invalid(fault.Detail{Path: "/name", Message: "somebody has to be greeted"})
		}
		note := map[string]any{"model": map[string]any{"title": "greeted " + v.Name}}
		return out{"Hello, " + v.Name}, call.Invoke(ctx, "koan::Todo.create", note, nil)
	}))
	fmt.Println(len(app.GoActions))
	// Output: 1
}

// The handler serves what the command serve does.
func ExampleInstance_HTTPHandler() {
	data, err := os.MkdirTemp("", "koan-example-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(data)
	ctx := context.Background()
	i, err := framework.New(ctx, fixture.App(), framework.Options{
		Config: framework.Source{Flags: map[string]string{"database": "sqlite://" + data}},
		Log:    slog.New(slog.DiscardHandler),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer i.Stop(ctx)
	h, err := i.HTTPHandler(framework.HTTPOptions{
		Authenticate: func(*http.Request) (framework.Principal, error) { return auth.Local(), nil },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer h.Shutdown(ctx)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://127.0.0.1/api/todo", nil))
	fmt.Println(w.Code)
	// Output: 200
}
