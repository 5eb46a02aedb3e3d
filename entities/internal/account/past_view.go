package account

import (
	"context"

	"github.com/koan-go/koan/entities/internal/filter"
	"github.com/koan-go/koan/entities/internal/model"
	"github.com/koan-go/koan/entities/internal/read"
	"github.com/koan-go/koan/entities/internal/rules"
	"github.com/koan-go/koan/entities/internal/transaction"
	"github.com/koan-go/koan/framework/fault"
)

// PastView is what somebody may know of rows as they were. Policies decide about such a row with
// everything else that they ask the database for as it is now.
type PastView struct {
	*transaction.Tx
	Tables Tables
	By     *rules.View
}

// Row returns a row as it was, nil where the viewer may not read it or a condition is not about it; nil is
// no condition. sealed says why values of it that nobody may read are not known, "" where they are.
func (v *PastView) Row(ctx context.Context, k *model.Kind, id any, row map[string]Held, sealed string, condition *filter.Tree) ([]byte, error) {
	rule, err := v.By.RowsOrNone(k)
	if err != nil {
		return nil, err
	}
	info := v.Tables[k]
	past := read.Past{Columns: info.Columns, Values: make([]any, len(info.Columns))}
	for i, column := range info.Columns {
		held, known := row[column]
		if !known && rule != nil && sealed != "" && info.Secret[i] {
			return nil, fault.Newf(fault.CapabilityUnsupported, "a policy has to decide about a change of %s, and %s", k.Name(), sealed).
				WithHint("Servers of one database need the same server.secret.")
		}
		if past.Values[i], err = Bound(held); err != nil {
			return nil, err
		}
	}
	return v.Reader.PastImage(ctx, v.SQL, v.By.Of(k).Entity, k.BoundID(id), past, rule, condition)
}

// ReadsLinks reports whether the viewer may read one of the relationships of a kind that have changed.
func (v *PastView) ReadsLinks(k *model.Kind, links []LinkState) bool {
	for _, l := range links {
		for _, j := range v.Tables[k].Joins {
			if j.Table == l.Table && j.Own == l.Own && j.Edge != nil && v.By.ReadsEdge(k, j.Edge) && v.By.Shows(j.Edge.Target) {
				return true
			}
		}
	}
	return false
}
