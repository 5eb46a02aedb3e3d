// Command goclient calls the fixture with the generated client, and prints what it got.
package main

import (
	"context"
	"encoding/json"
	"log"
	"os"
	"strings"

	"goclient/api"
)

func main() {
	ctx := context.Background()
	c, err := api.NewClientWithResponses(os.Args[1])
	check(err)
	said := map[string]any{}

	title, priority := "Buy milk", "high"
	made, err := c.TodoUpsertWithResponse(ctx, nil, body[api.TodoUpsertJSONRequestBody](map[string]any{"id": "t1", "title": title}))
	check(err)
	tag := made.HTTPResponse.Header.Get("ETag")
	said["created"], said["etag"] = made.StatusCode(), tag
	patch := body[api.TodoPatchApplicationMergePatchPlusJSONRequestBody](map[string]any{"priority": priority})
	changed, err := c.TodoPatchWithApplicationMergePatchPlusJSONBodyWithResponse(ctx, "t1", &api.TodoPatchParams{IfMatch: &tag}, patch)
	check(err)
	said["changed"] = changed.StatusCode()
	stale, err := c.TodoPatchWithApplicationMergePatchPlusJSONBodyWithResponse(ctx, "t1", &api.TodoPatchParams{IfMatch: &tag}, patch)
	check(err)
	said["stale"] = stale.StatusCode()
	var problem struct{ Code string }
	check(json.Unmarshal(stale.Body, &problem))
	said["problem"] = problem.Code

	var _ *float64 = api.Todo{}.Effort // as wide as the field
	filter := `{"title": "Buy milk"}`
	page, err := c.TodoCollectionWithResponse(ctx, &api.TodoCollectionParams{Filter: &filter})
	check(err)
	said["count"], said["title"], said["priority"] = len(page.JSON200.Items), page.JSON200.Items[0].Title, page.JSON200.Items[0].Priority

	_, err = c.StepUpsertWithResponse(ctx, nil, body[api.StepUpsertJSONRequestBody](map[string]any{"text": "Take the bag", "todo": "t1"}))
	check(err)
	var named api.TodoFilter_Title
	check(named.FromStringConditions(api.StringConditions{StartsWith: &title}))
	var text api.StepFilter_Text
	check(text.FromStepFilterText0("Take the bag"))
	typed := api.TodoFilter{Title: &named}
	typed.Steps = body[api.TodoFilter](map[string]any{"steps": map[string]any{"$some": map[string]any{"text": "Take the bag"}}}).Steps
	typed.Steps.Some = &api.StepFilter{Text: &text}
	var with api.TodoWith
	check(with.FromTodoWith0("steps.todo"))
	found, err := c.TodoQueryWithResponse(ctx, api.TodoQueryJSONRequestBody{Filter: &typed, With: &with})
	check(err)
	step := (*found.JSON200.Items[0].Steps)[0]
	said["step"], said["back"] = step.Text, step.Todo.Title
	var one api.HavingTerm
	check(one.FromHavingTerm1(1))
	groups, err := c.TodoAggregateWithResponse(ctx, body[api.TodoAggregateJSONRequestBody](map[string]any{"groupBy": "priority", "count": true, "having": map[string]any{"count": one}, "filter": typed}))
	check(err)
	said["groups"] = len(groups.JSON200.Rows)
	_, err = c.TodoDeleteWithResponse(ctx, "t1", nil)
	check(err)
	gone, err := c.TodoGetByIdWithResponse(ctx, "t1", nil)
	check(err)
	said["gone"] = gone.StatusCode()

	kept, err := c.UploadFileWithBodyWithResponse(ctx, nil, "text/plain", strings.NewReader("a file"))
	check(err)
	file, err := c.DownloadFileWithResponse(ctx, kept.JSON201.Id)
	check(err)
	said["file"] = string(file.Body)
	check(json.NewEncoder(os.Stdout).Encode(said))
}

// body makes a request's body of the members that are given.
func body[T any](members map[string]any) (out T) {
	raw, err := json.Marshal(members)
	check(err)
	check(json.Unmarshal(raw, &out))
	return out
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
