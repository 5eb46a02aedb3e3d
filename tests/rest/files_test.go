package rest

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/tests/fixture"
	"github.com/koan-go/koan/tests/pgtest"
)

type uploaded struct {
	ID, SHA256, Type, Name string
	Size                   int
}

func (s *server) upload(body, path string, header ...string) uploaded {
	s.t.Helper()
	r := s.do("POST", path, body, header...)
	require.Equal(s.t, http.StatusCreated, r.status, "%s", r.body)
	var f uploaded
	require.NoError(s.t, json.Unmarshal(r.body, &f))
	require.Equal(s.t, "/api/files/"+f.ID, r.header.Get("Location"))
	return f
}

func picture(t *testing.T, side int) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, png.Encode(&b, image.NewGray(image.Rect(0, 0, side, side))))
	return b.String()
}

func TestUploadAndDownload(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestUploadAndDownload) {
		return
	}
	s := serve(t, fixture.App(), framework.HTTPOptions{})
	text := picture(t, 8)
	f := s.upload(text, "/api/files?name=C:%5Cphotos%5Cshelf.png", "Content-Type", "application/octet-stream")
	sum := sha256.Sum256([]byte(text))
	require.Equal(t, uploaded{ID: f.ID, SHA256: hex.EncodeToString(sum[:]), Type: "image/png", Name: "shelf.png", Size: len(text)}, f, "the type is that of the bytes")
	got := s.do("GET", "/api/files/"+f.ID, "")
	require.Equal(t, http.StatusOK, got.status)
	require.Equal(t, text, string(got.body))
	require.Equal(t, "image/png", got.header.Get("Content-Type"))
	require.Equal(t, "nosniff", got.header.Get("X-Content-Type-Options"))
	require.Equal(t, "inline; filename=shelf.png", got.header.Get("Content-Disposition"))
	part := s.do("GET", "/api/files/"+f.ID, "", "Range", "bytes=1-3")
	require.Equal(t, http.StatusPartialContent, part.status)
	require.Equal(t, "PNG", string(part.body))
	for _, ignored := range []string{"items=0-1", "items=-0", "seconds=some", "bytes=some", "bytes=3-1", "bytes=0-1,some", "bytes=-"} {
		whole := s.do("GET", "/api/files/"+f.ID, "", "Range", ignored)
		require.Equal(t, http.StatusOK, whole.status, ignored)
		require.Equal(t, text, string(whole.body))
	}
	require.Equal(t, "PNG", string(s.do("GET", "/api/files/"+f.ID, "", "Range", "Bytes=1-3, -0").body))
	for _, none := range []string{"bytes=9999-", "bytes=99999999999999999999-", "bytes=-0"} {
		refused := s.do("GET", "/api/files/"+f.ID, "", "Range", none)
		require.Equal(t, http.StatusRequestedRangeNotSatisfiable, refused.status)
		require.Equal(t, "application/problem+json", refused.header.Get("Content-Type"))
		require.Empty(t, refused.header.Get("Content-Disposition"))
		require.Contains(t, string(refused.body), `"status":416`)
	}
	require.Equal(t, http.StatusNotModified, s.do("GET", "/api/files/"+f.ID, "", "If-None-Match", got.header.Get("ETag")).status)
	code, _ := s.do("GET", "/api/files/"+f.ID, "", "If-Match", `"other"`).problem(http.StatusPreconditionFailed)
	require.Equal(t, "conflict", code)
	head := s.do("HEAD", "/api/files/"+f.ID, "")
	require.Equal(t, http.StatusOK, head.status)
	require.Empty(t, head.body)
	for _, asked := range []string{"bytes=0-1", "bytes=999999-", "bytes=-0", "bytes=some", "bytes=3-1"} {
		part := s.do("HEAD", "/api/files/"+f.ID, "", "Range", asked)
		require.Equal(t, []string{"200 OK", head.header.Get("Content-Length"), "bytes", ""}, []string{"200 " + http.StatusText(part.status), part.header.Get("Content-Length"), part.header.Get("Accept-Ranges"), part.header.Get("Content-Range")}, "ranges are of GET alone: %s", asked)
	}

	named := s.upload("a,b\n1,2\n", "/api/files", "Content-Type", "text/csv", "Content-Disposition", `attachment; filename*=UTF-8''%C3%A4.csv`)
	require.Equal(t, "ä.csv", named.Name)
	require.Equal(t, "text/csv", named.Type)
	page := s.upload("<html><script>alert(1)</script>", "/api/files", "Content-Type", "image/png")
	require.NotEqual(t, "image/png", page.Type)
	shown := s.do("GET", "/api/files/"+page.ID, "")
	require.True(t, strings.HasPrefix(shown.header.Get("Content-Disposition"), "attachment"), "a page is not shown with the rights of the site")
	require.Contains(t, shown.header.Get("Content-Security-Policy"), "sandbox")
	empty := s.do("POST", "/api/files", "", "Content-Type", "text/plain")
	require.Equal(t, http.StatusCreated, empty.status)

	var read string
	s.kit.Run(`SDK.Files.text(SDK.args)`, koantest.Input{Args: named.ID}).ResultInto(&read)
	require.Equal(t, "a,b\n1,2\n", read, "scripts of the same caller read it")
}

// What a run created counts as what was uploaded does, unless the run failed: then it is gone.
func TestFilesOfACallerHaveABoundTogether(t *testing.T) {
	t.Parallel()
	s := serve(t, fixture.App(), framework.HTTPOptions{}, koantest.Setting{Key: "files.callerBytes", Value: "1000"})
	kept := s.upload(strings.Repeat("a", 400), "/api/files")
	failed := s.kit.Try(`SDK.Files.create({text: SDK.args}); throw new Error("late")`, koantest.Input{Args: strings.Repeat("b", 400)})
	require.False(t, failed.Success)
	s.upload(strings.Repeat("b", 400), "/api/files")
	refused := s.do("POST", "/api/files", strings.Repeat("c", 400))
	require.Equal(t, http.StatusTooManyRequests, refused.status, "%s", refused.body)
	var f fault.Fault
	require.NoError(t, json.Unmarshal(refused.body, &f))
	require.Equal(t, fault.RateLimited, f.Code)
	require.Contains(t, f.Hint, "files.callerBytes")
	r := s.kit.Try(`SDK.Files.create({text: SDK.args})`, koantest.Input{Args: strings.Repeat("d", 400)})
	require.Equal(t, fault.RateLimited, r.Error.Code)
	require.True(t, s.kit.Run(`SDK.Files.text(SDK.args).length`, koantest.Input{Args: kept.ID}).Success)
	s.upload(strings.Repeat("e", 600), "/api/files") // a run has referred to the first one
}

func TestFaultsOfFiles(t *testing.T) {
	t.Parallel()
	s := serve(t, fixture.App(), framework.HTTPOptions{}, koantest.Setting{Key: "files.maxBytes", Value: "1000"})
	for _, tt := range []struct {
		method, path, body string
		header             []string
		status             int
		code               fault.Code
		at                 string
	}{
		{"POST", "/api/files", strings.Repeat("x", 1001), nil, 413, fault.CallTooLarge, ""},
		{"POST", "/api/files?nam=x", "x", nil, 400, fault.InvalidPayload, "/nam"},
		{"POST", "/api/files?name=a&name=b", "x", nil, 400, fault.InvalidPayload, "/name"},
		{"POST", "/api/files?set=No%20Set", "x", nil, 404, fault.UnknownSet, "/set"},
		{"POST", "/api/files?set=attic", "x", nil, 404, fault.UnknownSet, "/set"},
		{"POST", "/api/files?name=" + strings.Repeat("n", 300), "x", nil, 400, fault.InvalidPayload, "/name"},
		{"POST", "/api/files", "--b\r\n\r\nx\r\n--b--", []string{"Content-Type", "multipart/form-data; boundary=b"}, 415, fault.InvalidPayload, ""},
		{"POST", "/api/files", "x", []string{"Content-Type", "image/png", "Content-Encoding", "gzip"}, 415, fault.InvalidRequest, ""},
		{"PUT", "/api/files", "x", nil, 405, fault.InvalidRequest, ""},
		{"GET", "/api/files", "", nil, 405, fault.InvalidRequest, ""},
		{"DELETE", "/api/files/file_00000000000000000000000000000000", "", nil, 405, fault.InvalidRequest, ""},
		{"GET", "/api/files/file_00000000000000000000000000000000", "", nil, 404, fault.NotFound, ""},
		{"GET", "/api/files/..%2f..%2fetc%2fpasswd", "", nil, 404, fault.NotFound, ""},
		{"GET", "/api/files/FILE_00000000000000000000000000000000", "", nil, 404, fault.NotFound, ""},
	} {
		r := s.do(tt.method, tt.path, tt.body, tt.header...)
		require.Equal(t, tt.status, r.status, "%s %s: %s", tt.method, tt.path, r.body)
		var f fault.Fault
		require.NoError(t, json.Unmarshal(r.body, &f), "%s", r.body)
		require.Equal(t, tt.code, f.Code, "%s", r.body)
		require.Equal(t, tt.at, f.Path, "%s", r.body)
		require.NotEmpty(t, f.Hint)
	}
}

// curl says that every body is a form, and the hint how to say otherwise.
func TestUploadsHappenOncePerKey(t *testing.T) {
	t.Parallel()
	s := serve(t, fixture.App(), framework.HTTPOptions{})
	upload := func(path, body, key string) reply {
		return s.do("POST", path, body, "Content-Type", "text/plain", "Idempotency-Key", key)
	}
	first := upload("/api/files?name=a", "hello", "k")
	require.Equal(t, http.StatusCreated, first.status, "%s", first.body)
	again := upload("/api/files?name=a", "hello", "k")
	require.Equal(t, http.StatusCreated, again.status)
	require.Equal(t, first.body, again.body)
	require.Equal(t, first.header.Get("Location"), again.header.Get("Location"))
	for _, other := range []reply{upload("/api/files?name=a", "hullo", "k"), upload("/api/files?name=b", "hello", "k")} {
		require.Equal(t, http.StatusConflict, other.status, "%s", other.body)
	}
	require.NotEqual(t, first.body, upload("/api/files?name=a", "hello", "l").body)
	require.Equal(t, http.StatusBadRequest, upload("/api/files", "hello", strings.Repeat("k", 201)).status)
}

// Uploads at once under one key end in one file; for others the key is taken, or busy.
func TestUploadsAtOnceUnderOneKey(t *testing.T) {
	t.Parallel()
	s := serve(t, fixture.App(), framework.HTTPOptions{})
	var group sync.WaitGroup
	got := make([]reply, 8)
	for i := range got {
		group.Go(func() {
			got[i] = s.do("POST", "/api/files", strings.Repeat("x", i%2+1), "Content-Type", "text/plain", "Idempotency-Key", "k")
		})
	}
	group.Wait()
	sizes := map[int]bool{}
	for i, r := range got {
		if r.status == http.StatusCreated {
			sizes[i%2+1] = true
			continue
		}
		code, _ := r.problem(http.StatusConflict)
		require.Contains(t, []fault.Code{fault.Conflict, fault.InProgress}, fault.Code(code))
	}
	require.Len(t, sizes, 1)
}

func TestUploadWithoutATypeIsTaught(t *testing.T) {
	t.Parallel()
	s := serve(t, fixture.App(), framework.HTTPOptions{})
	out, err := exec.Command("curl", "-sS", "--data-binary", "@files_test.go", s.url+"/api/files").CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), `"status":415`)
	require.Contains(t, string(out), "-H 'Content-Type: image/jpeg'")
	out, err = exec.Command("curl", "-sS", "--data-binary", "@files_test.go", "-H", "Content-Type: application/octet-stream", s.url+"/api/files").CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), `"type":"text/plain`)
}

// A body of unknown length is cut at the bound; one that ends early keeps nothing.
func TestUploadsAreBoundedWhileTheyStream(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := serve(t, fixture.App(), framework.HTTPOptions{}, koantest.Setting{Key: "files.maxBytes", Value: "1000000"}, koantest.Setting{Key: "files.dir", Value: dir})
	r, err := http.NewRequest("POST", s.url+"/api/files", io.MultiReader(strings.NewReader("x"), &endless{}))
	require.NoError(t, err)
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err == nil { // the server may have closed the connection before it was read
		require.Equal(t, http.StatusRequestEntityTooLarge, resp.StatusCode)
		require.NoError(t, resp.Body.Close())
	}
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	require.NoError(t, err)
	_, err = fmt.Fprintf(conn, "POST /api/files HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nhalf")
	require.NoError(t, err)
	require.NoError(t, conn.(*net.TCPConn).CloseWrite())
	got, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err == nil {
		require.Equal(t, http.StatusBadRequest, got.StatusCode)
	}
	require.NoError(t, conn.Close())
	require.Eventually(t, func() bool {
		left := 0
		require.NoError(t, filepath.WalkDir(dir, func(_ string, e os.DirEntry, err error) error {
			if err == nil && !e.IsDir() {
				left++
			}
			if errors.Is(err, fs.ErrNotExist) {
				return nil // it has just been deleted
			}
			return err
		}))
		return left == 0
	}, 10*time.Second, 10*time.Millisecond, "nothing is left of either")
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

func TestFilesNeedRights(t *testing.T) {
	t.Parallel()
	who := auth.Principal{Subject: "ann", Scopes: []string{"entities:write"}, Sets: []string{"default"}}
	s := serve(t, fixture.App(), framework.HTTPOptions{Authenticate: func(*http.Request) (auth.Principal, error) { return who, nil }})
	refused := s.do("POST", "/api/files", "x")
	require.Equal(t, http.StatusForbidden, refused.status)
	require.Contains(t, string(refused.body), "plugins:call")
	paths := documentOf(t, s).Paths
	require.NotContains(t, paths, "/api/files", "what the caller may not do")
	require.Contains(t, paths["/api/files/{id}"], "get")
	who.Scopes = []string{"plugins:call"}
	require.Contains(t, documentOf(t, s).Paths["/api/files"], "post")
	require.Equal(t, http.StatusNotFound, s.do("POST", "/api/files?set=lake", "x").status)
	f := s.upload("mine", "/api/files")
	require.Equal(t, http.StatusOK, s.do("GET", "/api/files/"+f.ID, "").status)
	who.Subject = "bob"
	require.Equal(t, http.StatusNotFound, s.do("GET", "/api/files/"+f.ID, "").status)
	who.Scopes = append(who.Scopes, "files:read")
	require.Equal(t, http.StatusOK, s.do("GET", "/api/files/"+f.ID, "").status)
	who.Sets = []string{"lake"}
	require.Equal(t, http.StatusNotFound, s.do("GET", "/api/files/"+f.ID, "").status, "of a set that it may not name")
	require.Equal(t, http.StatusForbidden, s.do("POST", "/api/files", "x", "Origin", "https://evil.example").status)
}
