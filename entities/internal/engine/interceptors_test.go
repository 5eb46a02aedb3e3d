package engine_test

import (
	"context"
	"fmt"
	"testing"

	stdent "entgo.io/ent"
	"entgo.io/ent/dialect/sql"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/entities"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/tests/office/ent"
	"github.com/koan-go/koan/tests/office/ent/document"
	"github.com/koan-go/koan/tests/office/ent/intercept"
	"github.com/koan-go/koan/tests/office/ent/person"
	"github.com/koan-go/koan/tests/office/viewer"
)

func TestInterceptorsThatCannotHoldAreRefusedAtTheStart(t *testing.T) {
	t.Parallel()
	if forEach(t, TestInterceptorsThatCannotHoldAreRefusedAtTheStart) {
		return
	}
	for name, add := range map[string]func(*ent.Client){
		"a function that wraps": func(c *ent.Client) {
			c.Folder.Intercept(ent.InterceptFunc(func(next ent.Querier) ent.Querier {
				return ent.QuerierFunc(func(ctx context.Context, q ent.Query) (ent.Value, error) { return next.Query(ctx, q) })
			}))
		},
		"one of ent's helpers": func(c *ent.Client) {
			c.Intercept(intercept.Func(func(_ context.Context, q intercept.Query) error { q.Limit(10); return nil }))
		},
		"one that does both": func(c *ent.Client) { c.Folder.Intercept(both{}) },
	} {
		t.Run(name, func(t *testing.T) {
			p := entities.Provide(ent.Entities(ent.OnClient(add)), entities.Options{})
			err := p.Start(context.Background(), host{place(t)})
			require.ErrorContains(t, err, "Folder: interceptor 1")
			require.ErrorContains(t, err, "wraps queries")
		})
	}
}

// both is a Traverser that wraps nonetheless.
type both struct{ stdent.TraverseFunc }

func (both) Intercept(next stdent.Querier) stdent.Querier {
	return stdent.QuerierFunc(func(ctx context.Context, q stdent.Query) (stdent.Value, error) { return next.Query(ctx, q) })
}

func TestRulesOnlyChooseRows(t *testing.T) {
	t.Parallel()
	if forEach(t, TestRulesOnlyChooseRows) {
		return
	}
	for name, rule := range map[string]func(*ent.FolderQuery){
		"limit":  func(q *ent.FolderQuery) { q.Limit(1) },
		"offset": func(q *ent.FolderQuery) { q.Offset(1) },
		"fields": func(q *ent.FolderQuery) { q.Select("name") },
	} {
		t.Run(name, func(t *testing.T) {
			o := openOffice(t)
			late := openOffice(t, ent.OnClient(func(c *ent.Client) {
				c.Folder.Intercept(intercept.TraverseFolder(func(ctx context.Context, q *ent.FolderQuery) error {
					if v, _ := viewer.From(ctx); !v.Admin {
						rule(q)
					}
					return nil
				}))
			}))
			require.NotEmpty(t, o.reads("Folder.collection", `{}`))
			f := late.fails(fault.CapabilityUnsupported, "Folder.collection", `{}`)
			require.Contains(t, f.Message, "a rule of Folder")
		})
	}
}

// An interceptor's own failure is no reason to read everything.
func TestFailingInterceptorsRefuse(t *testing.T) {
	t.Parallel()
	if forEach(t, TestFailingInterceptorsRefuse) {
		return
	}
	o := openOffice(t, ent.OnClient(func(c *ent.Client) {
		c.Folder.Intercept(intercept.TraverseFolder(func(ctx context.Context, q *ent.FolderQuery) error {
			if v, _ := viewer.From(ctx); v.Admin {
				return nil
			}
			q.Where(func(s *sql.Selector) { s.AddError(fmt.Errorf("a predicate that cannot be")) })
			return nil
		}))
		c.Person.Intercept(intercept.TraversePerson(func(ctx context.Context, q *ent.PersonQuery) error {
			v, _ := viewer.From(ctx)
			if v.Admin {
				return nil
			}
			if v.Tenant == "bob" {
				return fmt.Errorf("no tenant office is open")
			}
			// A rule that asks the database does so in the run's transaction.
			n, err := ent.FromContext(ctx).Document.Query().Where(document.Tenant(v.Tenant)).Count(ctx)
			if err == nil && n == 0 {
				q.Where(person.ID(0))
			}
			return err
		}))
	}))
	require.Contains(t, o.fails(fault.Forbidden, "Folder.collection", `{}`).Message, "a predicate that cannot be")
	require.Contains(t, o.people["bob"].fails(fault.Forbidden, "Person.collection", `{}`).Message, "no tenant office is open")
	require.Len(t, o.call("Person.collection", `{}`)["items"], 2)
	o.call("Document.delete-by-query", `{"filter":{},"all":true}`)
	require.Len(t, o.call("Person.collection", `{}`)["items"], 0)
}

// What is asked while somebody reads must not write.
func TestRulesDoNotWriteWhileReading(t *testing.T) {
	t.Parallel()
	if forEach(t, TestRulesDoNotWriteWhileReading) {
		return
	}
	o := openOffice(t, ent.OnClient(func(c *ent.Client) {
		c.Folder.Intercept(intercept.TraverseFolder(func(ctx context.Context, _ *ent.FolderQuery) error {
			if v, _ := viewer.From(ctx); v.Admin {
				return nil
			}
			return ent.FromContext(ctx).Entry.Create().SetID("spy").SetText("x").Exec(ctx)
		}))
	}))
	o.fails(fault.Forbidden, "Folder.collection", `{}`)
	require.EqualValues(t, 0, o.people["admin"].call("Entry.count", `{}`)["count"])
}
