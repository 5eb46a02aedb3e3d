package files

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/internal/files/blob"
)

var (
	ann  = auth.Principal{Subject: "ann", Sets: []string{"default", "archive"}}
	bob  = auth.Principal{Subject: "bob", Sets: []string{"default"}}
	desk = auth.Principal{Subject: "desk", Sets: []string{"default"}, Scopes: []string{ReadScope}}
)

func open(t *testing.T, maxBytes int64) *Store {
	t.Helper()
	blobs, err := blob.OpenFolder(t.TempDir())
	require.NoError(t, err)
	return New(blobs, Limits{File: maxBytes})
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
	require.NoError(t, filepath.WalkDir(s.blobs.String(), func(path string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			name, _ := filepath.Rel(s.blobs.String(), path)
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
	raw, found, err := s.Bytes(t.Context(), ann, f.ID, 5)
	require.NoError(t, err)
	require.Equal(t, "hello", string(raw))
	require.Equal(t, f, found)
	_, _, err = s.Bytes(t.Context(), ann, f.ID, 4)
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
		_, err := s.Find(t.Context(), c.who, c.id)
		if c.sees {
			require.NoError(t, err)
			continue
		}
		unknown := newID()
		_, missing := s.Find(t.Context(), c.who, unknown)
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
	require.NoError(t, os.WriteFile(filepath.Join(s.blobs.String(), dataName(f.SHA256)), []byte("jello"), 0o600))
	_, _, err := s.Bytes(t.Context(), ann, f.ID, 100)
	require.Equal(t, fault.ServiceUnavailable, fault.CodeOf(err))
	require.NoError(t, os.WriteFile(filepath.Join(s.blobs.String(), recordName(f.ID)), []byte("{"), 0o600))
	_, err = s.Find(t.Context(), ann, f.ID)
	require.Equal(t, fault.ServiceUnavailable, fault.CodeOf(err))
	require.NotContains(t, err.Error(), s.blobs.String())
	for _, id := range []string{"", "x", "../records/" + f.ID, IDPrefix, IDPrefix + strings.Repeat("A", idDigits), f.ID + "0"} {
		_, err = s.Find(t.Context(), ann, id)
		require.Equal(t, fault.NotFound, fault.CodeOf(err), id)
	}
}

// age makes everything in the store older.
func age(t *testing.T, s *Store, by time.Duration) {
	t.Helper()
	for _, name := range left(t, s) {
		path := filepath.Join(s.blobs.String(), name)
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.NoError(t, os.Chtimes(path, time.Time{}, info.ModTime().Add(-by)))
	}
}

func collect(t *testing.T, s *Store, kept Kept) int {
	t.Helper()
	n, err := s.Collect(t.Context(), 24*time.Hour, kept)
	require.NoError(t, err)
	return n
}

func TestCollect(t *testing.T) {
	s := open(t, 100)
	used, unused := put(t, s, "default", "used"), put(t, s, "default", "unused")
	require.NoError(t, s.Use(t.Context(), Uses{Run: "r", IDs: []string{used.ID, newID()}, Rows: map[string]bool{used.ID: true}}))
	require.Zero(t, collect(t, s, nil))
	age(t, s, 25*time.Hour)
	again := put(t, s, "default", "unused") // the bytes of what goes are those of a new file
	require.Equal(t, 1, collect(t, s, nil))
	_, err := s.Find(t.Context(), ann, unused.ID)
	require.Equal(t, fault.NotFound, fault.CodeOf(err))
	for _, f := range []File{used, again} {
		_, _, err = s.Bytes(t.Context(), ann, f.ID, 100)
		require.NoError(t, err)
	}
	require.Len(t, left(t, s), 5)
	age(t, s, 25*time.Hour)
	require.Equal(t, 1, collect(t, s, nil))
	require.Len(t, left(t, s), 3, "the record, its bytes, and that it is used")
}

// A run that the journal has dropped refers to nothing any more; what a row may name stays.
func TestCollectGoesByTheJournal(t *testing.T) {
	s := open(t, 100)
	inRow, read, shared := put(t, s, "default", "row"), put(t, s, "default", "read"), put(t, s, "default", "shared")
	require.NoError(t, s.Use(t.Context(), Uses{Run: "old", IDs: []string{inRow.ID, read.ID, shared.ID}, Rows: map[string]bool{inRow.ID: true}}))
	require.NoError(t, s.Use(t.Context(), Uses{Run: "new", IDs: []string{shared.ID}}))
	journal := map[string]bool{"old": true, "new": true}
	var asked []string
	kept := func(_ context.Context, runs []string) (map[string]bool, error) {
		asked = append(asked, runs...)
		return journal, nil
	}
	there := func(f File) bool {
		_, err := s.Find(t.Context(), ann, f.ID)
		return err == nil
	}
	require.Zero(t, collect(t, s, kept))
	require.Empty(t, asked, "what has just been used may not be in the journal yet")
	age(t, s, 25*time.Hour)
	require.Zero(t, collect(t, s, kept))
	require.ElementsMatch(t, []string{"old", "new"}, asked)

	require.Zero(t, collect(t, s, nil), "without a journal nothing says when a run is forgotten")
	_, err := s.Collect(t.Context(), 24*time.Hour, func(context.Context, []string) (map[string]bool, error) { return nil, errors.New("no database") })
	require.Error(t, err)
	require.True(t, there(read), "a journal that cannot be read forgets nothing")

	delete(journal, "old")
	require.Equal(t, 1, collect(t, s, kept))
	require.False(t, there(read))
	require.True(t, there(inRow) && there(shared))
	delete(journal, "new")
	require.Equal(t, 1, collect(t, s, kept))
	require.False(t, there(shared))
	require.Len(t, left(t, s), 3, "the record of the row's file, its bytes, and that it is used")
}

// What a plan refers to waits with it, and goes when the plan has expired.
func TestCollectSparesWhatPlansReferTo(t *testing.T) {
	s := open(t, 100)
	planned := put(t, s, "default", "planned")
	now := time.Now()
	require.NoError(t, s.KeepUntil(t.Context(), now.Add(240*time.Hour), []string{planned.ID, newID()}))
	age(t, s, 25*time.Hour)
	require.Zero(t, collect(t, s, nil))
	require.Len(t, left(t, s), 3, "the record, its bytes and the mark")
	s.clock = func() time.Time { return now.Add(265 * time.Hour) }
	require.Equal(t, 1, collect(t, s, nil))
	require.Empty(t, left(t, s))
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
	blobs, err := blob.OpenFolder(f.TempDir())
	require.NoError(f, err)
	s := New(blobs, Limits{File: 100})
	p := Provide(func() string { return "" })
	p.store.Store(s)
	file, err := s.Put(f.Context(), Upload{Owner: "ann", Set: "default", Body: strings.NewReader("hello")})
	require.NoError(f, err)
	f.Add(`{"a":{"$file":"` + file.ID + `"},"b":[1,{"$file":1}]}`)
	f.Add(`{"$file":"x"}`)
	f.Fuzz(func(t *testing.T, input string) {
		out, err := p.Expand(t.Context(), ann, detect, []byte(input))
		var known *fault.Fault
		if err != nil {
			require.True(t, errors.As(err, &known))
			return
		}
		require.True(t, out == nil || json.Valid(out))
	})
}

func TestFilesHaveBoundsTogether(t *testing.T) {
	blobs, err := blob.OpenFolder(t.TempDir())
	require.NoError(t, err)
	limits := Limits{File: 100, Caller: 20, Total: 45}
	s := New(blobs, limits)
	upload := func(s *Store, owner, text string) (File, error) {
		return s.Put(t.Context(), Upload{Set: "default", Owner: owner, Body: strings.NewReader(text)})
	}
	var g errgroup.Group
	var kept, refused atomic.Int32
	for i := range 8 {
		g.Go(func() error {
			switch _, err := upload(s, "ann", fmt.Sprintf("%010d", i)); fault.CodeOf(err) {
			case "":
				kept.Add(1)
			case fault.RateLimited:
				refused.Add(1)
			default:
				return err
			}
			return nil
		})
	}
	require.NoError(t, g.Wait())
	require.LessOrEqual(t, kept.Load(), int32(2), "uploads at once keep to the bound together")
	for kept.Load() < 2 { // those that had part of the room have given it back
		_, err := upload(s, "ann", fmt.Sprintf("%010d", 100+kept.Load()))
		require.NoError(t, err)
		kept.Add(1)
	}
	_, err = upload(New(blobs, limits), "ann", "x")
	require.Equal(t, fault.RateLimited, fault.CodeOf(err), "also after a start")
	_, err = upload(s, "bob", "of somebody else")
	require.NoError(t, err)

	used, err := upload(s, "cid", "1234567")
	require.NoError(t, err)
	require.NoError(t, s.Use(t.Context(), Uses{Run: "r", IDs: []string{used.ID}}))
	_, err = upload(s, "dan", "123")
	require.Equal(t, fault.ServiceUnavailable, fault.CodeOf(err))
	_, err = upload(s, "cid", "12")
	require.NoError(t, err)

	s.clock = func() time.Time { return time.Now().Add(time.Hour) }
	_, err = s.Collect(t.Context(), time.Minute, nil)
	require.NoError(t, err)
	_, err = upload(s, "ann", strings.Repeat("x", 20))
	require.NoError(t, err, "what was collected leaves room")
}

func TestUploadIsRepeatedWhereNoRoomIsLeft(t *testing.T) {
	blobs, err := blob.OpenFolder(t.TempDir())
	require.NoError(t, err)
	s := New(blobs, Limits{File: 10, Caller: 10})
	upload := func(key, text string) (File, error) {
		return s.Put(t.Context(), Upload{Name: "a", Set: "default", Owner: "ann", Key: key, Body: strings.NewReader(text)})
	}
	first, err := upload("one", "0123456789")
	require.NoError(t, err)
	again, err := upload("one", "0123456789")
	require.NoError(t, err)
	require.Equal(t, first, again)
	for text, code := range map[string]fault.Code{"9876543210": fault.Conflict, "01234567890": fault.CallTooLarge} {
		_, err = upload("one", text)
		require.Equal(t, code, fault.CodeOf(err), text)
	}
	_, err = upload("two", "x")
	require.Equal(t, fault.RateLimited, fault.CodeOf(err))
	require.Equal(t, map[string]any{"retryAfterMs": collectEvery.Milliseconds()}, fault.From(err).Details)
}

func TestDiscardFreesWhatNothingRefersTo(t *testing.T) {
	blobs, err := blob.OpenFolder(t.TempDir())
	require.NoError(t, err)
	limits := Limits{File: 10, Caller: 30}
	s, other := New(blobs, limits), New(blobs, limits)
	upload := func(s *Store, owner, text string) File {
		f, err := s.Put(t.Context(), Upload{Set: "default", Owner: owner, Body: strings.NewReader(text)})
		require.NoError(t, err)
		return f
	}
	alone, equal, used := upload(s, "ann", "0123456789"), upload(s, "ann", "equal data"), upload(s, "ann", "9876543210")
	kept := upload(other, "bob", "equal data") // s does not know of it
	require.NoError(t, s.Use(t.Context(), Uses{Run: "r", IDs: []string{used.ID}}))
	require.NoError(t, s.Discard(t.Context(), []string{alone.ID, equal.ID, used.ID, "file_00000000000000000000000000000000"}))
	require.ElementsMatch(t, []string{
		recordName(used.ID), dataName(used.SHA256), runsFolder + "r/" + used.ID, recordName(kept.ID), dataName(kept.SHA256),
	}, left(t, s))
	for range 3 {
		upload(s, "ann", "as before.")
	}
}
