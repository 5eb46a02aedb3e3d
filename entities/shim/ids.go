package shim

import (
	"fmt"
	"strconv"

	"github.com/google/uuid"
)

// IDForm is how the ids of a kind are written, made and kept. Ids are comparable
// values of the type that ent gives them.
type IDForm struct {
	// ParseID reads an id as callers write it; FormatID is its inverse.
	ParseID  func(text string) (any, error)
	FormatID func(id any) string
	// ScanID reads an id as the database returns it; BindID is its inverse.
	ScanID func(src any) (any, error)
	BindID func(id any) (any, error)
}

// TextIDs are strings and types based on them.
func TextIDs[T ~string]() IDForm {
	return IDForm{
		ParseID:  TextID[T],
		FormatID: func(id any) string { return string(id.(T)) },
		ScanID:   func(src any) (any, error) { return scanned(src, TextID[T]) },
		BindID:   func(id any) (any, error) { return string(id.(T)), nil },
	}
}

// IntIDs are integers and types based on them.
func IntIDs[T integer]() IDForm {
	return IDForm{
		ParseID:  IntID[T],
		FormatID: func(id any) string { return fmt.Sprintf("%d", id) },
		ScanID:   func(src any) (any, error) { return scanned(src, IntID[T]) },
		BindID:   func(id any) (any, error) { return plainInt(id.(T)) },
	}
}

// UUIDs are those of github.com/google/uuid.
func UUIDs() IDForm {
	return IDForm{
		ParseID:  UUIDID,
		FormatID: func(id any) string { return id.(uuid.UUID).String() },
		ScanID: func(src any) (any, error) {
			var id uuid.UUID
			err := id.Scan(src)
			return id, err
		},
		BindID: func(id any) (any, error) { return id.(uuid.UUID).String(), nil },
	}
}

// OwnIDs are of a type of the app's own.
func OwnIDs[T comparable](f *Form[T]) IDForm {
	return IDForm{
		ParseID: func(text string) (any, error) {
			if text == "" {
				return nil, fmt.Errorf("an id must not be empty")
			}
			return f.parse(text)
		},
		FormatID: func(id any) string {
			v, err := f.show(id.(T))
			if err != nil {
				return fmt.Sprint(id)
			}
			return fmt.Sprint(v)
		},
		ScanID: func(src any) (any, error) { return f.scan(src) },
		BindID: func(id any) (any, error) { return f.value(id.(T)) },
	}
}

func scanned(src any, parse func(string) (any, error)) (any, error) {
	switch v := src.(type) {
	case string:
		return parse(v)
	case []byte:
		return parse(string(v))
	case int64:
		return parse(strconv.FormatInt(v, 10))
	}
	return nil, fmt.Errorf("a %T is not an id", src)
}

func plainInt[T integer](id T) (any, error) {
	if n := int64(id); T(n) == id && (n < 0) == (id < 0) {
		return n, nil
	}
	return nil, fmt.Errorf("%d is out of range", id)
}

// IDs returns ids their type back. The engine passes only what ParseID gave.
func IDs[T any](ids []any) []T {
	out := make([]T, len(ids))
	for i, id := range ids {
		out[i] = id.(T)
	}
	return out
}

// Anys takes the type from ids.
func Anys[T any](ids []T) []any {
	out := make([]any, len(ids))
	for i, id := range ids {
		out[i] = id
	}
	return out
}

// TextID parses ids that are strings.
func TextID[T ~string](text string) (any, error) {
	if text == "" {
		return nil, fmt.Errorf("an id must not be empty")
	}
	return T(text), nil
}

// IntID parses decimal ids.
func IntID[T integer](text string) (any, error) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && strconv.FormatInt(n, 10) == text {
		if id := T(n); int64(id) == n && (id < 0) == (n < 0) {
			return id, nil
		}
	}
	if n, err := strconv.ParseUint(text, 10, 64); err == nil && strconv.FormatUint(n, 10) == text {
		if id := T(n); id >= 0 && uint64(id) == n {
			return id, nil
		}
	}
	return nil, fmt.Errorf("%q is not an integer id", text)
}

// UUIDID parses UUIDs as ids.
func UUIDID(text string) (any, error) {
	id, err := uuid.Parse(text)
	if err != nil || len(text) != 36 {
		return nil, fmt.Errorf("%q is not a UUID", text)
	}
	return id, nil
}
