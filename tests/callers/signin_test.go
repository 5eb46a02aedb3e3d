package callers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"io/fs"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// programs are clients beside people. They may call upstream servers.
const programs = `{"reader": {"scope": "plugins:call member:read", "sets": ["default"]}, "keeper": {"scope": "plugins:call entities:write member:read member:write member:delete", "sets": ["*"]}}`

// peopleIssuer is a real authorization server at which people sign in.
func peopleIssuer(t *testing.T, ttl int) *issued {
	t.Helper()
	address, stop := program(t, "issuer.mjs", "0", programs, fmt.Sprintf(`{"ttl":%d}`, ttl))
	return &issued{t: t, url: address, stop: stop}
}

// grants are what it has granted and refused so far.
func (i *issued) grants() map[string]int {
	i.t.Helper()
	resp, err := http.Get(i.url + "/grants")
	require.NoError(i.t, err)
	defer resp.Body.Close()
	out := map[string]int{}
	require.NoError(i.t, json.NewDecoder(resp.Body).Decode(&out))
	return out
}

// gateway is a folder with the configuration of an app whose upstream `club` is s.
func gateway(t *testing.T, s *server, more string) string {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, "koan.yaml", "upstreams:\n  club:\n    url: "+s.url+"\n"+more)
	return dir
}

var (
	signInLink = regexp.MustCompile(`(?m)^  (http\S+)$`)
	formAction = regexp.MustCompile(`<form[^>]* action="([^"]+)"`)
	formInput  = regexp.MustCompile(`<input[^>]* type="hidden"[^>]*>`)
	attribute  = regexp.MustCompile(`(name|value)="([^"]*)"`)
)

// signIn is `upstream login`, whose page a browser without scripts goes through as a person.
type signIn struct {
	t      *testing.T
	cmd    *exec.Cmd
	stdout bytes.Buffer
	stderr *said
	in     io.WriteCloser
}

func startLogin(t *testing.T, dir string, args ...string) *signIn {
	t.Helper()
	s := &signIn{t: t, stderr: &said{}, cmd: command(t, dir, append([]string{"upstream", "login", "club", "--no-browser"}, args...)...)}
	s.cmd.Stdout, s.cmd.Stderr = &s.stdout, s.stderr
	var err error
	s.in, err = s.cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, s.cmd.Start())
	t.Cleanup(func() { _ = s.cmd.Process.Kill(); _ = s.cmd.Wait() })
	return s
}

// link is the one that was printed.
func (s *signIn) link() string {
	s.t.Helper()
	var link string
	require.Eventually(s.t, func() bool {
		if m := signInLink.FindStringSubmatch(s.stderr.String()); m != nil {
			link = m[1]
		}
		return link != "" || s.cmd.ProcessState != nil
	}, 60*time.Second, 20*time.Millisecond, "%s", s.stderr)
	return link
}

// browse signs in as a person at the authorization server, consents, and returns the address
// at which that ends, and the page there.
func browse(t *testing.T, link, person string, stay bool) (at, body string) {
	t.Helper()
	return browseIn(t, newBrowser(t, func(r *http.Request) bool { return stay && r.URL.Path == "/callback" }), link, person)
}

// newBrowser has no scripts. It does not follow redirects to some places.
func newBrowser(t *testing.T, stays func(*http.Request) bool) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	return &http.Client{Jar: jar, CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		if stays(r) {
			return http.ErrUseLastResponse
		}
		return nil
	}}
}

// browseIn is browse in a browser that may have been somewhere before.
func browseIn(t *testing.T, browser *http.Client, link, person string) (at, body string) {
	t.Helper()
	resp, err := browser.Get(link)
	for range 10 {
		require.NoError(t, err)
		raw, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		resp.Body.Close()
		body, at = string(raw), resp.Request.URL.String()
		if resp.StatusCode == http.StatusSeeOther || resp.StatusCode == http.StatusFound {
			return resp.Header.Get("Location"), ""
		}
		action := formAction.FindStringSubmatch(body)
		if action == nil {
			return at, body
		}
		form := url.Values{}
		for _, input := range formInput.FindAllString(body, -1) {
			var name, value string
			for _, a := range attribute.FindAllStringSubmatch(input, -1) {
				if a[1] == "name" {
					name = a[2]
				} else {
					value = html.UnescapeString(a[2])
				}
			}
			form.Set(name, value)
		}
		if strings.Contains(body, `name="login"`) {
			form.Set("login", person)
			form.Set("password", "any")
		}
		target, err := resp.Request.URL.Parse(html.UnescapeString(action[1]))
		require.NoError(t, err)
		resp, err = browser.PostForm(target.String(), form)
		require.NoError(t, err)
	}
	t.Fatalf("the sign-in does not end: %s", body)
	return "", ""
}

// end waits for the command.
func (s *signIn) end() error {
	done := make(chan error, 1)
	go func() { done <- s.cmd.Wait() }()
	select {
	case err := <-done:
		return err
	case <-time.After(60 * time.Second):
		s.t.Fatalf("the command does not end: %s", s.stderr)
		return nil
	}
}

// signsIn signs a person in.
func signsIn(t *testing.T, dir, person string, args ...string) *signIn {
	t.Helper()
	s := startLogin(t, dir, args...)
	_, body := browse(t, s.link(), person, false)
	require.Contains(t, body, "You can close this tab", "%s", s.stderr)
	require.NoError(t, s.end(), "%s", s.stderr)
	return s
}

// outcome is what `run` printed.
type outcome struct {
	OK    bool
	Value any `json:"data"`
	Error struct{ Code, Message, Hint string }
	raw   string
}

func runScript(t *testing.T, dir, script string) outcome {
	t.Helper()
	cmd := command(t, dir, "run", "-")
	cmd.Stdin = strings.NewReader(script)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, _ := cmd.Output()
	var line struct{ Result outcome }
	require.NoError(t, json.Unmarshal(out, &line), "%s%s", out, &stderr)
	line.Result.raw = string(out) + stderr.String()
	return line.Result
}

const countMembers = `SDK.Servers.club.member_count({}).count`

// webToken is how JSON Web Tokens begin. What is sealed has no dots, and may begin so by chance.
var webToken = regexp.MustCompile(`eyJ[\w-]+\.`)

func TestSignInToAnUpstream(t *testing.T) {
	t.Parallel()
	id := peopleIssuer(t, 600)
	s := serve(t, t.TempDir(), "--server.oauth.issuer", id.url, "--tools.style", "perEntity")
	dir := gateway(t, s, "")

	before := runScript(t, dir, countMembers)
	require.False(t, before.OK)
	require.Equal(t, "unauthorized", before.Error.Code, before.raw)
	require.Contains(t, before.Error.Message, "the server club needs a sign-in")
	require.Contains(t, before.Error.Hint, "`club upstream login club`")

	did := signsIn(t, dir, "ann")
	require.Contains(t, did.stdout.String(), "Signed in to club.\n")
	require.Regexp(t, `It has \d+ tools`, did.stdout.String())

	after := runScript(t, dir, countMembers)
	require.True(t, after.OK, after.raw)
	require.EqualValues(t, 1, after.Value)

	list, err := command(t, dir, "upstream", "list").CombinedOutput()
	require.NoError(t, err, "%s", list)
	require.Contains(t, string(list), "signed in")
	check, err := command(t, dir, "upstream", "check").CombinedOutput()
	require.NoError(t, err, "%s", check)
	require.Contains(t, string(check), ", signed in")

	t.Run("the files are private and sealed", func(t *testing.T) {
		found := 0
		require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			require.NoError(t, err)
			info, err := d.Info()
			require.NoError(t, err)
			if strings.Contains(path, "sign-ins") {
				found++
				require.Zero(t, info.Mode().Perm()&0o077, "%s has mode %v", path, info.Mode())
			}
			if d.IsDir() {
				return nil
			}
			raw, err := os.ReadFile(path)
			require.NoError(t, err)
			require.NotRegexp(t, webToken, string(raw), "%s has a token", path)
			return nil
		}))
		require.GreaterOrEqual(t, found, 4, "folder, file, lock, key")
		require.NotRegexp(t, webToken, did.stderr.String()+string(list)+string(check)+after.raw)
	})
	t.Run("a token is for its url alone", func(t *testing.T) {
		other := serve(t, t.TempDir(), "--server.oauth.issuer", id.url, "--tools.style", "perEntity")
		write(t, dir, "koan.yaml", "upstreams:\n  club:\n    url: "+other.url+"\n")
		got := runScript(t, dir, countMembers)
		require.Equal(t, "unauthorized", got.Error.Code, got.raw)
		require.Contains(t, got.Error.Message, "is for another url")
		list, err := command(t, dir, "upstream", "list").CombinedOutput()
		require.NoError(t, err)
		require.Contains(t, string(list), "needs a sign-in: that for another url is not used")
		write(t, dir, "koan.yaml", "upstreams:\n  club:\n    url: "+s.url+"\n")
		require.True(t, runScript(t, dir, countMembers).OK)
	})
	t.Run("signing out revokes", func(t *testing.T) {
		out, err := command(t, dir, "upstream", "logout", "club").CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.Equal(t, "Signed out of club.\n", string(out))
		require.Equal(t, 1, id.grants()["revoked"])
		got := runScript(t, dir, countMembers)
		require.Equal(t, "unauthorized", got.Error.Code, got.raw)
		out, err = command(t, dir, "upstream", "logout", "club").CombinedOutput()
		require.Error(t, err)
		require.Contains(t, string(out), "is not signed in")
	})
}

// parallelCount makes a hundred calls at the same time.
const parallelCount = `import { member_count } from "@codemode/servers/club";
const all = await Promise.all(Array.from({ length: 100 }, () => member_count({})));
export default all.filter((a) => a.count === 1).length;`

// TestUpstreamTokensAreRefreshedOnce: refresh tokens are good for one use, and whoever uses
// one twice is signed out by this issuer.
func TestUpstreamTokensAreRefreshedOnce(t *testing.T) {
	t.Parallel()
	const ttl = 10
	id := peopleIssuer(t, ttl)
	s := serve(t, t.TempDir(), "--server.oauth.issuer", id.url, "--tools.style", "perEntity", "--server.queueMax", "1000")
	dir := gateway(t, s, "    maxParallel: 100\ncodeMode:\n  maxParallelCalls: 100\n")
	signsIn(t, dir, "ann")
	for round := 1; round <= 2; round++ {
		time.Sleep(ttl * time.Second)
		results := make(chan outcome, 2)
		for range 2 { // processes
			go func() { results <- runScript(t, dir, parallelCount) }()
		}
		for range 2 {
			got := <-results
			require.True(t, got.OK, got.raw)
			require.EqualValues(t, 100, got.Value)
		}
		require.Equal(t, round, id.grants()["refresh_token"])
	}

	// A sign-in that the issuer has ended.
	from, kept := filepath.Join(dir, ".local", "share", "koan", "club", "sign-ins"), t.TempDir()
	require.NoError(t, os.CopyFS(kept, os.DirFS(from)))
	out, err := command(t, dir, "upstream", "logout", "club").CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.NoError(t, os.RemoveAll(from))
	require.NoError(t, os.CopyFS(from, os.DirFS(kept)))
	require.NoError(t, filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		return os.Chmod(path, 0o600)
	}))
	time.Sleep(ttl * time.Second)
	for range 2 {
		got := runScript(t, dir, countMembers)
		require.Equal(t, "unauthorized", got.Error.Code, got.raw)
		require.Contains(t, got.Error.Message, `"invalid_grant"`)
		require.Contains(t, got.Error.Hint, "`club upstream login club`")
	}
	require.Equal(t, 1, id.grants()["invalid_grant"], "a refusal is remembered")
	list, err := command(t, dir, "upstream", "list").CombinedOutput()
	require.NoError(t, err)
	require.Contains(t, string(list), "needs a sign-in")
	signsIn(t, dir, "ann")
	require.True(t, runScript(t, dir, countMembers).OK)
}

// TestCallersHaveTheirOwnSignIns: a call goes out with the caller's token or with none.
func TestCallersHaveTheirOwnSignIns(t *testing.T) {
	t.Parallel()
	id := peopleIssuer(t, 600)
	s := serve(t, t.TempDir(), "--server.oauth.issuer", id.url, "--tools.style", "perEntity")
	dir := gateway(t, s, "")
	signsIn(t, dir, "operator") // with all rights
	signsIn(t, dir, "bob", "--user", "keeper", "--scope", "member:read", "--scope", "member:write", "--scope", "member:delete")
	front := serve(t, dir, "--server.oauth.issuer", id.url)
	call := func(who, code string) answer {
		return front.tool(id.token(who, front.url, "plugins:call"), "koan.code.execute", map[string]any{"code": code})
	}
	const remove = `SDK.Servers.club.member_delete({ id: "nobody-has-this-id" }).deleted`

	got := call("reader", countMembers)
	require.Equal(t, "unauthorized", got.fault(), got.raw)
	require.Contains(t, got.raw, "club upstream login club --user reader")
	require.EqualValues(t, 0, call("keeper", remove).data()["result"], "keeper has the right, and there is no such member")

	did := signsIn(t, dir, "ann", "--user", "reader", "--scope", "member:read")
	require.Contains(t, did.stdout.String(), "Signed in to club as reader.")
	got = call("reader", countMembers)
	require.EqualValues(t, 1, got.data()["result"], got.raw)
	got = call("reader", remove)
	require.Equal(t, "forbidden", got.fault(), got.raw)
	require.Contains(t, got.data()["error"].(map[string]any)["hint"], "`club upstream login club --user reader --scope member:read --scope member:write --scope member:delete")
	require.EqualValues(t, 0, call("keeper", remove).data()["result"])

	again := startLogin(t, dir, "--user", "reader", "--scope", "member:write member:delete")
	asked, err := url.Parse(again.link())
	require.NoError(t, err)
	require.Equal(t, "member:write member:delete member:read", asked.Query().Get("scope"), "with those that it has")
	registered := id.grants()["registration"]
	_, body := browse(t, again.link(), "ann", false)
	require.Contains(t, body, "You can close this tab")
	require.NoError(t, again.end(), "%s", again.stderr)
	require.Equal(t, registered, id.grants()["registration"], "the client is kept")
	require.EqualValues(t, 0, call("reader", remove).data()["result"], "without a restart")

	out, err := command(t, dir, "upstream", "logout", "club", "--user", "reader").CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Equal(t, "unauthorized", call("reader", countMembers).fault(), "at once")
	list, err := command(t, dir, "upstream", "list").CombinedOutput()
	require.NoError(t, err)
	require.Contains(t, string(list), "signed in, 1 other user")
	require.NotRegexp(t, webToken, front.stderr.String())
}

func TestSignInFromAnotherMachine(t *testing.T) {
	t.Parallel()
	id := peopleIssuer(t, 600)
	s := serve(t, t.TempDir(), "--server.oauth.issuer", id.url, "--tools.style", "perEntity")
	dir := gateway(t, s, "")
	t.Run("a pasted address of another sign-in", func(t *testing.T) {
		l := startLogin(t, dir)
		l.link()
		_, err := io.WriteString(l.in, "http://127.0.0.1:1/callback?code=stolen&state=guessed\n")
		require.NoError(t, err)
		require.Error(t, l.end())
		require.Contains(t, l.stderr.String(), "it has another `state`, or none")
		require.NotContains(t, l.stderr.String(), "stolen")
	})
	t.Run("the person ends it", func(t *testing.T) {
		l := startLogin(t, dir)
		l.link()
		require.NoError(t, l.cmd.Process.Signal(os.Interrupt))
		require.Error(t, l.end())
		require.Contains(t, l.stderr.String(), "was ended; nothing has changed")
	})
	t.Run("the person refuses", func(t *testing.T) {
		l := startLogin(t, dir)
		link, err := url.Parse(l.link())
		require.NoError(t, err)
		back, err := url.Parse(link.Query().Get("redirect_uri"))
		require.NoError(t, err)
		back.RawQuery = url.Values{"error": {"access_denied"}, "error_description": {"<b>no</b>"}, "state": {link.Query().Get("state")}, "iss": {id.url}}.Encode()
		resp, err := http.Get(back.String())
		require.NoError(t, err)
		page, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		resp.Body.Close()
		require.Contains(t, string(page), "You are not signed in")
		require.NotContains(t, string(page), "<b>no")
		require.Error(t, l.end())
		require.Contains(t, l.stderr.String(), `refused: "access_denied"`)
	})
	kept, err := filepath.Glob(filepath.Join(dir, ".local/share/koan/club/sign-ins/*/*.json"))
	require.NoError(t, err)
	require.Empty(t, kept)
	t.Run("a pasted address", func(t *testing.T) {
		l := startLogin(t, dir)
		at, _ := browse(t, l.link(), "ann", true)
		require.Contains(t, at, "code=")
		_, err := io.WriteString(l.in, at+"\n")
		require.NoError(t, err)
		require.NoError(t, l.end(), "%s", l.stderr)
		require.True(t, runScript(t, dir, countMembers).OK)
	})
}
