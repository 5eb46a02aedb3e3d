package changes_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/internal/changes"
	"github.com/koan-go/koan/entities/internal/model"
	"github.com/koan-go/koan/entities/shim"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/run/store"
)

func kindNamed(name string) *model.Kind {
	return &model.Kind{Kind: &shim.Kind{Type: name, IDForm: shim.TextIDs[string](), Entity: &descriptor.Entity{Resource: catalog.Resource{Name: name}}}}
}

func TestNetJoinsTheWritesToEachRow(t *testing.T) {
	k := kindNamed("Todo")
	var l changes.Log
	for _, w := range []changes.Write{
		{ID: "made", Action: store.Create},
		{ID: "changed", Action: store.Update},
		{ID: "made", Action: store.Update},
		{ID: "gone", Action: store.Delete},
		{ID: "brief", Action: store.Create},
		{ID: "brief", Action: store.Delete},
		{ID: "again", Action: store.Delete},
		{ID: "again", Action: store.Create},
	} {
		w.Kind = k
		l.Begin(w)
	}
	l.Void(l.Begin(changes.Write{Kind: k, ID: "void", Action: store.Delete}))
	mark := l.Len()
	l.Begin(changes.Write{Kind: k, ID: "undone", Action: store.Create})
	require.Len(t, l.Since(mark), 1)
	l.Undo(mark)
	want := []store.Change{
		{Entity: "Todo", Set: "s", ID: "made", Action: store.Create},
		{Entity: "Todo", Set: "s", ID: "changed", Action: store.Update},
		{Entity: "Todo", Set: "s", ID: "gone", Action: store.Delete},
		{Entity: "Todo", Set: "s", ID: "again", Action: store.Update},
	}
	require.Equal(t, want, l.Count("s", func(*model.Kind) bool { return false }))
	var net []store.Change
	for _, n := range l.Net() {
		if n.Was || n.Is {
			net = append(net, store.Change{Entity: n.Kind.Name(), Set: "s", ID: n.ID, Action: n.Action()})
		}
	}
	require.Equal(t, want, net)
}

func TestLinkedBeforeLeavesOutWhatTheTransactionAdded(t *testing.T) {
	todo, label := kindNamed("Todo"), kindNamed("Label")
	e := &model.Edge{JSON: &catalog.Edge{Name: "labels"}, Column: &descriptor.Edge{JoinTable: "todo_labels", JoinOwn: "todo_id", JoinTarget: "label_id"}, Target: label}
	var l changes.Log
	link := func(other string, was, readable bool) {
		l.AddLink(changes.Link{Kind: todo, Edge: e, ID: "t", Other: other, Was: was, Readable: readable, OwnToo: true})
	}
	link("kept", true, true)
	link("removed", true, true)
	link("hidden", true, false)
	link("added", false, true)
	link("kept", false, true) // what is known stays
	at := changes.RowOf(todo, "t")
	require.ElementsMatch(t, []any{"kept", "removed"}, l.LinkedBefore(at, e, []any{"kept", "added"}))

	l.SetBefore(changes.RowOf(label, "new"), changes.Before{})
	link("new", true, true)
	require.ElementsMatch(t, []any{"kept", "removed"}, l.LinkedBefore(at, e, []any{"kept", "added"}), "of a row that the transaction made")
	l.MarkListed(todo, []any{"t"}, []*model.Edge{e})
	link("late", true, true)
	require.ElementsMatch(t, []any{"kept", "removed"}, l.LinkedBefore(at, e, []any{"kept", "added"}), "after all links were listed")
}
