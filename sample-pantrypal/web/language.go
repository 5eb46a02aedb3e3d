package web

import (
	"cmp"
	"embed"
	"encoding/json"
	"fmt"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/text/feature/plural"
	"golang.org/x/text/language"
)

//go:embed texts
var textFiles embed.FS

// native is the language of what actions and the framework say, and of pages for those who ask for
// none that there is.
const native = "en"

// tongue is a language that the pages speak: one file of texts.
type tongue struct {
	tag     string // as html and the file have it
	texts   map[string]text
	heard   []heard           // what actions say, and where its translation is
	foreign map[string]string // words of this language in small letters, and what data has for them
}

// text is what a key says, by plural forms; one without them has only other.
type text map[string]string

// UnmarshalJSON reads a text, or its plural forms.
func (t *text) UnmarshalJSON(raw []byte) error {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		*t = text{"other": one}
		return nil
	}
	forms := map[string]string{}
	err := json.Unmarshal(raw, &forms)
	*t = forms
	return err
}

// heard recognises something that actions say.
type heard struct {
	key   string
	is    *regexp.Regexp
	order []int // which placeholder each group stands for
}

// tongues are all languages, the native one first. They are read when pages are served, since a
// program starts as a worker more often than as a server.
var tongues = sync.OnceValue(func() []*tongue {
	files, err := textFiles.ReadDir("texts")
	if err != nil {
		panic(err) // the folder is embedded
	}
	var all []*tongue
	for _, f := range files {
		raw, err := textFiles.ReadFile(path.Join("texts", f.Name()))
		one := &tongue{tag: strings.TrimSuffix(f.Name(), ".json")}
		if err == nil {
			err = json.Unmarshal(raw, &one.texts)
		}
		if err != nil {
			panic(fmt.Errorf("%s: %w", f.Name(), err)) // a test reads them
		}
		all = append(all, one)
	}
	slices.SortStableFunc(all, func(a, b *tongue) int { return rankOf(a) - rankOf(b) })
	for _, one := range all[1:] {
		one.learn(all[0])
	}
	return all
})

func rankOf(l *tongue) int {
	if l.tag == native {
		return 0
	}
	return 1
}

var placeholder = regexp.MustCompile(`\{(\d)\}`)

// said by actions are texts below this; worded are the groups of words that data has in English.
const saidByActions = "says."

var worded = []string{"allergen", "aisle", "cuisine", "diet", "meal", "tag"}

// learn prepares a language to recognise what is said in the native one.
func (l *tongue) learn(from *tongue) {
	l.foreign = map[string]string{}
	for key, of := range from.texts {
		group, name, _ := strings.Cut(key, ".")
		if slices.Contains(worded, group) {
			l.foreign[group+"."+strings.ToLower(l.texts[key]["other"])] = name
		}
		if !strings.HasPrefix(key, saidByActions) {
			continue
		}
		h := heard{key: key}
		pattern := regexp.QuoteMeta(of["other"])
		pattern = regexp.MustCompile(`\\\{(\d)\\\}`).ReplaceAllStringFunc(pattern, func(s string) string {
			n, _ := strconv.Atoi(strings.Trim(s, `\{}`))
			h.order = append(h.order, n)
			return "(.+?)"
		})
		h.is = regexp.MustCompile("(?s)^" + pattern + "$")
		l.heard = append(l.heard, h)
	}
	slices.SortFunc(l.heard, func(a, b heard) int { // the more exact ones first
		one, other := from.texts[a.key]["other"], from.texts[b.key]["other"]
		if starts := strings.HasPrefix(one, "{"); starts != strings.HasPrefix(other, "{") {
			if starts {
				return 1
			}
			return -1
		}
		return cmp.Or(len(other)-len(one), cmp.Compare(one, other))
	})
}

// languageCookie keeps the language that somebody has chosen.
const languageCookie = "pantrypal-language"

// tongueOf is the language of a request: the one chosen, else one that the browser asks for.
func tongueOf(r *http.Request) *tongue {
	if chosen := chosenTongue(r); chosen != nil {
		return chosen
	}
	all := tongues()
	asked, _, err := language.ParseAcceptLanguage(r.Header.Get("Accept-Language"))
	if err != nil || len(asked) == 0 {
		return all[0]
	}
	_, at, sure := matcher().Match(asked...)
	if sure == language.No {
		return all[0]
	}
	return all[at]
}

// matcher finds the language that suits a browser.
var matcher = sync.OnceValue(func() language.Matcher {
	var tags []language.Tag
	for _, one := range tongues() {
		tags = append(tags, language.Make(one.tag))
	}
	return language.NewMatcher(tags)
})

// chosenTongue is the language that somebody has chosen, nil for none.
func chosenTongue(r *http.Request) *tongue {
	kept, err := r.Cookie(languageCookie)
	if err != nil {
		return nil
	}
	at := slices.IndexFunc(tongues(), func(t *tongue) bool { return t.tag == kept.Value })
	if at < 0 {
		return nil
	}
	return tongues()[at]
}

// yearSeconds is how long a browser keeps the choice.
const yearSeconds = 365 * 24 * 3600

// chooseLanguage keeps the language that somebody wants, or forgets it.
func chooseLanguage(v *visit) (done, error) {
	cookie := &http.Cookie{Name: languageCookie, Value: v.FormValue("language"), Path: "/", MaxAge: yearSeconds, HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: v.TLS != nil}
	switch known := slices.ContainsFunc(tongues(), func(t *tongue) bool { return t.tag == cookie.Value }); {
	case cookie.Value == "":
		cookie.MaxAge = -1
	case !known:
		return done{}, v.refuse("fault.language").WithPath("/language")
	}
	http.SetCookie(v.w, cookie)
	return done{to: v.back("/more")}, nil
}

// languageChoice is a language that one can choose.
type languageChoice struct {
	Tag, Name string
	On        bool
}

// languages are those that one can choose, by the names that they have for themselves.
func languages(r *http.Request) []languageChoice {
	chosen := chosenTongue(r)
	var out []languageChoice
	for _, one := range tongues() {
		out = append(out, languageChoice{one.tag, one.texts["language.name"]["other"], one == chosen})
	}
	return out
}

// orNative is the language, which is the native one for a page without any.
func (l *tongue) orNative() *tongue {
	if l == nil {
		return tongues()[0]
	}
	return l
}

// t is the text of a key, with what belongs at {1}, {2} and so on. The first of these decides about
// the plural.
func (l *tongue) t(key string, args ...any) string {
	in := l.orNative()
	forms, known := in.texts[key]
	if !known {
		return key // a test finds it
	}
	said := forms["other"]
	if len(forms) > 1 && len(args) > 0 {
		if one, ok := forms[in.form(args[0])]; ok {
			said = one
		}
	}
	if len(args) == 0 {
		return said
	}
	return placeholder.ReplaceAllStringFunc(said, func(s string) string {
		if n, _ := strconv.Atoi(s[1 : len(s)-1]); n >= 1 && n <= len(args) {
			return l.written(args[n-1])
		}
		return s
	})
}

// knows reports whether there is a text for a key.
func (l *tongue) knows(key string) bool { return l.orNative().texts[key] != nil }

// written is a value in a text.
func (l *tongue) written(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case float64:
		return l.number(v)
	}
	return fmt.Sprint(value)
}

// form is the plural form of a number.
func (l *tongue) form(of any) string {
	n, fraction := 0, ""
	switch v := of.(type) {
	case int:
		n = v
	case float64:
		whole, part, _ := strings.Cut(number(v), ".")
		n, _ = strconv.Atoi(whole)
		fraction = part
	}
	f, _ := strconv.Atoi("0" + fraction)
	digits := len(fraction)
	switch plural.Cardinal.MatchPlural(language.Make(l.tag), n, digits, digits, f, f) {
	case plural.Zero:
		return "zero"
	case plural.One:
		return "one"
	case plural.Two:
		return "two"
	case plural.Few:
		return "few"
	case plural.Many:
		return "many"
	}
	return "other"
}

// word is what a value of data is called: "fridge" of the group place. One that nobody has thought of
// stays what it is.
func (l *tongue) word(group, value string) string {
	if key := group + "." + value; l.knows(key) {
		return l.t(key)
	}
	return value
}

// words are several of a group, in a line.
func (l *tongue) words(group string, values []string) string {
	out := make([]string, len(values))
	for i, value := range values {
		out[i] = l.word(group, value)
	}
	return strings.Join(out, ", ")
}

// unword is what data has for a word of the groups, as somebody typed it.
func (l *tongue) unword(typed string, groups ...string) string {
	for _, group := range groups {
		if value, ok := l.orNative().foreign[group+"."+strings.ToLower(strings.TrimSpace(typed))]; ok {
			return value
		}
	}
	return typed
}

// unwords does so for several.
func (l *tongue) unwords(typed []string, group string) []string {
	for i := range typed {
		typed[i] = l.unword(typed[i], group)
	}
	return typed
}

// says is what an action said, in the language of the page where that is one of the sentences that it
// knows. Else it is as the action said it, but for its measure.
func (d day) says(said string) string {
	in := d.orNative()
	for _, h := range in.heard {
		found := h.is.FindStringSubmatch(said)
		if found == nil {
			continue
		}
		args := make([]any, 9)
		for i, n := range h.order {
			args[n-1] = d.part(found[i+1])
		}
		return d.t(h.key, args...)
	}
	if in.tag == native {
		return said
	}
	return d.spoken(said)
}

// part is what was put into something that an action said: it may be sentences again.
func (d day) part(said string) string {
	return d.spokenAll(strings.Split(said, "; "), "; ")
}

// spoken is a part of what an action said: a word of data, a day, or how much of something.
func (d day) spoken(part string) string {
	for _, group := range worded {
		if key := group + "." + strings.ToLower(part); d.knows(key) {
			return d.t(key)
		}
	}
	return measured.ReplaceAllStringFunc(d.dated(part), func(s string) string {
		m := measured.FindStringSubmatch(s)
		return d.comma(m[1]) + d.unitOf(m[2])
	})
}

// measured is how much of something there is, where a text begins with that.
var measured = regexp.MustCompile(`^([\d.]*[\d½¼¾⅓⅔⅛⅜⅝⅞])((?: [\pL-]+)?)`)

// spokenAll is what actions said, one behind the other.
func (d day) spokenAll(all []string, between string) string {
	out := make([]string, len(all))
	for i, one := range all {
		out[i] = d.says(one)
	}
	return strings.Join(out, between)
}

// swap is what an action says to take instead: a thing, or what it stands for and the things.
func (d day) swap(said string) string {
	of, things, named := strings.Cut(said, ": ")
	if !named {
		of, things = "", said
	}
	parts := strings.Split(things, " and ")
	for i := range parts {
		parts[i] = d.says(parts[i])
	}
	things = strings.Join(parts, " "+d.t("and")+" ")
	if named {
		return d.says(of) + ": " + things
	}
	return things
}

// pageTexts are those that the scripts of pages use, as JSON.
func pageTexts(l *tongue) string {
	out := map[string]any{}
	for key, forms := range l.orNative().texts {
		if name, ok := strings.CutPrefix(key, "js."); ok {
			if out[name] = forms["other"]; len(forms) > 1 {
				out[name] = forms
			}
		}
	}
	raw, err := json.Marshal(out)
	if err != nil {
		return "{}" // texts are strings
	}
	return string(raw)
}
