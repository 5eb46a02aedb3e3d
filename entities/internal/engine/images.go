package engine

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"

	"entgo.io/ent/dialect"

	"github.com/koan-go/koan/entities/internal/changes"
	"github.com/koan-go/koan/entities/internal/ledger"
	"github.com/koan-go/koan/entities/internal/model"
	"github.com/koan-go/koan/entities/internal/sqltext"
	"github.com/koan-go/koan/framework/journal"
	"github.com/koan-go/koan/framework/run/store"
)

// held is a value as a column holds it, in a form that compares and can be bound again to the
// last bit: a letter for its type, and the value. nil is NULL.
type held *string

// heldRow is a row by its table's columns; nil is no row.
type heldRow []held

// past is what a transaction found of a row before its first write to it.
type past struct {
	kind *model.Kind
	id   any
	row  heldRow
}

// pair is a link: a row of a join table.
type pair struct{ table, own, other, ownID, otherID string }

// reversed is the same link, seen from the other side.
func (p pair) reversed() pair { return pair{p.table, p.other, p.own, p.otherID, p.ownID} }

// pastLinks are the links of a row that are known from before the first write to them.
type pastLinks struct {
	of    *past
	join  *join
	id    string   // of the row, as the column holds it
	found []string // at the other side
}

// history is what a transaction found of what it has written, for an undo. Its zero value is
// empty.
type history struct {
	rows    map[changes.Row]*past
	order   []*past
	listed  map[pair]*pastLinks // by a pair without otherID
	links   []*pastLinks
	known   map[pair]bool // whether the transaction found it
	unnamed int           // writes to rows of no entity
}

// errNoImages ends the making of images where the attempt keeps none any more.
var errNoImages = errors.New("entities: no images are kept")

// keepsPast reports whether what is written is to be kept as it was.
func (t *tx) keepsPast() bool {
	if t.attempt.KeepsImages() {
		return true
	}
	t.past = history{}
	return false
}

// keepPast keeps rows as they are, before they are written for the first time; linked also
// with what they are linked with.
func (t *tx) keepPast(ctx context.Context, k *model.Kind, ids []any, linked bool) error {
	info := t.engine.tables[k]
	if info == nil || !t.keepsPast() {
		return nil
	}
	var unknown []any
	for _, id := range ids {
		switch {
		case t.past.rows[changes.RowOf(k, id)] != nil:
		case t.log.CreatedHere(k, id): // by a mutation whose hooks still run
			t.keepCreated(k, id)
		default:
			unknown = append(unknown, id)
		}
	}
	if len(unknown) > 0 {
		now, err := t.heldRows(ctx, k, unknown)
		if errors.Is(err, errNoImages) {
			return nil
		}
		if err != nil {
			return err
		}
		for _, id := range unknown {
			t.past.add(k, id, now[k.FormatID(id)])
		}
	}
	if !linked {
		return nil
	}
	for _, id := range ids {
		if err := t.keepLinks(ctx, t.past.rows[changes.RowOf(k, id)]); err != nil {
			return err
		}
	}
	return nil
}

// keepCreated keeps that a row which was just created was not there, nor anything that it is
// linked with.
func (t *tx) keepCreated(k *model.Kind, id any) {
	info := t.engine.tables[k]
	if info == nil || !t.keepsPast() || t.past.rows[changes.RowOf(k, id)] != nil {
		return
	}
	of := t.past.add(k, id, nil)
	if len(info.joins) == 0 {
		return
	}
	own, err := t.heldID(k, id)
	if err != nil {
		return
	}
	for i := range info.joins {
		t.past.list(of, &info.joins[i], own, nil)
	}
}

func (h *history) add(k *model.Kind, id any, row heldRow) *past {
	p := &past{k, id, row}
	if h.rows == nil {
		h.rows = map[changes.Row]*past{}
	}
	h.rows[changes.RowOf(k, id)] = p
	h.order = append(h.order, p)
	return p
}

// keepLinks keeps what a row is linked with.
func (t *tx) keepLinks(ctx context.Context, of *past) error {
	if of == nil || len(t.engine.tables[of.kind].joins) == 0 {
		return nil
	}
	joins := t.engine.tables[of.kind].joins
	own, err := t.heldID(of.kind, of.id)
	if err != nil {
		return err
	}
	for i := range joins {
		j := &joins[i]
		if t.past.listed[pair{j.table, j.own, j.other, own, ""}] != nil {
			continue
		}
		now, err := t.heldLinks(ctx, of, j)
		if err != nil {
			return err
		}
		if !t.attempt.HoldImage(linkBytes * (1 + len(now))) {
			return nil
		}
		t.past.list(of, j, own, now)
	}
	return nil
}

// list notes all links of a row. One that is new to a row whose links were listed before, from
// the other side, was made by the transaction.
func (h *history) list(of *past, j *join, own string, others []string) {
	if h.listed == nil {
		h.listed, h.known = map[pair]*pastLinks{}, map[pair]bool{}
	}
	key := pair{j.table, j.own, j.other, own, ""}
	if h.listed[key] != nil {
		return
	}
	l := &pastLinks{of, j, own, others}
	h.listed[key] = l
	h.links = append(h.links, l)
	for _, other := range others {
		p := pair{j.table, j.own, j.other, own, other}
		if _, known := h.lookup(p); known {
			continue
		}
		from := p.reversed()
		from.otherID = ""
		h.known[p] = h.listed[from] == nil
	}
}

// lookup reports whether the transaction found a link, if that is known.
func (h *history) lookup(p pair) (was, known bool) {
	if was, known = h.known[p]; !known {
		was, known = h.known[p.reversed()]
	}
	return was, known
}

// heldID returns a row's id as columns that refer to it hold it.
func (t *tx) heldID(k *model.Kind, id any) (string, error) {
	v, err := k.BindID(id)
	if err != nil {
		return "", err
	}
	switch v := v.(type) {
	case string:
		return v, nil
	case []byte:
		return string(v), nil
	case int64:
		return strconv.FormatInt(v, 10), nil
	}
	return fmt.Sprint(v), nil
}

// heldLinks reads the ids at the other side of a join table.
func (t *tx) heldLinks(ctx context.Context, of *past, j *join) (out []string, err error) {
	b := t.newStatement()
	b.Raw("SELECT CAST(").Name(j.other).Raw(" AS TEXT) FROM ").Name(j.table).Raw(" WHERE ").Name(j.own).Raw(" = ").Arg(of.kind.BoundID(of.id)).Raw(" ORDER BY 1")
	rows, err := t.sql.QueryContext(context.WithoutCancel(ctx), string(b.Text()), b.Args()...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		out = append(out, id)
	}
	return out, rows.Err()
}

// maxHeld is how many rows one statement reads.
const maxHeld = 128

// heldRows reads rows as their table holds them, by their id as callers see it.
func (t *tx) heldRows(ctx context.Context, k *model.Kind, ids []any) (map[string]heldRow, error) {
	out := make(map[string]heldRow, len(ids))
	for some := range slices.Chunk(ids, maxHeld) {
		if err := t.readHeld(ctx, k, some, out); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (t *tx) readHeld(ctx context.Context, k *model.Kind, ids []any, out map[string]heldRow) (err error) {
	info := t.engine.tables[k]
	b := t.newStatement()
	b.Raw("SELECT ").Name(k.Entity.Key.Name)
	for _, c := range info.columns {
		b.Raw(", ")
		t.holding(b, c)
	}
	b.Raw(" FROM ").Name(k.Entity.Table).Raw(" WHERE ").Name(k.Entity.Key.Name).Raw(" IN (").List(k.BoundIDs(ids)).Raw(")")
	if len(ids) == 1 { // takes less time than watching for a cancel would
		ctx = context.WithoutCancel(ctx)
	}
	rows, err := t.sql.QueryContext(ctx, string(b.Text()), b.Args()...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var key any
	values := make([]any, len(info.columns))
	into := []any{&key}
	for i := range values {
		into = append(into, &values[i])
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		id, err := k.ScanID(key)
		if err != nil {
			return err
		}
		row, size := make(heldRow, len(values)), beforeBytes
		for i, v := range values {
			if row[i], err = hold(v); err != nil {
				return fmt.Errorf("%s of %s: %w", info.columns[i], k.Name(), err)
			}
			if row[i] != nil {
				size += len(*row[i]) + 16
			}
		}
		if !t.attempt.HoldImage(size) {
			return errNoImages
		}
		out[k.FormatID(id)] = row
	}
	return rows.Err()
}

// holding appends an expression that gives a column as it is held: as text on PostgreSQL,
// where that is exact for all types; on SQLite without its declared type, by which the driver
// would read it as something else.
func (t *tx) holding(b *sqltext.Builder, column string) {
	if t.engine.backend.Dialect().Name() == dialect.SQLite {
		b.Raw("+").Name(column)
		return
	}
	b.Raw("CAST(").Name(column).Raw(" AS TEXT)")
}

// hold returns a value that the driver read in the form of held.
func hold(v any) (held, error) {
	var s string
	switch v := v.(type) {
	case nil:
		return nil, nil
	case string:
		if utf8.ValidString(v) {
			s = "t" + v
		} else {
			s = "x" + base64.StdEncoding.EncodeToString([]byte(v))
		}
	case []byte:
		s = "b" + base64.StdEncoding.EncodeToString(v)
	case int64:
		s = "i" + strconv.FormatInt(v, 10)
	case float64:
		s = "f" + strconv.FormatFloat(v, 'g', -1, 64)
	default:
		return nil, fmt.Errorf("entities: a column holds a %T", v)
	}
	return &s, nil
}

// bound is the inverse of hold.
func bound(h held) (any, error) {
	if h == nil {
		return nil, nil
	}
	s := *h
	if s == "" {
		return nil, errors.New("entities: a kept value has no type")
	}
	switch text := s[1:]; s[0] {
	case 't':
		return text, nil
	case 'x':
		b, err := base64.StdEncoding.DecodeString(text)
		return string(b), err
	case 'b':
		return base64.StdEncoding.DecodeString(text)
	case 'i':
		return strconv.ParseInt(text, 10, 64)
	case 'f':
		return strconv.ParseFloat(text, 64)
	}
	return nil, fmt.Errorf("entities: a kept value has the unknown type %q", s[0])
}

// sameHeld reports whether two values are the same.
func sameHeld(a, b held) bool { return a == b || a != nil && b != nil && *a == *b }

// rowState is what the journal keeps of a row that a run changed: of one that it updated the
// columns that differ, else all of them. It has two parts, the second of which has the values
// that nobody may read.
type rowState struct {
	Before map[string]held `json:"before,omitempty"`
	After  map[string]held `json:"after,omitempty"`
	Links  []linkState     `json:"links,omitempty"`
}

// linkState is which links of a row a run made and took away, by the ids at the other side.
type linkState struct {
	Table string   `json:"table"`
	Own   string   `json:"own"` // columns
	Other string   `json:"other"`
	Added []string `json:"added,omitempty"`
	Gone  []string `json:"gone,omitempty"`
}

// Images implements store.Imager. What the change log keeps is made of the same rows.
func (t *tx) Images(ctx context.Context) (out []journal.Image, complete bool, err error) {
	if !t.keepsPast() {
		return nil, false, nil
	}
	ids := map[*model.Kind][]any{}
	for _, p := range t.past.order {
		ids[p.kind] = append(ids[p.kind], p.id)
	}
	now := make(map[*model.Kind]map[string]heldRow, len(ids))
	for k, some := range ids {
		now[k], err = t.heldRows(ctx, k, some)
		if errors.Is(err, errNoImages) {
			return nil, false, nil
		}
		if err != nil {
			return nil, false, t.verdict(err)
		}
	}
	links, err := t.changedLinks(ctx)
	if err != nil {
		return nil, false, t.verdict(err)
	}
	t.logged = ledger.Changes{}
	for _, p := range t.past.order {
		is := now[p.kind][p.kind.FormatID(p.id)]
		image, changed, err := t.imageOf(p, is, links[p], false)
		if err != nil {
			return nil, false, err
		}
		if !changed {
			continue
		}
		out = append(out, image)
		if t.engine.logsChanges() {
			whole, _, err := t.imageOf(p, is, links[p], true)
			if err != nil {
				return nil, false, err
			}
			t.logged.Images = append(t.logged.Images, whole)
		}
	}
	for range t.past.unnamed {
		out = append(out, journal.Image{Set: t.set, Action: string(store.Update)})
	}
	return out, true, nil
}

// imageOf makes the image of a row. whole has of an updated row also the columns that are the
// same, in After alone.
func (t *tx) imageOf(p *past, is heldRow, links []linkState, whole bool) (image journal.Image, changed bool, err error) {
	info := t.engine.tables[p.kind]
	var open, secret rowState
	image = journal.Image{Entity: p.kind.Name(), Set: t.set, ID: p.kind.FormatID(p.id), Action: string(store.Update)}
	switch {
	case p.row == nil && is == nil:
		return image, false, nil
	case p.row == nil:
		image.Action = string(store.Create)
	case is == nil:
		image.Action = string(store.Delete)
	}
	put := func(to *map[string]held, column string, v held) {
		if *to == nil {
			*to = map[string]held{}
		}
		(*to)[column] = v
	}
	for i, column := range info.columns {
		part := &open
		if info.secret[i] {
			part = &secret
		}
		if p.row != nil && is != nil && sameHeld(p.row[i], is[i]) {
			if whole {
				put(&part.After, column, is[i])
			}
			continue
		}
		if p.row != nil {
			put(&part.Before, column, p.row[i])
		}
		if is != nil {
			put(&part.After, column, is[i])
		}
	}
	open.Links = links
	if open.Before == nil && open.After == nil && secret.Before == nil && secret.After == nil && links == nil {
		return image, false, nil
	}
	if image.State, err = json.Marshal(open); err == nil && (secret.Before != nil || secret.After != nil) {
		image.Secret, err = json.Marshal(secret)
	}
	return image, true, err
}

// changedLinks returns the links that differ from what the transaction found, with the rows
// that they link: with both where it has written both.
func (t *tx) changedLinks(ctx context.Context) (map[*past][]linkState, error) {
	out := map[*past][]linkState{}
	for _, l := range t.past.links {
		s := linkState{Table: l.join.table, Own: l.join.own, Other: l.join.other}
		now, err := t.heldLinks(ctx, l.of, l.join)
		if err != nil {
			return nil, err
		}
		there := make(map[string]bool, len(now))
		for _, other := range now {
			there[other] = true
			p := pair{l.join.table, l.join.own, l.join.other, l.id, other}
			if was, _ := t.past.lookup(p); !was {
				s.Added = append(s.Added, other)
			}
		}
		for _, other := range l.found {
			p := pair{l.join.table, l.join.own, l.join.other, l.id, other}
			if was, _ := t.past.lookup(p); was && !there[other] {
				s.Gone = append(s.Gone, other)
			}
		}
		if s.Added != nil || s.Gone != nil {
			out[l.of] = append(out[l.of], s)
		}
	}
	return out, nil
}
