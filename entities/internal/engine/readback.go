package engine

import (
	"context"
	"encoding/json"
	"reflect"

	"entgo.io/ent"

	"github.com/koan-go/koan/entities/internal/model"
)

// smallWrite is up to how many bytes of values no row needs to be looked at after it is written: the
// smallest that is refused has many times as much, so that it takes many such writes to make one.
const smallWrite = 16 << 10

// writeReadable carries out a write of the app's code, whose values no input had to pass, and refuses rows
// that nobody could read afterwards.
func (t *tx) writeReadable(ctx context.Context, k *model.Kind, m ent.Mutation, next ent.Mutator) (ent.Value, error) {
	if k.Entity == nil || m.Op().Is(ent.OpDelete|ent.OpDeleteOne) || sizeOf(m) <= smallWrite {
		return t.mutate(ctx, k, m, next)
	}
	var ids []any
	if !m.Op().Is(ent.OpCreate) {
		var err error
		if ids, err = k.IDs(ctx, m); err != nil {
			return nil, err
		}
	}
	v, err := t.mutate(ctx, k, m, next)
	if err != nil {
		return v, err
	}
	if id, ok := k.ID(m); ok && m.Op().Is(ent.OpCreate) {
		ids = []any{id}
	}
	err = t.engine.reader.Stored(t.brief(ctx), t.sql, k.Entity, k.BoundIDs(ids), func(any, []byte) error { return nil })
	return v, err
}

// sizeOf is about how many bytes the values of a write take.
func sizeOf(m ent.Mutation) (n int) {
	for _, name := range m.Fields() {
		v, _ := m.Field(name)
		switch r := reflect.ValueOf(v); r.Kind() {
		case reflect.String:
			n += r.Len()
		case reflect.Slice, reflect.Map, reflect.Struct, reflect.Pointer:
			if r.Kind() == reflect.Slice && r.Type().Elem().Kind() == reflect.Uint8 {
				n += r.Len()
			} else if text, err := json.Marshal(v); err == nil {
				n += len(text)
			}
		}
	}
	return n
}
