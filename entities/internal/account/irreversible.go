package account

import (
	"github.com/koan-go/koan/entities/internal/changes"
	"github.com/koan-go/koan/entities/internal/model"
)

// Irreversible implements store.Imager.
func (t *Account) Irreversible() string { return t.irreversible }

// whyIrreversible says why an undo could not restore the rows that are gone: none of those that require
// each other can be created first. A row that requires itself can be where its id is known before.
func (t *History) whyIrreversible(now map[*model.Kind]map[string]HeldRow) string {
	gone := map[changes.Row]*Past{}
	for _, p := range t.order {
		if p.Row != nil && now[p.kind][p.kind.FormatID(p.id)] == nil {
			gone[changes.RowOf(p.kind, p.id)] = p
		}
	}
	const underWay, over = 1, 2
	state := map[changes.Row]int{}
	for start := range gone {
		// A walk in depth that keeps its own stack: rows may form a long chain.
		for stack := []changes.Row{start}; len(stack) > 0; {
			at := stack[len(stack)-1]
			if state[at] != 0 {
				state[at] = over
				stack = stack[:len(stack)-1]
				continue
			}
			state[at] = underWay
			for _, next := range t.required(gone[at]) {
				switch own := next == at; {
				case gone[next] == nil, own && gone[at].kind.Restores():
				case own, state[next] == underWay:
					return "it deleted rows that require each other, or one that requires itself, and none of them could be created first"
				case state[next] == 0:
					stack = append(stack, next)
				}
			}
		}
	}
	return ""
}

// required returns the rows that a row referred to and could not do without.
func (t *History) required(p *Past) (out []changes.Row) {
	for i, column := range t.tables[p.kind].Columns {
		if p.Row[i] == nil || IsNullable(p.kind, column) {
			continue
		}
		target := Referred(t.Model, p.kind, column)
		if target == nil {
			continue
		}
		if id, err := target.ParseID((*p.Row[i])[1:]); err == nil {
			out = append(out, changes.RowOf(target, id))
		}
	}
	return out
}
