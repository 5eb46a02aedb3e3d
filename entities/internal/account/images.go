package account

import (
	"context"
	"encoding/json"
	"errors"
	"maps"

	"github.com/koan-go/koan/entities/internal/changes"
	"github.com/koan-go/koan/entities/internal/model"
	"github.com/koan-go/koan/framework/journal"
	"github.com/koan-go/koan/framework/ledger"
	"github.com/koan-go/koan/framework/run/store"
)

// Images implements store.Imager. What the change log keeps is made of the same rows.
func (t *Account) Images(ctx context.Context) (out []journal.Image, complete bool, err error) {
	if !t.Past.keepsPast() {
		return nil, false, nil
	}
	returned := t.Past.asReturned()
	ids, now := map[*model.Kind][]any{}, map[*model.Kind]map[string]HeldRow{}
	for _, p := range t.Past.order {
		if row, known := returned[changes.RowOf(p.kind, p.id)]; known {
			if now[p.kind] == nil {
				now[p.kind] = map[string]HeldRow{}
			}
			now[p.kind][p.kind.FormatID(p.id)] = row
		} else {
			ids[p.kind] = append(ids[p.kind], p.id)
		}
	}
	for k, some := range ids {
		read, err := t.Past.heldRows(ctx, k, some)
		if now[k] == nil {
			now[k] = read
		} else {
			maps.Copy(now[k], read)
		}
		if errors.Is(err, errNoImages) {
			return nil, false, nil
		}
		if err != nil {
			return nil, false, t.Verdict(err)
		}
	}
	links, err := t.Past.changedLinks(ctx, returned)
	if errors.Is(err, errNoImages) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, t.Verdict(err)
	}
	t.irreversible = t.Past.whyIrreversible(now)
	t.Logged = ledger.Changes{}
	written := t.Log.Written()
	for _, p := range t.Past.order {
		is := now[p.kind][p.kind.FormatID(p.id)]
		image, changed, err := t.Past.imageOf(p, is, links[p], false)
		if err != nil {
			return nil, false, err
		}
		if !changed && !(p.Row != nil && is != nil && t.Tables[p.kind].Guarded && written[changes.RowOf(p.kind, p.id)]) {
			continue // who may not read a column must not learn from it whether it was the same
		}
		out = append(out, image)
		if !t.logs {
			continue
		}
		if image.Action == string(store.Update) { // the image of another has all columns already
			if image, _, err = t.Past.imageOf(p, is, links[p], true); err != nil {
				return nil, false, err
			}
		}
		t.Logged.Images = append(t.Logged.Images, image)
	}
	for range t.Past.Unnamed {
		out = append(out, journal.Image{Set: t.Set, Action: string(store.Update)})
	}
	return out, true, nil
}

// imageOf makes the image of a row. whole has of an updated row also the columns that are the
// same, in After alone.
func (t *History) imageOf(p *Past, is HeldRow, links []LinkState, whole bool) (image journal.Image, changed bool, err error) {
	info := t.tables[p.kind]
	var open, secret RowState
	image = journal.Image{Entity: p.kind.Name(), Set: t.Set, ID: p.kind.FormatID(p.id), Action: string(store.Update)}
	switch {
	case p.Row == nil && is == nil:
		return image, false, nil
	case p.Row == nil:
		image.Action = string(store.Create)
	case is == nil:
		image.Action = string(store.Delete)
	}
	put := func(to *map[string]Held, column string, v Held) {
		if *to == nil {
			*to = map[string]Held{}
		}
		(*to)[column] = v
	}
	for i, column := range info.Columns {
		part := &open
		if info.Secret[i] {
			part = &secret
		}
		if p.Row != nil && is != nil && SameHeld(p.Row[i], is[i]) {
			if whole {
				put(&part.After, column, is[i])
			}
			continue
		}
		if p.Row != nil {
			put(&part.Before, column, p.Row[i])
		}
		if is != nil {
			put(&part.After, column, is[i])
		}
	}
	open.Links = links
	changed = open.Before != nil || open.After != nil || secret.Before != nil || secret.After != nil || links != nil
	if image.State, err = json.Marshal(open); err == nil && (secret.Before != nil || secret.After != nil) {
		image.Secret, err = json.Marshal(secret)
	}
	return image, changed, err
}

// changedLinks returns the links that differ from what the transaction found, with the rows
// that they link: with both where it has written both.
// returned are rows after whose write nothing was done: nothing is linked with them that was not before.
func (t *History) changedLinks(ctx context.Context, returned map[changes.Row]HeldRow) (map[*Past][]LinkState, error) {
	out := map[*Past][]LinkState{}
	for _, l := range t.links {
		if _, known := returned[changes.RowOf(l.of.kind, l.of.id)]; known {
			continue
		}
		s := LinkState{Table: l.join.Table, Own: l.join.Own, Other: l.join.Other}
		now, err := t.heldLinks(ctx, l.of, l.join)
		if err != nil {
			return nil, err
		}
		if !t.Attempt.HoldImage(linkBytes * (1 + len(now))) { // as an undo will, before it takes them away
			return nil, errNoImages
		}
		there := make(map[string]bool, len(now))
		for _, other := range now {
			there[other] = true
			p := pair{l.join.Table, l.join.Own, l.join.Other, l.id, other}
			if was, _ := t.lookup(p); !was {
				s.Added = append(s.Added, other)
			}
		}
		for _, other := range l.found {
			p := pair{l.join.Table, l.join.Own, l.join.Other, l.id, other}
			if was, _ := t.lookup(p); was && !there[other] {
				s.Gone = append(s.Gone, other)
			}
		}
		if s.Added != nil || s.Gone != nil {
			out[l.of] = append(out[l.of], s)
		}
	}
	return out, nil
}
