package files

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
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
	"github.com/koan-go/koan/tests/s3test"
)

// inBucket returns an app whose files are in a bucket.
func inBucket(t *testing.T, s *s3test.Server, more ...koantest.Setting) *koantest.Kit {
	t.Helper()
	return koantest.New(t, fixture.App(), append(s.Settings(), more...)...)
}

func store(t *testing.T, kit *koantest.Kit) *framework.FileStore {
	t.Helper()
	s, err := kit.Instance().Files(auth.Local(), "create")
	require.NoError(t, err)
	return s
}

func random(t *testing.T, n int) []byte {
	t.Helper()
	raw := make([]byte, n)
	_, err := rand.Read(raw)
	require.NoError(t, err)
	return raw
}

// Two servers of an app share a database and a bucket.
func TestServersShareABucket(t *testing.T) {
	if pgtest.ForEach(t, TestServersShareABucket) {
		return
	}
	s := s3test.Start(t)
	database := "sqlite://" + t.TempDir()
	if pgtest.Here(t) {
		database = pgtest.Place(t)
	}
	own := []koantest.Setting{{Key: "database", Value: database}, {Key: "journal.enabled", Value: "true"}}
	one, other := inBucket(t, s, own...), inBucket(t, s, own...)
	text := create(t, one, map[string]any{"name": "a.txt", "text": "hello"})
	again := create(t, one, map[string]any{"text": "hello"})
	require.NotEqual(t, text.ID, again.ID)
	require.JSONEq(t, `"hello"`, string(other.Run(`SDK.Files.text(SDK.args)`, koantest.Input{Args: text.ID}).Result))
	large := random(t, 6<<20)
	f, err := store(t, one).Put(t.Context(), framework.Upload{Name: "large", Set: "default", Owner: auth.Local().Subject, Body: bytes.NewReader(large)})
	require.NoError(t, err)
	sum := sha256.Sum256(large)
	require.Equal(t, hex.EncodeToString(sum[:]), f.SHA256)
	body, _, err := store(t, other).Open(t.Context(), auth.Local(), f.ID)
	require.NoError(t, err)
	_, err = body.Seek(-4, io.SeekEnd)
	require.NoError(t, err)
	end, err := io.ReadAll(body)
	require.NoError(t, err)
	require.Equal(t, large[len(large)-4:], end)
	_, err = body.Seek(1<<20, io.SeekStart)
	require.NoError(t, err)
	rest, err := io.ReadAll(body)
	require.NoError(t, err)
	require.Equal(t, large[1<<20:], rest)
	require.NoError(t, body.Close())

	data := 0
	for _, name := range s.Objects(t) {
		require.True(t, strings.HasPrefix(name, "app/"), name)
		if strings.HasPrefix(name, "app/data/") {
			data++
		}
	}
	require.Equal(t, 2, data, "equal bytes are kept once")

	// A row keeps one, the journal the others; the upload that nobody used goes.
	one.Run(`SDK.Entities.Todo.upsert({ title: "see", notes: SDK.args })`, koantest.Input{Args: text.ID})
	s.Age(t, 25*time.Hour)
	n, err := store(t, other).Collect(t.Context(), 24*time.Hour)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	_, err = store(t, one).Find(t.Context(), auth.Local(), f.ID)
	require.Equal(t, fault.NotFound, fault.CodeOf(err))
	for _, id := range []string{text.ID, again.ID} {
		_, _, err = store(t, other).Bytes(t.Context(), auth.Local(), id, 5)
		require.NoError(t, err)
	}
}

// What is wrong with a bucket is said at the start, with the key that mends it.
func TestBucketsThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	s := s3test.Start(t)
	for _, c := range []struct {
		set  koantest.Setting
		code fault.Code
		says string
	}{
		{koantest.Setting{Key: "files.s3.secretKey", Value: "wrong"}, fault.ServiceUnavailable, "files.s3.secretKey"},
		{koantest.Setting{Key: "files.s3.accessKey", Value: "nobody"}, fault.ServiceUnavailable, "files.s3.accessKey"},
		{koantest.Setting{Key: "files.s3.bucket", Value: "other"}, fault.ServiceUnavailable, "files.s3.bucket"},
		{koantest.Setting{Key: "files.s3.secretKey", Value: ""}, fault.InvalidRequest, "files.s3.secretKey"},
		{koantest.Setting{Key: "files.dir", Value: t.TempDir()}, fault.InvalidRequest, "not in both"},
		{koantest.Setting{Key: "files.maxBytes", Value: strconv.Itoa(6 << 30)}, fault.InvalidRequest, "files.maxBytes"},
		{koantest.Setting{Key: "files.s3.bucket", Value: ""}, fault.InvalidRequest, "no meaning without files.s3.bucket"},
	} {
		flags := map[string]string{"database": "sqlite://" + t.TempDir()}
		for _, v := range append(s.Settings(), c.set) {
			flags[v.Key] = v.Value
		}
		i, err := framework.New(t.Context(), fixture.App(), framework.Options{Config: framework.Source{Flags: flags}, Testing: true})
		if err == nil {
			_ = i.Stop(t.Context())
		}
		require.Error(t, err, c.set.Key)
		f := fault.From(err)
		require.Equal(t, c.code, f.Code, "%s: %v", c.set.Key, err)
		require.Contains(t, f.Message+" "+f.Hint, c.says)
		require.NotContains(t, err.Error(), s3test.SecretKey)
	}
}

// A server that is away is no reason not to start, and what fails meanwhile leaves nothing.
func TestBucketThatGoesAndComes(t *testing.T) {
	t.Parallel()
	s := s3test.Start(t)
	kit := inBucket(t, s, koantest.Setting{Key: "files.s3.timeoutMs", Value: "1000"})
	large := random(t, 4<<20)
	put := func(body io.Reader) (string, error) {
		f, err := store(t, kit).Put(t.Context(), framework.Upload{Set: "default", Owner: auth.Local().Subject, Body: body})
		return f.ID, err
	}
	id, err := put(bytes.NewReader(large))
	require.NoError(t, err)
	before := s.Objects(t)
	s.Kill()
	unavailable := func(err error) {
		t.Helper()
		require.Equal(t, fault.ServiceUnavailable, fault.CodeOf(err), "%v", err)
		require.Contains(t, fault.From(err).Hint, "files.s3.endpoint")
		require.Equal(t, fault.Safe, fault.From(err).Retry)
	}
	_, err = put(strings.NewReader("new"))
	unavailable(err)
	_, _, err = store(t, kit).Bytes(t.Context(), auth.Local(), id, 8<<20)
	unavailable(err)
	count := func() string { return string(kit.Run(`SDK.Entities.Todo.count()`, koantest.Input{}).Result) }
	rows := count()
	refused := kit.Try(`SDK.Entities.Todo.upsert({ id: "t", title: "x", notes: SDK.args })`, koantest.Input{Args: id}).Error
	require.Equal(t, fault.ServiceUnavailable, refused.Code, "a run whose files cannot be kept does not commit")
	require.Equal(t, rows, count())
	late := inBucket(t, s, koantest.Setting{Key: "files.s3.timeoutMs", Value: "1000"})
	s.Run(t)
	require.Equal(t, before, s.Objects(t), "nothing is half-written")
	raw, _, err := store(t, late).Bytes(t.Context(), auth.Local(), id, 8<<20)
	require.NoError(t, err, "an app that started without its bucket has it now")
	require.Equal(t, large, raw)
}

// A server that breaks off, or falls silent, in the middle of an upload or of a read.
func TestBucketThatBreaksOff(t *testing.T) {
	t.Parallel()
	s := s3test.Start(t)
	line := newLine(t, s.Address)
	kit := inBucket(t, s, koantest.Setting{Key: "files.s3.endpoint", Value: "http://" + line.address}, koantest.Setting{Key: "files.s3.timeoutMs", Value: "500"})
	large := random(t, 8<<20)
	put := func() (string, error) {
		f, err := store(t, kit).Put(t.Context(), framework.Upload{Name: "large.bin", Set: "default", Owner: auth.Local().Subject, Body: bytes.NewReader(large)})
		return f.ID, err
	}
	id, err := put()
	require.NoError(t, err)
	before := s.Objects(t)
	handler, err := kit.Instance().HTTPHandler(framework.HTTPOptions{Authenticate: func(*http.Request) (auth.Principal, error) { return auth.Local(), nil }})
	require.NoError(t, err)
	web := httptest.NewServer(handler)
	t.Cleanup(web.Close)
	get := func() (*http.Response, []byte, error) {
		resp, err := http.Get(web.URL + "/api/files/" + id)
		require.NoError(t, err)
		defer resp.Body.Close()
		raw, err := io.ReadAll(resp.Body)
		return resp, raw, err
	}
	for name, stop := range map[string]func(c net.Conn){
		"breaks off":   func(c net.Conn) { _ = c.Close() },
		"falls silent": func(net.Conn) {},
	} {
		t.Run(name, func(t *testing.T) {
			line.cut(1<<20, stop)
			_, err := put()
			require.Equal(t, fault.ServiceUnavailable, fault.CodeOf(err), "%v", err)
			require.Contains(t, fault.From(err).Hint, "files.s3.endpoint")
			resp, _, err := get()
			require.Equal(t, http.StatusOK, resp.StatusCode)
			require.Error(t, err, "a reader learns that there should be more")
			line.cut(0, stop)
			resp, raw, err := get()
			require.NoError(t, err)
			require.Equal(t, http.StatusServiceUnavailable, resp.StatusCode, "before the first byte it is a problem")
			require.Equal(t, "application/problem+json", resp.Header.Get("Content-Type"))
			require.Contains(t, string(raw), `"code":"service_unavailable"`)
			line.mend()
			require.Equal(t, before, s.Objects(t), "nothing is half-written")
			_, raw, err = get()
			require.NoError(t, err)
			require.True(t, bytes.Equal(large, raw))
		})
	}
}

// line is a connection to a server that can be cut.
type line struct {
	address string
	mu      sync.Mutex
	after   int64 // bytes in either direction; -1 is never
	stop    func(net.Conn)
	open    map[net.Conn]bool
}

func newLine(t *testing.T, to string) *line {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	l := &line{address: listener.Addr().String(), after: -1, open: map[net.Conn]bool{}}
	t.Cleanup(func() { _ = listener.Close(); l.mend() })
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", to)
			if err != nil {
				_ = c.Close()
				continue
			}
			l.mu.Lock()
			l.open[c], l.open[server] = true, true
			after, stop := l.after, l.stop
			l.mu.Unlock()
			for from, to := range map[net.Conn]net.Conn{c: server, server: c} {
				go func() {
					if after < 0 {
						_, _ = io.Copy(to, from)
					} else {
						_, _ = io.CopyN(to, from, after)
						stop(from)
						return
					}
					_ = to.Close()
				}()
			}
		}
	}()
	return l
}

// cut has new connections stop after so many bytes.
func (l *line) cut(after int64, stop func(net.Conn)) { l.change(after, stop) }

// mend has new connections last.
func (l *line) mend() { l.change(-1, nil) }

func (l *line) change(after int64, stop func(net.Conn)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.after, l.stop = after, stop
	for c := range l.open {
		_ = c.Close()
	}
	clear(l.open)
}
