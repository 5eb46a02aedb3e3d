package files

import (
	"context"
	"io"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/run"
)

// Opened returns the store for providers that open and create files themselves.
func (p *Provider) Opened() (catalog.Files, error) {
	s, err := p.Store()
	if err != nil {
		return nil, err
	}
	return opened{s}, nil
}

// opened is a store as other providers see it.
type opened struct{ store *Store }

// Open implements catalog.Files.
func (o opened) Open(ctx context.Context, who auth.Principal, id string) (io.ReadSeekCloser, catalog.File, error) {
	body, f, err := o.store.Open(ctx, who, id)
	return body, f.inCatalog(), err
}

// Create implements catalog.Files.
func (o opened) Create(ctx context.Context, who auth.Principal, name, mediaType string, body io.Reader) (catalog.File, error) {
	f, err := o.store.createInRun(ctx, who, name, mediaType, body)
	if err != nil {
		return catalog.File{}, err
	}
	if attempt, _, ok := run.Current(ctx); ok {
		if n, ok := run.PartOf[*named](attempt.Run()); ok {
			n.noteMade(f.ID)
		}
	}
	return f.inCatalog(), nil
}

func (f File) inCatalog() catalog.File {
	return catalog.File{ID: f.ID, Name: f.Name, Type: f.Type, Size: f.Size}
}

// noteMade notes a file that the run has created.
func (n *named) noteMade(id string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.made == nil {
		n.made = map[string]bool{}
	}
	n.made[id] = true
}
