package main

import (
	"bufio"
	"context"
	"encoding/json"
	"html"
	"image"
	"image/color"
	"image/png"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/koan-go/koan/tests/needs"
	"github.com/stretchr/testify/require"
)

// pictures is the folder of the pictures in docs, "" while none are taken: see pictures_test.go.
var pictures string

var pagesLink = regexp.MustCompile(`Pages: (http\S+&home)`)

// web is PantryPal served over HTTP, in a process of its own.
type web struct {
	t    *testing.T
	link string // signs in, once
	url  string
}

// lineBuffer is what a process has printed so far.
type lineBuffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *lineBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lineBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func serveWeb(t *testing.T, database string) *web {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	dir := t.TempDir()
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), self, "serve", "--http", "127.0.0.1:0", "--database", database, "--plugins.dir", filepath.Join(tools, "plugins"))
	cmd.Dir, cmd.Env = dir, []string{asApp + "=1", "HOME=" + dir, "PATH=" + os.Getenv("PATH")}
	printed := &lineBuffer{}
	cmd.Stderr = printed
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	w := &web{t: t}
	require.Eventually(t, func() bool {
		if m := pagesLink.FindStringSubmatch(printed.String()); m != nil {
			w.link = m[1]
		}
		return w.link != ""
	}, 60*time.Second, 20*time.Millisecond, "%s", printed)
	at, err := url.Parse(w.link)
	require.NoError(t, err)
	w.url = at.Scheme + "://" + at.Host
	return w
}

// drawn draws a photo of packages with these codes.
func drawn(t *testing.T, name string, codes ...string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), name)
	said, err := exec.Command(filepath.Join(tools, "makephoto"), "-out", to, "-width", "800", "-height", "600", "-seed", "7", "-codes", strings.Join(codes, ",")).CombinedOutput()
	require.NoError(t, err, "%s", said)
	return to
}

// do sends a request with headers, given as names and values, and returns its status, headers and
// body. It does not follow redirects.
func (w *web) do(method, path, body string, header ...string) (int, http.Header, string) {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), method, w.url+path, strings.NewReader(body))
	require.NoError(w.t, err)
	if body != "" {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			r.Host = header[i+1]
		} else {
			r.Header.Set(header[i], header[i+1])
		}
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	got, err := client.Do(r)
	require.NoError(w.t, err)
	defer got.Body.Close()
	text, err := io.ReadAll(got.Body)
	require.NoError(w.t, err)
	return got.StatusCode, got.Header, string(text)
}

// A household uses the pages, in a browser; and what is no household's request is refused.
func TestWeb(t *testing.T) {
	w := serveWeb(t, "sqlite://"+t.TempDir())
	if pictures == "" { // which are of what a household alone has done
		t.Run("attacks", w.attacks)
		t.Run("bad input", w.badInput)
		t.Run("together", w.together)
		t.Run("lists", w.lists)
		t.Run("plain words", w.plainWords)
	}
	t.Run("stories", w.stories)
}

// stories are told by tests/npm/pantrypal.mjs, one a line.
func (w *web) stories(t *testing.T) {
	needs.Browser(t)
	args := []string{"pantrypal.mjs", w.link, drawn(t, "phone.png", "2000000000039", "2000000000992"), drawn(t, "desktop.png", "2000000000077", "2000000000985")}
	if pictures != "" {
		folder, err := filepath.Abs(pictures)
		require.NoError(t, err)
		args = append(args, folder)
	}
	cmd := exec.CommandContext(t.Context(), "node", args...)
	cmd.Dir, cmd.Stderr = "../tests/npm", os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	stories := 0
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var told struct {
			Story, Error     string
			Ms, Took, Looked int
		}
		require.NoError(t, json.Unmarshal(lines.Bytes(), &told), "%s", lines.Text())
		stories++
		t.Run(told.Story, func(t *testing.T) {
			require.Empty(t, told.Error)
			switch {
			case told.Story == "what an agent does appears":
				require.Less(t, told.Took, 2000, "milliseconds until it is seen")
			case strings.HasPrefix(told.Story, "axe"):
				require.GreaterOrEqual(t, told.Looked, 20, "pages")
			}
			t.Logf("%d ms, seen after %d ms", told.Ms, told.Took)
		})
	}
	require.NoError(t, cmd.Wait())
	require.Equal(t, 23, stories)
}

func (w *web) attacks(t *testing.T) {
	for name, c := range map[string]struct {
		method, path, body string
		header             []string
		status             int
	}{
		"a form of another site":             {"POST", "/shopping", "name=Evil", []string{"Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"}, http.StatusForbidden},
		"a form of another port":             {"POST", "/shopping", "name=Evil", []string{"Origin", "http://127.0.0.1:1", "Sec-Fetch-Site", "same-site"}, http.StatusForbidden},
		"a form of a page without an origin": {"POST", "/shopping", "name=Evil", []string{"Origin", "null"}, http.StatusForbidden},
		"a form of another scheme's page":    {"POST", "/shopping/check", "item=x", []string{"Sec-Fetch-Site", "cross-site"}, http.StatusForbidden},
		"another name for this machine":      {"GET", "/", "", []string{"Host", "evil.example"}, http.StatusForbidden},
		"a page that there is not":           {"GET", "/etc/passwd", "", nil, http.StatusNotFound},
		"an asset that there is not":         {"GET", "/assets/..%2fsite.go", "", nil, http.StatusNotFound},
		"reading by a form":                  {"POST", "/shelves/x", "a=b", nil, http.StatusNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			status, _, text := w.do(c.method, c.path, c.body, c.header...)
			require.Equal(t, c.status, status, "%s", text)
		})
	}
	_, _, text := w.do("GET", "/shopping", "")
	require.NotContains(t, text, "Evil")
	_, head, text := w.do("GET", "/?did=%3Cscript%3E&run=%22%3E%3Cscript%3E", "")
	require.NotContains(t, text, "%3Cscript")
	policy := head.Get("Content-Security-Policy")
	require.NotContains(t, policy, "unsafe")
	for _, want := range []string{"default-src 'none'", "frame-ancestors 'none'", "form-action 'self'", "base-uri 'none'"} {
		require.Contains(t, policy, want)
	}
	require.NotRegexp(t, `<script(>| [^>]*>[^<])|<style|style="| on[a-z]+="`, text, "nothing inline")
	_, _, refused := w.do("POST", "/lots/none", "do=used&back=//evil.example")
	require.NotContains(t, refused, "//evil.example")
}

// What is entered wrongly is explained, and nothing of it is kept.
func (w *web) badInput(t *testing.T) {
	for name, c := range map[string]struct {
		method, path, body string
		status             int
		says               string
	}{
		"an amount that is none":       {"POST", "/shopping", "name=Rope&amount=much", http.StatusBadRequest, "is not a number"},
		"a unit that is none":          {"POST", "/shelves", "name=Rope&amount=1&unit=furlong&place=pantry", http.StatusBadRequest, "unknown unit"},
		"a lot that there is not":      {"POST", "/lots/none", "do=used", http.StatusNotFound, "That did not work"},
		"a thing that is on no list":   {"POST", "/shopping/back", "item=Rope", http.StatusBadRequest, "no open shopping list"},
		"nothing to do":                {"POST", "/lots/none", "", http.StatusBadRequest, "nothing to do"},
		"a day that is none":           {"GET", "/week?from=tomorrow", "", http.StatusBadRequest, "is not a day"},
		"portions that are none":       {"GET", "/recipes/shakshuka?servings=-1", "", http.StatusBadRequest, "portions"},
		"portions without an end":      {"GET", "/recipes/shakshuka?servings=Inf", "", http.StatusBadRequest, "portions"},
		"a recipe that there is not":   {"GET", "/recipes/none", "", http.StatusNotFound, "That did not work"},
		"portions without end":         {"POST", "/meals", "recipe=shakshuka&servings=NaN", http.StatusBadRequest, "is not a number"},
		"portions for a town":          {"POST", "/meals", "recipe=shakshuka&servings=99999999999999999999", http.StatusBadRequest, "at most 100 portions"},
		"nothing to buy of a thing":    {"POST", "/shopping", "name=Milk&amount=0&unit=l", http.StatusBadRequest, "An amount has to be more than 0"},
		"nothing of a thing":           {"POST", "/shelves", "name=Zero&amount=0&unit=g&place=pantry", http.StatusBadRequest, "An amount has to be more than 0"},
		"less than nothing":            {"POST", "/shelves", "name=Zero&amount=-1&unit=g&place=pantry", http.StatusBadRequest, "An amount has to be more than 0, not -1."},
		"a meal for nobody":            {"POST", "/meals", "recipe=shakshuka&servings=0", http.StatusBadRequest, "for more than 0"},
		"a meal that was":              {"POST", "/meals", "recipe=shakshuka&date=2020-01-01", http.StatusBadRequest, "Wed 1 Jan 2020 is past"},
		"a meal in another life":       {"POST", "/meals", "recipe=shakshuka&date=2099-01-01", http.StatusBadRequest, "more than a year ahead"},
		"a dinner of no recipe":        {"POST", "/meals", "recipe=none", http.StatusNotFound, "no recipe"},
		"two mistakes":                 {"POST", "/shelves", "name=&amount=1&unit=g&place=attic", http.StatusBadRequest, "is not a value of"},
		"a meal on no day":             {"POST", "/meals", "recipe=shakshuka&date=someday", http.StatusBadRequest, "is not a day"},
		"a week that starts never":     {"POST", "/week", "start=soon", http.StatusBadRequest, "is not a day"},
		"a form that is a book":        {"POST", "/lots/none", "do=" + strings.Repeat("x", 1<<17), http.StatusRequestEntityTooLarge, "too large"},
		"a run that there is not":      {"GET", "/activity/none", "", http.StatusNotFound, "That did not work"},
		"a plan that there is not":     {"GET", "/plans/none", "", http.StatusNotFound, "That did not work"},
		"a photo form without a photo": {"POST", "/photo", "x=y", http.StatusBadRequest, "no photo"},
	} {
		t.Run(name, func(t *testing.T) {
			status, _, text := w.do(c.method, c.path, c.body)
			require.Contains(t, text, c.says)
			require.Equal(t, c.status, status)
			for _, program := range []string{"named fields", "approval.", "/model", "in the set"} {
				require.NotContains(t, text, program, "what is for programs")
			}
		})
	}
	status, _, text := w.do("GET", "/reports?food=stardust", "")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, text, "There is no food")
	require.Contains(t, text, "Thrown away", "the rest of the page is there")
	groceries, err := os.ReadFile("testdata/haul.png")
	require.NoError(t, err)
	for name, photo := range map[string]string{"a text": "no photo", "nothing": "", "half a photo": string(groceries[:3000]), "a start that lies": "\x89PNG\r\n\x1a\nno photo"} {
		status, _, text := w.photo(photo)
		require.Equal(t, http.StatusBadRequest, status, name)
		require.Contains(t, text, "JPEG, PNG or WebP", name)
		require.NotContains(t, text, "defect", name)
	}
	status, _, text = w.photo(blank(t, 8192, 6144))
	require.Contains(t, text, "the picture is too large: 8192 x 6144 pixels")
	require.NotContains(t, text, "JPEG", "it is one that can be read")
	require.NotContains(t, text, "haul")
	require.Less(t, status, 500)
	_, _, text = w.do("GET", "/photo", "")
	require.Contains(t, text, "No photo was read yet")
}

// photo sends a file as a photo of groceries.
func (w *web) photo(file string) (int, http.Header, string) {
	w.t.Helper()
	return w.do("POST", "/photo", "--b\r\nContent-Disposition: form-data; name=\"photo\"; filename=\"x.png\"\r\nContent-Type: image/png\r\n\r\n"+file+"\r\n--b--\r\n", "Content-Type", "multipart/form-data; boundary=b")
}

// blank is a PNG picture with nothing on it.
func blank(t *testing.T, width, height int) string {
	t.Helper()
	var out strings.Builder
	require.NoError(t, png.Encode(&out, image.NewPaletted(image.Rect(0, 0, width, height), color.Palette{color.White, color.Black})))
	return out.String()
}

// A form that is sent twice happens once, and two people on one thing do not overwrite each other.
func (w *web) together(t *testing.T) {
	count := func(entity, filter string) (n struct{ TotalCount int }) {
		status, _, text := w.do("GET", "/api/"+entity+"?filter="+url.QueryEscape(filter), "")
		require.Equal(t, http.StatusOK, status, "%s", text)
		require.NoError(t, json.Unmarshal([]byte(text), &n))
		return n
	}
	form := regexp.MustCompile(`action="(/lots/[^"]+)"[^>]*><input type="hidden" name="version" value="([^"]+)"><input type="hidden" name="key" value="([^"]+)"><input type="hidden" name="do" value="correct">`)
	_, _, page := w.do("GET", "/shelves", "")
	lot := form.FindStringSubmatch(page)
	require.NotNil(t, lot, "%.2000s", page)

	before := count("planned-meal", `{}`).TotalCount
	for range 2 {
		status, _, text := w.do("POST", "/meals", "key=plan-it&recipe=shakshuka&servings=2")
		require.Equal(t, http.StatusSeeOther, status, "%s", text)
	}
	require.Equal(t, before+1, count("planned-meal", `{}`).TotalCount, "a dinner that was tapped twice is planned once")

	for _, name := range []string{"Rope", "Lamp"} { // by two phones whose page had no list
		status, _, text := w.do("POST", "/shopping", "key="+name+"&list=&amount=1&unit=piece&name="+name)
		require.Equal(t, http.StatusSeeOther, status, "%s", text)
	}
	_, _, text := w.do("GET", "/shopping", "")
	require.Contains(t, text, "Rope")
	require.Contains(t, text, "Lamp", "both are on one list")

	correct := func(key, version, rest string) (int, string) {
		status, _, text := w.do("POST", lot[1], "do=correct&key="+key+"&version="+version+"&"+rest)
		return status, text
	}
	status, text := correct("nothing", lot[2], "amount=0&wasAmount=6")
	require.Equal(t, http.StatusBadRequest, status)
	require.Contains(t, text, "For food that is gone, choose")
	status, text = correct(lot[3], lot[2], "amount=7&wasAmount=6")
	require.Equal(t, http.StatusSeeOther, status, "%s", text)
	status, text = correct("other", lot[2], "amount=3&wasAmount=6")
	require.Equal(t, http.StatusConflict, status)
	require.Contains(t, text, "Somebody changed ")
	require.Contains(t, text, "This is how it is now: 7, ")
	require.NotContains(t, text, "version")
	id := strings.TrimPrefix(lot[1], "/lots/")
	_, head, _ := w.do("GET", "/api/pantry-item/"+id, "")
	version := strings.Trim(head.Get("ETag"), `"`)
	status, text = correct("date", version, "amount=6&wasAmount=6&bestBefore=2031-01-02&wasBestBefore=")
	require.Equal(t, http.StatusSeeOther, status, "%s", text)
	_, _, text = w.do("GET", "/api/pantry-item/"+id, "")
	require.Contains(t, text, `"amount":7`, "a new date alone leaves the amount that the page had rounded")
	require.Contains(t, text, `"bestBefore":"2031-01-02"`)
}

// store stores a row as another program does, and returns its id.
func (w *web) store(entity, model string) string {
	w.t.Helper()
	status, _, text := w.do("POST", "/api/"+entity, model, "Content-Type", "application/json")
	require.Equal(w.t, http.StatusCreated, status, "%s", text)
	var row struct{ ID string }
	require.NoError(w.t, json.Unmarshal([]byte(text), &row))
	return row.ID
}

// asks makes a call that somebody has to agree to, and returns the page that asks for it.
func (w *web) asks(method, path, body string) string {
	w.t.Helper()
	_, _, text := w.do(method, path, body, "Content-Type", "application/json")
	var refused struct{ Details struct{ PlanID string } }
	require.NoError(w.t, json.Unmarshal([]byte(text), &refused))
	require.NotEmpty(w.t, refused.Details.PlanID, "%s", text)
	return "/plans/" + refused.Details.PlanID
}

var (
	tags   = regexp.MustCompile(`<[^>]*>`)
	anyID  = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-`)
	aRun   = regexp.MustCompile(`href="(/activity/[^"?]+)"`)
	blanks = regexp.MustCompile(`\s+`)
)

// read is what a person reads of a page.
func (w *web) read(path string, header ...string) string {
	w.t.Helper()
	_, _, page := w.do("GET", path, "", header...)
	_, main, _ := strings.Cut(page, "<main")
	return html.UnescapeString(blanks.ReplaceAllString(tags.ReplaceAllString("<main"+main, " "), " "))
}

// newestRun is the page of what happened last.
func (w *web) newestRun() string {
	w.t.Helper()
	_, _, page := w.do("GET", "/activity", "")
	found := aRun.FindStringSubmatch(page)
	require.NotNil(w.t, found, "%s", page)
	return found[1]
}
