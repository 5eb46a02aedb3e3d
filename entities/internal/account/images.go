package account

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/koan-go/koan/entities/internal/changes"
	"github.com/koan-go/koan/entities/internal/model"
	"github.com/koan-go/koan/framework/journal"
	"github.com/koan-go/koan/framework/ledger"
	"github.com/koan-go/koan/framework/run/store"
)

// maxLogged bounds the images of one commit that the change log keeps, in bytes: who follows changes reads
// all of a commit at once.
const maxLogged = 8 << 20

// Images implements store.Imager. What the change log keeps is made of the same rows.
func (t *Account) Images(ctx context.Context) (out *journal.Images, complete bool, err error) {
	if !t.Past.keepsPast() {
		return nil, false, nil
	}
	returned := t.Past.asReturned()
	links, err := t.Past.changedLinks(ctx, returned)
	if errors.Is(err, errNoImages) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, t.Verdict(err)
	}
	t.Logged = ledger.Changes{}
	m := imaging{Account: t, out: &journal.Images{}, links: links}
	for rest, n := t.Past.order, fewHeld; len(rest) > 0 && err == nil; {
		some, size := rest[:min(n, len(rest))], 0
		rest = rest[len(some):]
		if size, err = m.add(ctx, some, returned); size > journal.PageBytes/2 { // rows at hand take about a page
			n = max(1, n/2)
		} else {
			n = min(maxHeld, 2*n)
		}
	}
	if errors.Is(err, errNoImages) {
		t.Logged = ledger.Changes{}
		return nil, false, nil
	}
	if err == nil {
		t.irreversible, err = t.Past.whyIrreversible()
	}
	if err == nil {
		for range t.Past.Unnamed {
			err = errors.Join(err, m.out.Add(journal.Image{Set: t.Set, Action: string(store.Update)}))
		}
	}
	if err != nil {
		return nil, false, t.Verdict(err)
	}
	return m.out, true, nil
}

// imaging is the making of images.
type imaging struct {
	*Account
	out     *journal.Images
	held    int // bytes that are counted for them
	raw     int // bytes of them before they are packed
	left    int // bytes of the rows as they are now, likewise
	links   map[*Past][]LinkState
	written map[changes.Row]bool // nil before somebody asked
	logged  int                  // bytes of what the change log keeps
}

// add adds the images of some rows, which take so many bytes now.
func (m *imaging) add(ctx context.Context, some []*Past, returned map[changes.Row]HeldRow) (size int, err error) {
	now, size, err := m.rowsNow(ctx, some, returned)
	defer func() { m.Attempt.HoldImage(-size) }()
	if err != nil {
		return size, err
	}
	for _, p := range some {
		more, err := m.addOne(p, now[changes.RowOf(p.kind, p.id)])
		size += more
		if err != nil {
			return size, err
		}
	}
	more := m.takes() - m.held
	m.held += more
	if !m.Attempt.HoldImage(more) { // less where a page was packed
		return size, errNoImages
	}
	return size, nil
}

// addOne adds the image of a row, and returns how many bytes more are counted for the moment.
func (m *imaging) addOne(p *Past, is HeldRow) (size int, err error) {
	was, err := m.Past.Row(p)
	if err != nil {
		return 0, err
	}
	if p.gone = p.There && is == nil; p.gone { // an undo will have read it here
		if size = SizeOfRow(was); !m.Attempt.HoldImage(size) {
			return 0, errNoImages
		}
	}
	image, changed, err := m.imageOf(p, was, is, m.links[p], false)
	if err != nil {
		return size, err
	}
	// Who may not read a column must not learn from the images whether it was the same.
	if !changed && !(was != nil && is != nil && m.Tables[p.kind].Guarded && m.wrote(p)) {
		return size, nil
	}
	m.raw += image.Size()
	if is != nil {
		m.left += SizeOfRow(is)
	}
	if err := m.out.Add(image); err != nil || !m.logs || m.Logged.Missing != "" {
		return size, err
	}
	return size, m.log(p, image, was, is)
}

// log adds a row to what the change log keeps.
func (m *imaging) log(p *Past, image journal.Image, was, is HeldRow) (err error) {
	if image.Action == string(store.Update) { // the image of another has all columns already
		if image, _, err = m.imageOf(p, was, is, m.links[p], true); err != nil {
			return err
		}
	}
	if m.logged += image.Size(); m.logged > maxLogged {
		m.Logged = ledger.Changes{Missing: "they are more than what the change log keeps of one commit"}
		return nil
	}
	m.Logged.Images = append(m.Logged.Images, image)
	return nil
}

// takes is about how many bytes the images take. What the run leaves of rows counts as well, packed as they
// are but for the last page: an undo keeps rows as it finds them, besides what they have to be again, which
// the run has kept.
func (m *imaging) takes() int {
	n := m.out.Size()
	if m.raw > 0 && !m.Past.Undoing {
		n += min(m.left, int(int64(m.left)*int64(n)/int64(m.raw))+journal.PageBytes)
	}
	return n
}

// wrote reports whether a row was written, and not only looked at.
func (m *imaging) wrote(p *Past) bool {
	if m.written == nil {
		m.written = m.Log.Written()
	}
	return m.written[changes.RowOf(p.kind, p.id)]
}

// rowsNow reads rows as they are now, except those that came back with the statement that wrote them. size
// is what is counted for them.
func (m *imaging) rowsNow(ctx context.Context, some []*Past, returned map[changes.Row]HeldRow) (now map[changes.Row]HeldRow, size int, err error) {
	now = make(map[changes.Row]HeldRow, len(some))
	ids := map[*model.Kind][]any{}
	for _, p := range some {
		if row, known := returned[changes.RowOf(p.kind, p.id)]; known {
			now[changes.RowOf(p.kind, p.id)] = row
		} else {
			ids[p.kind] = append(ids[p.kind], p.id)
		}
	}
	for k, of := range ids {
		read := make(map[string]HeldRow, len(of))
		err := m.Past.readHeld(ctx, k, of, read, func(n int) bool { size += n; return m.Attempt.HoldImage(n) })
		if err != nil {
			return nil, size, err
		}
		for id, row := range read {
			now[changes.Row{Kind: k, ID: id}] = row
		}
	}
	return now, size, nil
}

// imageOf makes the image of a row of what it was and is. whole has of an updated row also the columns that are the
// same, in After alone.
func (m *imaging) imageOf(p *Past, was, is HeldRow, links []LinkState, whole bool) (image journal.Image, changed bool, err error) {
	info := m.Tables[p.kind]
	var open, secret RowState
	image = journal.Image{Entity: p.kind.Name(), Set: m.Set, ID: p.kind.FormatID(p.id), Action: string(store.Update)}
	switch {
	case was == nil && is == nil:
		return image, false, nil
	case was == nil:
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
		if was != nil && is != nil && SameHeld(was[i], is[i]) {
			if whole {
				put(&part.After, column, is[i])
			}
			continue
		}
		if was != nil {
			put(&part.Before, column, was[i])
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
		if !t.Attempt.HoldImage(linkBytes * len(now)) { // as an undo will, before it takes them away
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
