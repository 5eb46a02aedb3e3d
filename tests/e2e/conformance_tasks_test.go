package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/koan-go/koan/framework/ask"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
)

// job makes a tool whose name is the suite's.
func job(id catalog.ID, do func(context.Context, catalog.Call) (string, error)) *catalog.Operation {
	op := asker("", noInput, do)
	op.ID, op.Title = id, id.Op
	return op
}

// takingTools are tools that take long.
func takingTools() []*catalog.Operation {
	tool := func(first, rest string) catalog.ID {
		return catalog.ID{Kind: catalog.KindUpstream, Owner: first, Op: rest}
	}
	work := func(ctx context.Context, d time.Duration) error {
		select {
		case <-time.After(d):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return []*catalog.Operation{
		job(catalog.ActionID("greet"), func(_ context.Context, c catalog.Call) (string, error) {
			var in struct{ Name string }
			_ = json.Unmarshal(c.Input(), &in)
			return "Hello, " + in.Name + "!", nil
		}),
		job(tool("slow", "compute"), func(ctx context.Context, c catalog.Call) (string, error) {
			var in struct{ Seconds float64 }
			_ = json.Unmarshal(c.Input(), &in)
			return "computed", work(ctx, time.Duration(in.Seconds*float64(time.Second)))
		}),
		job(tool("failing", "job"), func(ctx context.Context, _ catalog.Call) (string, error) {
			if err := work(ctx, time.Second); err != nil {
				return "", err
			}
			return "", fault.New(fault.Conflict, "This job always fails")
		}),
		job(tool("protocol", "error_job"), func(ctx context.Context, _ catalog.Call) (string, error) {
			if err := work(ctx, time.Second); err != nil {
				return "", err
			}
			_, err := ask.ListRoots(ctx, "roots") // the suite's client has none
			return "", err
		}),
		job(tool("confirm", "delete"), func(ctx context.Context, _ catalog.Call) (string, error) {
			f, err := ask.Elicit(ctx, "confirm", "Delete it?", one("confirm", "boolean"))
			return fmt.Sprint(f.Action), err
		}),
		job(tool("multi", "input"), func(ctx context.Context, _ catalog.Call) (string, error) {
			got, err := ask.All(ctx, ask.FormQuestion("one", "Who?", one("name", "string")), ask.FormQuestion("two", "Sure?", one("confirm", "boolean")))
			return fmt.Sprint(len(got)), err
		}),
		job(tool("test", "tool_with_task"), func(ctx context.Context, _ catalog.Call) (string, error) {
			f, err := ask.Elicit(ctx, "user_name", "What is your name?", one("name", "string"))
			return string(f.Content), err
		}),
	}
}
