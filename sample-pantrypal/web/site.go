// Package web is PantryPal in a browser: pages that are rendered here, work without JavaScript
// where they can, and follow what anybody changes.
//
// What belongs here: pages, forms, and the little script they need. Not here: a decision
// about the household, or the database. Pages call entities and actions as whoever opened them.
package web

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"html/template"
	"io/fs"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/gzhttp"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
)

//go:embed assets
var assetFiles embed.FS

// site serves the pages.
type site struct {
	app    *framework.Instance
	mux    *http.ServeMux
	assets fs.FS
	stamp  string // of the assets, which makes their addresses new when they change

	templates map[string]*template.Template
}

// Pages returns the pages, for framework.App.
func Pages(app *framework.Instance) http.Handler {
	assets, err := fs.Sub(assetFiles, "assets")
	if err != nil {
		panic(err) // the folder is embedded
	}
	s := &site{app: app, mux: http.NewServeMux(), assets: assets, stamp: digest(assets), templates: parse()}
	s.routes()
	s.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		v := visitOf(s, w, r)
		s.fail(v, failure(v, fault.NotFound, "fault.page"))
	})
	pack, err := gzhttp.NewWrapper(gzhttp.ContentTypes(texts))
	if err != nil {
		panic(err) // the types are known
	}
	return pack(s)
}

// routes says which page and which form is where.
func (s *site) routes() {
	s.get("/{$}", "home", s.home)
	s.get("/more", "more", more)
	s.get("/shelves", "shelves", shelves)
	s.post("/shelves", addLot)
	s.post("/lots/{id}", changeLot)
	s.post("/leftovers/{id}", changeLeftover)
	s.get("/shopping", "shopping", shopping)
	s.shopForm("/shopping", addItem)
	s.post("/shopping/list", makeList)
	s.shopForm("/shopping/check", checkOff)
	s.shopForm("/shopping/back", putBack)
	s.post("/shopping/items/{id}", changeItem)
	s.get("/photo", "photos", photos)
	s.post("/photo", takePhoto)
	s.get("/photo/{id}", "photo", showPhoto)
	s.mux.HandleFunc("GET /photo/{id}/file", s.photoFile)
	s.post("/codes", learn)
	s.post("/codes/{id}/dismiss", dismiss)
	s.post("/codes/{id}/twin", twin)
	s.post("/codes/{id}/reopen", reopen)
	s.post("/lots/{id}/food", mistaken)
	s.get("/week", "week", week)
	s.post("/week", planWeek)
	s.post("/meals", planMeal)
	s.get("/meals/{id}", "served", served)
	s.post("/meals/{id}", changeMeal)
	s.post("/meals/{id}/cooked", cooked)
	s.get("/recipes", "recipes", recipes)
	s.get("/recipes/new", "import", func(*visit) (any, error) { return nil, nil })
	s.post("/recipes", importRecipe)
	s.get("/recipes/{id}", "recipe", recipe)
	s.post("/recipes/{id}", rateRecipe)
	s.get("/recipes/{id}/edit", "edit", editRecipe)
	s.post("/recipes/{id}/edit", changeRecipe)
	s.mux.HandleFunc("GET /recipes/{id}/picture", s.picture)
	s.post("/recipes/{id}/photo", photographRecipe)
	s.post("/recipes/{id}/cooked", cookedRecipe)
	s.get("/reports", "reports", reports)
	s.get("/household", "household", home)
	s.post("/household", changeHome)
	s.post("/household/members", changeMember)
	s.get("/rules", "rules", rules)
	s.post("/rules", addRule)
	s.post("/rules/{id}", changeRule)
	s.get("/stores", "stores", stores)
	s.post("/stores/{id}", changeStore)
	s.get("/activity", "activity", activity)
	s.get("/activity/{id}", "run", s.run)
	s.post("/activity/{id}/undo", s.undo)
	s.get("/plans/{id}", "plan", s.plan)
	s.post("/plans/{id}", decide)
	s.get("/offline", "offline", func(*visit) (any, error) { return nil, nil })
	s.mux.HandleFunc("GET /assets/{name}", s.asset)
	s.mux.HandleFunc("GET /icons/{name}", icon)
	s.mux.HandleFunc("GET /sw.js", s.worker)
	s.mux.HandleFunc("GET /manifest.webmanifest", func(w http.ResponseWriter, r *http.Request) { manifest(s, w, r) })
	s.post("/language", chooseLanguage)
}

// texts are what is sent packed: for a phone in a shop they shrink to a quarter. Photos are packed
// already.
var texts = []string{"text/html", "text/css", "text/javascript", "application/json", "application/manifest+json", "image/svg+xml"}

// policy lets pages load what is served here, and nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; connect-src 'self'; worker-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

// ServeHTTP implements http.Handler.
func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	head := w.Header()
	head.Set("Content-Security-Policy", policy)
	head.Set("X-Content-Type-Options", "nosniff")
	head.Set("Referrer-Policy", "same-origin")
	head.Set("Cross-Origin-Opener-Policy", "same-origin")
	s.mux.ServeHTTP(w, r)
}

// visit is one request for a page.
type visit struct {
	*http.Request
	site *site
	w    http.ResponseWriter
	day  day // read when it is asked for
}

// visitOf is a request with the language that it asks for.
func visitOf(s *site, w http.ResponseWriter, r *http.Request) *visit {
	return &visit{Request: r, site: s, w: w, day: day{tongue: tongueOf(r)}}
}

// failure says what is wrong in the language of the pages.
func failure(v *visit, code fault.Code, key string, args ...any) *fault.Fault {
	return fault.New(code, v.day.t(key, args...))
}

// refuse is failure for what a form has wrong.
func (v *visit) refuse(key string, args ...any) *fault.Fault {
	return failure(v, fault.InvalidPayload, key, args...)
}

// day is what pages need of the household.
type day struct {
	Today    string  `json:"today"`
	Portions float64 `json:"portions"`
	Name     string  `json:"-"`
	Currency string  `json:"-"`
	zone     *time.Location
	*tongue  // nil is the native one
}

// get serves a page that load has the content for.
func (s *site) get(path, name string, load func(*visit) (any, error)) {
	s.mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
		v := visitOf(s, w, r)
		err := v.readDay()
		var data any
		if err == nil {
			data, err = load(v)
		}
		if err != nil {
			s.fail(v, err)
			return
		}
		s.render(v, http.StatusOK, name, data)
	})
}

// done is where a form leads, what it did, and the run that did it, for its undo.
type done struct{ to, did, run string }

// maxForm bounds a form, in bytes. Photos are not read as one.
const maxForm = 64 << 10

// post serves a form that act carries out.
func (s *site) post(path string, act func(*visit) (done, error)) {
	s.mux.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) {
		v := visitOf(s, w, r)
		if !strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/") {
			r.Body = http.MaxBytesReader(w, r.Body, maxForm)
			if err := r.ParseForm(); err != nil {
				s.fail(v, unreadable(v, err))
				return
			}
		}
		d, err := act(v)
		if err != nil {
			s.fail(v, err)
			return
		}
		http.Redirect(w, r, d.address(), http.StatusSeeOther)
	})
}

// unreadable is the fault of a form that cannot be read.
func unreadable(v *visit, err error) error {
	if errors.As(err, new(*http.MaxBytesError)) {
		return failure(v, fault.CallTooLarge, "fault.large").WithHint("%s", v.day.t("hint.less"))
	}
	return v.refuse("fault.unreadable").Because(err)
}

// address says in the address of the next page what was done, so that it can be undone there.
func (d done) address() string {
	if d.run == "" {
		return d.to
	}
	mark := "?"
	if strings.Contains(d.to, "?") {
		mark = "&"
	}
	return d.to + mark + "did=" + d.did + "&run=" + d.run
}

// fail shows why a page or form failed: a form's page again where that is known. What a person has to
// approve leads to its plan.
func (s *site) fail(v *visit, err error) {
	f := fault.From(err)
	if id := planOf(err); id != "" {
		to := "/plans/" + id
		if back := v.back(""); back != "" {
			to += "?back=" + url.QueryEscape(back)
		}
		http.Redirect(v.w, v.Request, to, http.StatusSeeOther)
		return
	}
	status := http.StatusInternalServerError
	if entry, ok := fault.Lookup(f.Code); ok {
		status = entry.HTTP
	}
	if status < http.StatusBadRequest || f.Code == fault.ExecutionError { // an action that refused
		status = http.StatusUnprocessableEntity
	}
	_ = v.readDay() // for days in what is said; without it they are still days
	if v.Method == http.MethodPost && s.keepForm(v, err, status) {
		return
	}
	s.render(v, status, "fault", v.forPeople(err))
}

// planOf is the plan that waits for an approval, "" if err is something else.
func planOf(err error) string {
	var f *fault.Fault
	if !errors.As(err, &f) || f.Code != fault.ApprovalRequired {
		return ""
	}
	details, _ := f.Details.(map[string]any)
	id, _ := details["planId"].(string)
	return id
}

// call invokes an operation as the caller, and returns the id of its run.
func (v *visit) call(id catalog.ID, in, out any) (string, error) { return v.callOnce(id, in, out, "") }

// callOnce is call with an idempotency key.
func (v *visit) callOnce(id catalog.ID, in, out any, key string) (string, error) {
	outcome, err := v.site.app.InvokeOnce(v.Context(), auth.From(v.Context()), key, id.String(), in, out)
	if err != nil {
		return "", refusal{err}
	}
	if outcome == nil {
		return "", nil
	}
	return outcome.Run, nil
}

// submit is call for what a form asks for: sent twice, it happens once.
func (v *visit) submit(id catalog.ID, in, out any) (string, error) {
	return v.callOnce(id, in, out, v.FormValue("key"))
}

// act calls an action for a form.
func (v *visit) act(name string, in, out any) (string, error) {
	return v.submit(catalog.ActionID(name), in, out)
}

// action calls an action.
func (v *visit) action(name string, in, out any) (string, error) {
	return v.call(catalog.ActionID(name), in, out)
}

// query is what rows of an entity are read by.
type query map[string]any

// rows reads rows of an entity, all pages of them up to most.
func rows[Row any](v *visit, entity string, q query, most int) ([]Row, error) {
	in := query{"pageSize": min(most, pageRows), "count": false}
	for k, value := range q {
		in[k] = value
	}
	var all []Row
	for {
		var page struct {
			Items      []Row   `json:"items"`
			NextCursor *string `json:"nextCursor"`
		}
		if _, err := v.call(catalog.EntityID(entity, "collection"), in, &page); err != nil {
			return nil, err
		}
		all = append(all, page.Items...)
		if page.NextCursor == nil || *page.NextCursor == "" || len(all) >= most {
			return all[:min(len(all), most)], nil
		}
		in["cursor"] = *page.NextCursor
	}
}

const pageRows = 200

// row reads one row; its absence is a fault.
func row[Row any](v *visit, entity, id string, with ...string) (Row, error) {
	var out Row
	in := map[string]any{"id": id}
	if len(with) > 0 {
		in["with"] = strings.Join(with, ",")
	}
	_, err := v.call(catalog.EntityID(entity, "get-by-id"), in, &out)
	return out, err
}

// patch changes a row for a form. A form with the version that its page showed changes nothing once
// somebody else was faster.
func (v *visit) patch(entity, id string, changes map[string]any) (string, error) {
	in := map[string]any{"id": id, "changes": changes}
	if err := shownVersion(v, in, "ifVersion"); err != nil {
		return "", err
	}
	return v.submit(catalog.EntityID(entity, "patch"), in, nil)
}

// shownVersion takes the version that a form's page showed, where it has one.
func shownVersion(v *visit, into map[string]any, as string) error {
	text := v.FormValue("version")
	if text == "" {
		return nil
	}
	version, err := strconv.Atoi(text)
	if err != nil {
		return v.refuse("fault.version")
	}
	into[as] = version
	return nil
}

// readDay reads which day it is for the household, and how it writes prices.
func (v *visit) readDay() error {
	if _, err := v.action("stow", map[string]any{"foodIds": []string{}}, &v.day); err != nil {
		return err
	}
	home, err := row[struct {
		Name     string `json:"name"`
		Currency string `json:"currency"`
		TimeZone string `json:"timeZone"`
	}](v, "Household", "household")
	if isMissing(err) { // a set without one has the defaults
		v.day.Name, v.day.Currency, v.day.zone = v.day.t("home.unnamed"), "EUR", time.UTC
		return nil
	}
	if err != nil {
		return err
	}
	v.day.Name, v.day.Currency = home.Name, home.Currency
	v.day.zone, err = time.LoadLocation(home.TimeZone)
	return err
}

// digest is short, and another one for other files.
func digest(files fs.FS) string {
	sum := sha256.New()
	_ = fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := fs.ReadFile(files, path)
		sum.Write(raw)
		return err
	})
	return hex.EncodeToString(sum.Sum(nil)[:6])
}

// asset serves a file of the pages.
func (s *site) asset(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "private, max-age=86400")
	if r.URL.Query().Get("v") == s.stamp {
		w.Header().Set("Cache-Control", "private, max-age=31536000, immutable")
	}
	http.ServeFileFS(w, r, s.assets, r.PathValue("name"))
}

// manifest serves what makes the pages an app. It names its language in the address, since browsers
// ask for it without cookies.
func manifest(s *site, w http.ResponseWriter, r *http.Request) {
	in := tongueOf(r)
	for _, one := range tongues() {
		if one.tag == r.URL.Query().Get("language") {
			in = one
		}
	}
	raw, err := fs.ReadFile(s.assets, "manifest.webmanifest")
	if err != nil {
		http.NotFound(w, r)
		return
	}
	out := manifestText.ReplaceAllStringFunc(string(raw), func(key string) string { return in.t(strings.Trim(key, "%")) })
	head := w.Header()
	head.Set("Cache-Control", "private, max-age=86400")
	head.Set("Content-Type", "application/manifest+json")
	head.Set("Vary", "Accept-Language, Cookie")
	_, _ = w.Write([]byte(out))
}

// manifestText stands in the manifest for a text.
var manifestText = regexp.MustCompile(`%[a-z.A-Z]+%`)

// worker serves the service worker, which keeps what a shopper needs without a network. Its first
// line changes with the assets and the language, so that browsers install it anew.
func (s *site) worker(w http.ResponseWriter, r *http.Request) {
	raw, err := fs.ReadFile(s.assets, "sw.js")
	if err != nil {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
	w.Header().Set("Cache-Control", "no-cache")
	w.Header().Set("Vary", "Accept-Language, Cookie")
	_, _ = w.Write([]byte("const STAMP = \"" + s.stamp + "\", LANGUAGE = \"" + tongueOf(r).tag + "\";\n"))
	_, _ = w.Write(raw)
}

// principal is the caller of ctx.
func principal(ctx context.Context) auth.Principal { return auth.From(ctx) }
