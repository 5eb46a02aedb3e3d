package entschema

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/koan-go/koan/entities"
	"github.com/koan-go/koan/entities/shim"
)

// Survey loads the schemas of a folder, and returns the text of a koan.yaml that serves them, with what it found
// as comments. It writes nothing.
func Survey(ctx context.Context, dir string) (_ *entities.Survey, err error) {
	s, err := Open(ctx, dir)
	if err != nil {
		return nil, err
	}
	if err := s.Close(); err != nil {
		return nil, err
	}
	place, err := yaml.Marshal(map[string]string{"schema": filepath.ToSlash(dir)})
	if err != nil {
		return nil, err
	}
	out := &entities.Survey{Entities: len(s.App.Graph.Entities), NotServed: len(s.NotServed)}
	links := map[string]bool{}
	var b strings.Builder
	b.WriteString("# What `koan init` found. `koan serve` serves it; docs/howto/ent-schemas.md says what can be set here.\n")
	b.Write(place)
	b.WriteString("# Where the rows are kept: sqlite://FOLDER or postgres://USER@HOST/DATABASE. Without it, in your data folder.\n# database: sqlite://./data\n# Entities:\n")
	for _, e := range s.App.Graph.Entities {
		var names []string
		for i := range e.Resource.Fields {
			names = append(names, e.Resource.Fields[i].Name)
		}
		for i := range e.Edges {
			names = append(names, e.Edges[i].Name+" -> "+e.Edges[i].Target)
			if e.Edges[i].JoinTable != "" {
				links[e.Edges[i].JoinTable] = true
			}
		}
		fmt.Fprintf(&b, "#   %s: %s\n", e.Resource.Name, strings.Join(names, ", "))
	}
	out.Links = len(links)
	remarks(&b, "Not served", s.NotServed)
	remarks(&b, "Code that does not run here", s.NotRun)
	out.Config = b.String()
	return out, nil
}

// remarks writes remarks as comments.
func remarks(b *strings.Builder, title string, all []shim.Remark) {
	if len(all) == 0 {
		return
	}
	fmt.Fprintf(b, "# %s:\n", title)
	for _, r := range all {
		fmt.Fprintf(b, "#   %s: %s\n", r.Name, strings.Join(strings.Fields(r.Text), " "))
	}
}
