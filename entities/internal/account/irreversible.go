package account

import (
	"slices"

	"github.com/koan-go/koan/entities/internal/changes"
	"github.com/koan-go/koan/entities/internal/model"
)

// Irreversible implements store.Imager.
func (t *Account) Irreversible() string { return t.irreversible }

// whyIrreversible says why an undo could not restore the rows that are gone: none of those that require
// each other can be created first. A row that requires itself can be where its id is known before.
func (t *History) whyIrreversible() (string, error) {
	requires := map[*model.Kind]bool{}
	gone := map[changes.Row]*Past{}
	var order []changes.Row // that in which the rows are on their pages
	for _, p := range t.order {
		if !p.gone {
			continue
		}
		does, known := requires[p.kind]
		if !known {
			does = requiresRows(t.Model, p.kind, t.tables[p.kind].Columns)
			requires[p.kind] = does
		}
		if does { // one that requires nothing can be created first
			at := changes.RowOf(p.kind, p.id)
			gone[at], order = p, append(order, at)
		}
	}
	const underWay, over = 1, 2
	state := map[changes.Row]int{}
	for _, start := range order {
		// A walk in depth that keeps its own stack: rows may form a long chain.
		for stack := []changes.Row{start}; len(stack) > 0; {
			at := stack[len(stack)-1]
			if state[at] != 0 {
				state[at] = over
				stack = stack[:len(stack)-1]
				continue
			}
			state[at] = underWay
			required, err := t.required(gone[at])
			if err != nil {
				return "", err
			}
			for _, next := range required {
				switch own := next == at; {
				case gone[next] == nil, own && gone[at].kind.Restores():
				case own, state[next] == underWay:
					return "it deleted rows that require each other, or one that requires itself, and none of them could be created first", nil
				case state[next] == 0:
					stack = append(stack, next)
				}
			}
		}
	}
	return "", nil
}

// requiresRows reports whether rows of a kind refer to rows that they cannot do without.
func requiresRows(m *model.Model, k *model.Kind, columns []string) bool {
	return slices.ContainsFunc(columns, func(column string) bool { return !IsNullable(k, column) && Referred(m, k, column) != nil })
}

// required returns the rows that a row referred to and could not do without.
func (t *History) required(p *Past) (out []changes.Row, err error) {
	row, err := t.Row(p)
	if err != nil {
		return nil, err
	}
	for i, column := range t.tables[p.kind].Columns {
		if row[i] == nil || IsNullable(p.kind, column) {
			continue
		}
		target := Referred(t.Model, p.kind, column)
		if target == nil {
			continue
		}
		if id, err := target.ParseID((*row[i])[1:]); err == nil {
			out = append(out, changes.RowOf(target, id))
		}
	}
	return out, nil
}
