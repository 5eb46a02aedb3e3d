package model

import (
	"encoding/json"
	"fmt"

	"github.com/koan-go/koan/entities/internal/filter"
	"github.com/koan-go/koan/framework/fault"
)

// The bounds of maxAffected. Ids are decided before anything is written, so what
// a call keeps in memory is bounded by it too.
const (
	defaultAffected = 1000
	MostAffected    = 100_000
)

// QueryInput is the checked input of update-by-query and delete-by-query.
type QueryInput struct {
	Filter      *filter.Tree
	Guards      filter.Guards
	Changes     *Values // nil for delete-by-query
	MaxAffected int
	confirmed   bool // by `all` or `maxAffected`, that the filter may match everything
}

func decodeUpdateByQuery(d *decoder, raw json.RawMessage) any {
	in, members := d.query(raw, "update-by-query")
	if v, ok := d.need(members, "changes"); ok {
		before := len(d.details)
		d.changing = true
		in.Changes = d.model(v, "/changes", false)
		d.settle(in.Changes, false)
		if len(d.details) == before && in.Changes.Empty() && len(in.Changes.Fixed) == 0 {
			d.fail("/changes", "there is nothing to change")
		}
	}
	return in
}

func decodeDeleteByQuery(d *decoder, raw json.RawMessage) any {
	in, _ := d.query(raw, "delete-by-query")
	return in
}

// query decodes what both operations have. A filter is required, and one without a
// condition needs `all` or `maxAffected`: a query whose condition was forgotten would
// affect everything.
func (d *decoder) query(raw json.RawMessage, op string) (*QueryInput, map[string]any) {
	in := &QueryInput{MaxAffected: defaultAffected}
	members := d.open(raw, op)
	if members == nil {
		return in, nil
	}
	if in.confirmed = d.flag(members, "all"); in.confirmed {
		in.MaxAffected = MostAffected
	}
	if most, ok := members["maxAffected"]; ok {
		n, ok := filter.Integer(most)
		if !ok || n < 1 || n > MostAffected {
			d.wrong("/maxAffected", fmt.Sprintf("an integer from 1 to %d", MostAffected), most)
		}
		in.MaxAffected, in.confirmed = int(n), true
	}
	v, ok := members["filter"]
	if !ok {
		d.fail("/filter", "filter is required; {} with all: true matches every %s", d.kind.Name())
		return in, members
	}
	tree, details := filter.Check(v, d.kind.Entity, d.graph, "/filter", &in.Guards)
	in.Filter = tree
	d.details = append(d.details, details...)
	if len(d.details) == 0 && in.Unconfirmed() {
		d.details = append(d.details, MatchesAll(d.kind))
	}
	return in, members
}

// Unconfirmed reports whether the filter matches everything, and nobody said that it may.
func (in *QueryInput) Unconfirmed() bool { return !in.confirmed && in.Filter.MatchesAll() }

// MatchesAll is the problem of a filter that nobody confirmed.
func MatchesAll(k *Kind) fault.Detail {
	return fault.Detail{Path: "/filter", Message: "the filter has no condition, so it matches every " + k.Name() + "; confirm with all: true, or set maxAffected to the most that may match"}
}
