package dev

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// asApp has this program be an app that speaks as the file of the variable says.
const asApp = "KOAN_TEST_APP"

func TestMain(m *testing.M) {
	if file := os.Getenv(asApp); file != "" {
		os.Exit(serveAs(file))
	}
	os.Exit(m.Run())
}

// serveAs is an app: it answers each request with the text of a file as it was at the start. "broken" does not serve;
// "slow" takes a second for an answer; the request "die" ends it, and "ask" has it ask the client first.
func serveAs(file string) int {
	raw, err := os.ReadFile(file)
	text := strings.TrimSpace(string(raw))
	if err != nil || text == "broken" {
		fmt.Fprintln(os.Stderr, "it is broken")
		return 1
	}
	if i := len(os.Args) - 2; i > 0 && os.Args[i] == "--http" {
		return serveHTTP(os.Args[i+1], text)
	}
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return 0
		}
		var m message
		_ = json.Unmarshal(line, &m)
		switch {
		case m.Method == "die":
			return 3
		case m.Method == "ask":
			fmt.Println(`{"jsonrpc":"2.0","id":"q","method":"elicitation/create"}`)
		case m.ID == nil:
			continue
		case m.Method == "work" && text == "slow":
			time.Sleep(time.Second)
		}
		fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"method":%q,"text":%q}}`+"\n", m.ID, m.Method, text)
	}
}

func serveHTTP(address, text string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	fmt.Fprintln(os.Stderr, "listening on "+address)
	s := &http.Server{Addr: address, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Host+" "+text) })}
	go func() {
		<-ctx.Done()
		_ = s.Shutdown(context.Background())
	}()
	_ = s.ListenAndServe()
	return 0
}

// fake is a program whose source is a file: what does not build says so.
type fake struct{ file string }

func (f fake) Build(context.Context, io.Writer) (file, state string, err error) {
	state = f.State()
	if raw, _ := os.ReadFile(f.file); strings.Contains(string(raw), "syntax error") {
		return "", state, errors.New("syntax error")
	}
	file, err = os.Executable()
	return file, state, err
}

func (f fake) State() string { return stateOf(f.file, nil) }

// client is a client of koan dev.
type client struct {
	*testing.T
	file string
	in   io.WriteCloser
	out  *bufio.Reader
	errs *tail
	done chan error
}

func serve(t *testing.T, args ...string) *client {
	t.Helper()
	file := filepath.Join(t.TempDir(), "app")
	t.Setenv(asApp, file)
	in, w := io.Pipe()
	r, out := io.Pipe()
	c := &client{T: t, file: file, in: w, out: bufio.NewReader(r), errs: &tail{to: io.Discard}, done: make(chan error, 1)}
	c.write("one")
	ctx, cancel := context.WithCancel(t.Context())
	go func() { c.done <- Run(ctx, Options{Program: fake{file}, Args: args, In: in, Out: out, Err: c.errs}) }()
	t.Cleanup(func() {
		cancel()
		_ = w.Close()
		require.NoError(t, <-c.done)
	})
	return c
}

var writes atomic.Int64

// write changes the source. Its time is another one, whatever the file system's clock counts.
func (c *client) write(text string) {
	c.Helper()
	require.NoError(c, os.WriteFile(c.file, []byte(text), 0o600))
	at := time.Unix(1e9+writes.Add(1), 0)
	require.NoError(c, os.Chtimes(c.file, at, at))
}

func (c *client) send(line string) {
	c.Helper()
	_, err := io.WriteString(c.in, line+"\n")
	require.NoError(c, err)
}

func (c *client) reads(want string) {
	c.Helper()
	line, err := c.out.ReadString('\n')
	require.NoError(c, err)
	require.Contains(c, line, want)
}

// says waits until koan dev says something.
func (c *client) says(want string) {
	c.Helper()
	require.Eventually(c, func() bool { return c.errs.has(want) }, 30*time.Second, 5*time.Millisecond, want)
	c.errs.forget()
}

func (c *client) changes() {
	c.Helper()
	for _, what := range []string{"tools", "resources", "prompts"} {
		c.reads("notifications/" + what + "/list_changed")
	}
}

func TestClientStaysWhileTheAppIsReplaced(t *testing.T) {
	c := serve(t)
	c.send(`{"jsonrpc":"2.0","id":1,"method":"initialize"}`)
	c.reads(`"id":1,"result":{"method":"initialize","text":"one"}`)
	c.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	c.says("serves")
	c.write("two")
	c.changes()
	c.send(`{"jsonrpc":"2.0","id":"a","method":"work"}`)
	c.reads(`"id":"a","result":{"method":"work","text":"two"}`)

	for _, wrong := range []string{"syntax error", "broken"} {
		c.write(wrong)
		c.says("what served before keeps serving")
		c.send(`{"jsonrpc":"2.0","id":2,"method":"work"}`)
		c.reads(`"text":"two"`)
	}
	c.write("three")
	c.changes()
	c.send(`{"jsonrpc":"2.0","id":3,"method":"work"}`)
	c.reads(`"text":"three"`)
}

func TestWorkIsAnsweredBeforeTheAppIsReplaced(t *testing.T) {
	c := serve(t)
	c.says("serves")
	c.write("slow")
	c.says("serves")
	c.send(`{"jsonrpc":"2.0","id":7,"method":"work"}`)
	c.write("fast")
	c.reads(`"id":7,"result":{"method":"work","text":"slow"}`)
	c.says("serves")
	c.send(`{"jsonrpc":"2.0","id":8,"method":"work"}`)
	c.reads(`"text":"fast"`)
}

func TestAnAppThatEndsLeavesNoRequestWithoutAnAnswer(t *testing.T) {
	c := serve(t)
	c.says("serves")
	c.send(`{"jsonrpc":"2.0","id":5,"method":"die"}`)
	c.reads(`"id":5,"error":{"code":-32000`)
	c.says("the app has ended")
	c.send(`{"jsonrpc":"2.0","id":6,"method":"work"}`) // waits
	c.write("again")
	c.reads(`"id":6,"result":{"method":"work","text":"again"}`)
}

func TestAnswersToAnAppThatWasReplacedAreDropped(t *testing.T) {
	c := serve(t)
	c.says("serves")
	c.send(`{"jsonrpc":"2.0","id":1,"method":"ask"}`)
	c.reads(`"id":"q","method":"elicitation/create"`)
	c.reads(`"id":1`)
	c.write("two")
	c.says("serves")
	c.send(`{"jsonrpc":"2.0","id":"q","result":{}}`) // the second app would answer it
	c.send(`{"jsonrpc":"2.0","id":2,"method":"work"}`)
	c.reads(`"id":2,"result":{"method":"work","text":"two"}`)
}

func TestRequestsOverHTTPWait(t *testing.T) {
	address, err := freePort()
	require.NoError(t, err)
	c := serve(t, "--http", address)
	get := func() string {
		response, err := http.Get("http://" + address + "/x")
		if err != nil {
			return err.Error()
		}
		defer func() { _ = response.Body.Close() }()
		raw, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		return string(raw)
	}
	c.says("listening on " + address)
	c.says("serves")
	require.Equal(t, address+" one", get())
	c.write("broken")
	c.says("what served before keeps serving")
	require.Equal(t, address+" one", get())
	c.write("two")
	c.says("serves")
	require.Equal(t, address+" two", get())
}

func TestSchemaOfAFileOfSQLiteIsFollowed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.db")
	require.Equal(t, "missing", schemaCookie("sqlite:"+file))
	require.NoError(t, os.WriteFile(file, append(make([]byte, 40), 0, 0, 1, 2), 0o600))
	require.Equal(t, "258", schemaCookie("sqlite:"+file))
	require.Empty(t, schemaCookie("postgres://a/b"))
}

func TestAddressIsTheFrontsOwn(t *testing.T) {
	for _, c := range [][3]string{{"--http 127.0.0.1:1 --quiet", "127.0.0.1:1", "--quiet"}, {"--a b --http=x:2", "x:2", "--a b"}, {"--a", "", "--a"}} {
		address, rest := httpAddress(strings.Fields(c[0]))
		require.Equal(t, c[1], address)
		require.Equal(t, c[2], strings.Join(rest, " "))
	}
}

// An app behind the front takes everybody for a caller of this machine.
func TestOtherMachinesAreNotServed(t *testing.T) {
	for _, address := range []string{"0.0.0.0:0", ":0", "192.0.2.1:0", "[::]:0", "example.org:0", "8080"} {
		err := Run(t.Context(), Options{Program: fake{t.TempDir()}, Args: []string{"--http", address}, Err: io.Discard})
		require.ErrorContains(t, err, "--http "+address)
	}
}

// A call that was cancelled, and a subscription, have no answer: nobody waits for one.
func TestWhatHasNoAnswerHoldsNothingUp(t *testing.T) {
	f := newPipeFront(strings.NewReader(""), io.Discard, io.Discard)
	for _, line := range []string{
		`{"id":1,"method":"tools/call"}`, `{"id":"s","method":"subscriptions/listen"}`, `{"id":2,"method":"tools/call"}`,
		`{"method":"notifications/cancelled","params":{"requestId":1}}`,
	} {
		require.True(t, f.expects([]byte(line)))
	}
	require.Equal(t, 1, f.underWay())
	require.Equal(t, map[string]bool{`"s"`: true, "2": false}, f.pending)
}

// What a client sends before anything serves, and more of it than a pipe holds, is answered, though it has gone by then.
func TestInputThatEndsAtOnceIsAnswered(t *testing.T) {
	file := filepath.Join(t.TempDir(), "app")
	require.NoError(t, os.WriteFile(file, []byte("one"), 0o600))
	t.Setenv(asApp, file)
	var in, out strings.Builder
	for i := range 4 {
		fmt.Fprintf(&in, `{"jsonrpc":"2.0","id":%d,"method":"work%s"}`+"\n", i, strings.Repeat("x", 1<<20))
	}
	require.NoError(t, Run(t.Context(), Options{Program: fake{file}, In: strings.NewReader(in.String()), Out: &out, Err: io.Discard}))
	require.Equal(t, 4, strings.Count(out.String(), `"text":"one"`))
}

// An app that ends over what has waited for it leaves no request without an answer.
func TestAnAppThatEndsAtItsFirstRequests(t *testing.T) {
	c := serve(t)
	c.says("serves")
	for range 20 {
		c.send(`{"jsonrpc":"2.0","id":1,"method":"die"}`)
		c.reads(`"id":1,"error"`)
		c.says("the app has ended")
		for id := 2; id < 5; id++ {
			c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"die"}`, id))
		}
		c.write("again")
		for range 3 {
			c.reads(`"error":{"code":-32000`)
		}
		c.write("and again")
		c.says("serves")
	}
}
