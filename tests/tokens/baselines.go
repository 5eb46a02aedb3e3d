package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exposure"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/tests/portable"
)

// baseline is another way to the same rows: what a client reads at first, and what it
// reads of one table before it can write a row.
type baseline struct {
	name, version string
	tools         int
	list, table   int // tokens
	does          string
}

// does says what the servers of npm can and cannot do.
var does = map[string]string{
	"@modelcontextprotocol/server-postgres": "one SQL query in a read-only transaction; writes nothing",
	"@bytebase/dbhub":                       "any SQL, or only reads where it is configured so",
	"@executeautomation/database-server":    "any SQL, and tables made, changed and dropped",
	"@henkey/postgres-mcp-server":           "any SQL, and the administration of the database",
	"mcp-postgres-full-access":              "any SQL; a write waits for a second call that commits it",
	"mcp-server-sqlite-npx":                 "any SQL",
	"mcp-sqlite":                            "any SQL; rows of one table by equality",
}

// baselines counts what the database servers of npm list, as testdata/baselines has it
// (make baselines), and what the app lists itself.
func baselines(c counter, app *framework.Instance, dir string) ([]baseline, error) {
	out, err := own(c, app)
	if err != nil {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("%s has no lists (%w)", dir, err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var kept struct {
			Name, Version string
			Tools         []json.RawMessage
			Call          json.RawMessage
			Content       []struct{ Text string }
		}
		if err := json.Unmarshal(raw, &kept); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		b := baseline{name: kept.Name, version: kept.Version, tools: len(kept.Tools), does: does[kept.Name]}
		list, err := json.Marshal(map[string]any{"tools": kept.Tools})
		if err != nil {
			return nil, err
		}
		if b.list, err = c.count(list); err != nil {
			return nil, err
		}
		texts := []string{string(kept.Call)}
		for _, one := range kept.Content {
			texts = append(texts, one.Text)
		}
		if b.table, err = c.countAll(texts...); err != nil {
			return nil, err
		}
		out = append(out, b)
	}
	return out, nil
}

// own are the app's own lists.
func own(c counter, app *framework.Instance) ([]baseline, error) {
	const entity = "PantryItem"
	s := app.Snapshot()
	only, err := alone(s, entity)
	if err != nil {
		return nil, err
	}
	out := []baseline{
		{name: "Koan, generic", does: "checked reads and writes of every entity, with rights, hooks, relationships and the journal", tools: 0},
		{name: "Koan, the tools of " + entity, does: "the same for one entity, whose fields stand in the list"},
		{name: "Koan, code", does: "scripts over all entities, as one transaction"},
	}
	for i, list := range []json.RawMessage{generic.list(s), perEntity.list(only), code.list(s)} {
		tools, err := portable.Read(list)
		if err != nil {
			return nil, err
		}
		out[i].tools = len(tools)
		if out[i].list, err = c.count(list); err != nil {
			return nil, err
		}
	}
	out[0].table, err = described(c, s, app, []string{entity})
	return out, err
}

// alone is the app with one entity and nothing else.
func alone(s *catalog.Snapshot, entity string) (*catalog.Snapshot, error) {
	o := catalog.Offer{Resources: []*catalog.Resource{s.Resource(entity)}}
	for _, op := range s.Operations() {
		if op.Resource == entity {
			o.Operations = append(o.Operations, op)
		}
	}
	return catalog.NewSnapshot(o)
}

// described is what entities.describe costs for some entities, call and result.
func described(c counter, s *catalog.Snapshot, app *framework.Instance, entities []string) (int, error) {
	slices.Sort(entities)
	input, err := json.Marshal(map[string]any{"entities": entities})
	if err != nil {
		return 0, err
	}
	id := catalog.Generic(catalog.DescribeOp)
	out, _, err := app.Engine().Invoke(context.Background(), run.Request{
		View: s.View(auth.Local(), exposure.Full, false), Principal: auth.Local(), ID: id, Input: input, Surface: "app",
	})
	if err != nil {
		return 0, err
	}
	return c.countAll(catalog.Underscored(s.ToolName(id)), string(input), string(out))
}
