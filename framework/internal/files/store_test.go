package files

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/fault"
)

var (
	ann  = auth.Principal{Subject: "ann", Sets: []string{"default", "archive"}}
	bob  = auth.Principal{Subject: "bob", Sets: []string{"default"}}
	desk = auth.Principal{Subject: "desk", Sets: []string{"default"}, Scopes: []string{ReadScope}}
)

func open(t *testing.T, maxBytes int64) *Store {
	t.Helper()
	s, err := Open(t.TempDir(), maxBytes)
	require.NoError(t, err)
	return s
}

func put(t *testing.T, s *Store, set, text string) File {
	t.Helper()
	f, err := s.Put(t.Context(), Upload{Name: "notes.txt", Set: set, Owner: "ann", Body: strings.NewReader(text)})
	require.NoError(t, err)
	return f
}

// left are the files in the store's folders.
func left(t *testing.T, s *Store) (out []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(s.dir, func(path string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			name, _ := filepath.Rel(s.dir, path)
			out = append(out, name)
		}
		return err
	}))
	return out
}

func TestPutAndRead(t *testing.T) {
	s := open(t, 100)
	f := put(t, s, "default", "hello")
	require.True(t, IsID(f.ID))
	require.Equal(t, File{ID: f.ID, SHA256: "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824", Size: 5, Type: "text/plain; charset=utf-8", Name: "notes.txt"}, f)
	raw, found, err := s.Bytes(ann, f.ID, 5)
	require.NoError(t, err)
	require.Equal(t, "hello", string(raw))
	require.Equal(t, f, found)
	_, _, err = s.Bytes(ann, f.ID, 4)
	require.Equal(t, fault.CallTooLarge, fault.CodeOf(err))
	other := put(t, s, "default", "hello")
	require.NotEqual(t, f.ID, other.ID)
	require.Len(t, left(t, s), 3, "equal bytes are kept once")
}

func TestFilesAreTheirOwners(t *testing.T) {
	s := open(t, 100)
	own, archived := put(t, s, "default", "a"), put(t, s, "archive", "b")
	for _, c := range []struct {
		who  auth.Principal
		id   string
		sees bool
	}{
		{ann, own.ID, true},
		{ann, archived.ID, true},
		{bob, own.ID, false},
		{desk, own.ID, true},
		{desk, archived.ID, false},
		{auth.Local(), archived.ID, true},
	} {
		_, err := s.Find(c.who, c.id)
		if c.sees {
			require.NoError(t, err)
			continue
		}
		unknown := newID()
		_, missing := s.Find(c.who, unknown)
		require.Equal(t, strings.ReplaceAll(missing.Error(), unknown, c.id), err.Error(), "what somebody may not see is not there")
	}
}

func TestBadUploadsLeaveNothing(t *testing.T) {
	s := open(t, 4)
	for name, c := range map[string]struct {
		upload Upload
		code   fault.Code
	}{
		"too large":         {Upload{Body: strings.NewReader("12345")}, fault.CallTooLarge},
		"breaks off":        {Upload{Body: io.MultiReader(strings.NewReader("12"), iotest.ErrReader(io.ErrUnexpectedEOF))}, ""},
		"control character": {Upload{Name: "a\nb", Body: strings.NewReader("1")}, fault.InvalidPayload},
		"long name":         {Upload{Name: strings.Repeat("x", 256), Body: strings.NewReader("1")}, fault.InvalidPayload},
	} {
		_, err := s.Put(t.Context(), c.upload)
		require.Error(t, err, name)
		if c.code != "" {
			require.Equal(t, c.code, fault.CodeOf(err), name)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.Put(ctx, Upload{Body: strings.NewReader("1")})
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, left(t, s))
	f, err := s.Put(t.Context(), Upload{Name: `C:\photos\a.png`, Body: strings.NewReader("1234")})
	require.NoError(t, err)
	require.Equal(t, "a.png", f.Name)
}

func TestDamageIsNoticed(t *testing.T) {
	s := open(t, 100)
	f := put(t, s, "default", "hello")
	require.NoError(t, os.WriteFile(s.dataPath(f.SHA256), []byte("jello"), 0o600))
	_, _, err := s.Bytes(ann, f.ID, 100)
	require.Equal(t, fault.ServiceUnavailable, fault.CodeOf(err))
	require.NoError(t, os.WriteFile(s.recordPath(f.ID), []byte("{"), 0o600))
	_, err = s.Find(ann, f.ID)
	require.Equal(t, fault.ServiceUnavailable, fault.CodeOf(err))
	require.NotContains(t, err.Error(), s.dir)
	for _, id := range []string{"", "x", "../records/" + f.ID, IDPrefix, IDPrefix + strings.Repeat("A", idDigits), f.ID + "0"} {
		_, err = s.Find(ann, id)
		require.Equal(t, fault.NotFound, fault.CodeOf(err), id)
	}
}

func TestCollect(t *testing.T) {
	s := open(t, 100)
	now := time.Now()
	s.clock = func() time.Time { return now }
	used, unused := put(t, s, "default", "used"), put(t, s, "default", "unused")
	require.NoError(t, s.Use([]string{used.ID, newID()}))
	n, err := s.Collect(24 * time.Hour)
	require.NoError(t, err)
	require.Zero(t, n)
	now = now.Add(24*time.Hour + time.Minute)
	again := put(t, s, "default", "unused") // the bytes of what goes are those of a new file
	n, err = s.Collect(24 * time.Hour)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	_, err = s.Find(ann, unused.ID)
	require.Equal(t, fault.NotFound, fault.CodeOf(err))
	for _, f := range []File{used, again} {
		_, _, err = s.Bytes(ann, f.ID, 100)
		require.NoError(t, err)
	}
	require.Len(t, left(t, s), 5)
	now = now.Add(2 * 24 * time.Hour)
	n, err = s.Collect(24 * time.Hour)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Len(t, left(t, s), 3, "the record, its bytes, and that it is used")
}

func TestMediaTypes(t *testing.T) {
	png := []byte("\x89PNG\r\n\x1a\n")
	for _, c := range []struct{ head, says, want string }{
		{string(png), "", "image/png"},
		{string(png), "text/html", "image/png"},
		{"<html><script>", "image/png", "text/html; charset=utf-8"},
		{"a,b\n1,2", "text/csv", "text/csv"},
		{`{"a":1}`, "application/json", "application/json"},
		{"plain", "text/html", "text/plain; charset=utf-8"},
		{"plain", "nonsense", "text/plain; charset=utf-8"},
		{"\x00\x01\x02", "application/x-thing", "application/x-thing"},
		{"\x00\x01\x02", "text/html", "application/octet-stream"},
		{"PK\x03\x04", "application/vnd.openxmlformats-officedocument.wordprocessingml.document", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"},
		{"PK\x03\x04", "text/plain", "application/zip"},
		{`<?xml version="1.0"?><svg/>`, "image/svg+xml", "image/svg+xml"},
		{"", "", "text/plain; charset=utf-8"},
	} {
		require.Equal(t, c.want, mediaType([]byte(c.head), c.says), "%q as %s", c.head, c.says)
	}
}

func FuzzMediaType(f *testing.F) {
	f.Add([]byte("<html>"), "image/png")
	f.Fuzz(func(t *testing.T, head []byte, says string) {
		got := mediaType(head, says)
		require.NotEmpty(t, got)
		if bytes.HasPrefix(head, []byte("\x89PNG\r\n\x1a\n")) {
			require.Equal(t, "image/png", got)
		}
	})
}

func FuzzExpand(f *testing.F) {
	s, err := Open(f.TempDir(), 100)
	require.NoError(f, err)
	p := Provide(func() string { return "" })
	p.store.Store(s)
	file, err := s.Put(f.Context(), Upload{Owner: "ann", Set: "default", Body: strings.NewReader("hello")})
	require.NoError(f, err)
	f.Add(`{"a":{"$file":"` + file.ID + `"},"b":[1,{"$file":1}]}`)
	f.Add(`{"$file":"x"}`)
	f.Fuzz(func(t *testing.T, input string) {
		out, err := p.Expand(ann, detect, []byte(input))
		var known *fault.Fault
		if err != nil {
			require.True(t, errors.As(err, &known))
			return
		}
		require.True(t, out == nil || json.Valid(out))
	})
}
