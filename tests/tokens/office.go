package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/tests/workbench/office"
	"github.com/koan-go/koan/tests/workbench/seed"
)

// request is one of WorkBench's requests.
type request struct {
	Script string            `json:"script"`
	Args   map[string]string `json:"args"`
}

// domain is what all requests of one of WorkBench's domains took.
type domain struct {
	name     string
	requests int
	calls    int
	entities []string // that they are about
	each     cost     // definitions once, the rest of all requests
	tools    cost
	code     cost
}

func (d *domain) add(w conversation) {
	d.requests++
	d.calls += w.calls
	for _, sum := range []struct {
		of   *cost
		more cost
	}{{&d.each, w.each}, {&d.tools, w.tools}, {&d.code, w.code}} {
		sum.of.definitions = sum.more.definitions
		sum.of.arguments += sum.more.arguments
		sum.of.results += sum.more.results
	}
	d.tools.results -= w.described // once for all requests
	for _, e := range w.entities {
		if !slices.Contains(d.entities, e) {
			d.entities = append(d.entities, e)
		}
	}
}

// workbench runs the scripts of WorkBench's requests, each once as a dry run, and counts
// what they took, by domain.
func workbench(c counter, folder string) ([]*domain, error) {
	data, err := os.MkdirTemp("", "koan-tokens-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(data)
	app, err := framework.New(context.Background(), office.App(), framework.Options{
		Log: slog.New(slog.DiscardHandler),
		Config: framework.Source{Flags: map[string]string{
			"database": "sqlite://" + data, seed.Key: filepath.Join(folder, "testdata", "tables"),
		}},
	})
	if err != nil {
		return nil, err
	}
	defer func() { _ = app.Stop(context.Background()) }()
	asked, err := requests(filepath.Join(folder, "testdata", "tasks.jsonl"))
	if err != nil {
		return nil, err
	}
	var out []*domain
	for _, r := range asked {
		text, err := os.ReadFile(filepath.Join(folder, "scripts", r.Script+".js"))
		if err != nil {
			return nil, err
		}
		w, err := execute(c, app, r.Script, execution{Code: string(text), Args: r.Args, DryRun: true})
		if err != nil {
			return nil, fmt.Errorf("%s, %v: %w", r.Script, r.Args, err)
		}
		name, _, _ := strings.Cut(r.Script, "-")
		if len(out) == 0 || out[len(out)-1].name != name { // they are sorted
			out = append(out, &domain{name: name})
		}
		out[len(out)-1].add(w)
	}
	for _, d := range out {
		about, err := described(c, app.Snapshot(), app, d.entities)
		if err != nil {
			return nil, err
		}
		d.tools.definitions += about
	}
	return out, nil
}

func requests(file string) ([]request, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var out []request
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r request
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		out = append(out, r)
	}
	return out, lines.Err()
}
