package main

import (
	"bufio"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/tests/needs"
)

// A German household finds each page in German, also without a network; the stories are told by
// tests/npm/pantrypal-german.mjs, one a line.
func TestWebInGerman(t *testing.T) {
	w := serveWeb(t, "sqlite://"+t.TempDir())
	t.Run("languages", w.languages)
	needs.Browser(t)
	texts, err := filepath.Abs("web/texts")
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), "node", "pantrypal-german.mjs", w.link, filepath.Join(texts, "en.json"), filepath.Join(texts, "de.json"), drawn(t, "german.png", "2000000000039", "2000000000992"))
	cmd.Dir, cmd.Stderr = "../tests/npm", os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	stories := 0
	for lines := bufio.NewScanner(out); lines.Scan(); stories++ {
		var told struct {
			Story, Error string
			Looked       int
		}
		require.NoError(t, json.Unmarshal(lines.Bytes(), &told), "%s", lines.Text())
		t.Run(told.Story, func(t *testing.T) {
			require.Empty(t, told.Error)
			if told.Story == "each page is German" {
				require.GreaterOrEqual(t, told.Looked, 40, "pages")
			}
		})
	}
	require.NoError(t, cmd.Wait())
	require.Equal(t, 4, stories)
}

// A page has the language that was chosen, else the one that is asked for, else English.
func (w *web) languages(t *testing.T) {
	for _, c := range []struct{ asked, cookie, tag, says string }{
		{"", "", "en", "Tonight"},
		{"de-CH,de;q=0.9", "", "de", "Heute Abend"},
		{"fr-FR", "", "en", "Tonight"},
		{"de", "pantrypal-language=en", "en", "Tonight"},
		{"en", "pantrypal-language=de", "de", "Heute Abend"},
		{"de", "pantrypal-language=../../x", "de", "Heute Abend"},
		{"nonsense;;q=x", "pantrypal-language=%00", "en", "Tonight"},
	} {
		status, head, text := w.do("GET", "/", "", "Accept-Language", c.asked, "Cookie", c.cookie)
		require.Equal(t, http.StatusOK, status, c)
		require.Contains(t, text, `<html lang="`+c.tag+`">`, c)
		require.Contains(t, text, c.says, c)
		require.Equal(t, c.tag, head.Get("Content-Language"))
		require.Contains(t, head.Values("Vary"), "Accept-Language, Cookie")
		_, _, worker := w.do("GET", "/sw.js", "", "Accept-Language", c.asked, "Cookie", c.cookie)
		require.Contains(t, worker, `LANGUAGE = "`+c.tag+`"`)
	}
	status, head, _ := w.do("POST", "/language", "language=de&back=/more")
	require.Equal(t, http.StatusSeeOther, status)
	require.Equal(t, "/more", head.Get("Location"))
	require.Contains(t, head.Get("Set-Cookie"), "pantrypal-language=de; Path=/; Max-Age=31536000; HttpOnly; SameSite=Lax")
	_, head, _ = w.do("POST", "/language", "language=")
	require.Contains(t, head.Get("Set-Cookie"), "Max-Age=0")
	status, head, _ = w.do("POST", "/language", "language=xx")
	require.Equal(t, http.StatusBadRequest, status)
	require.Empty(t, head.Get("Set-Cookie"))

	_, _, manifest := w.do("GET", "/manifest.webmanifest?language=de", "")
	var app struct {
		Lang      string
		Shortcuts []struct{ Name string }
	}
	require.NoError(t, json.Unmarshal([]byte(manifest), &app))
	require.Equal(t, "de", app.Lang)
	require.Equal(t, "Einkaufsliste", app.Shortcuts[0].Name)

	for _, c := range []struct{ path, form, says string }{
		{"/shopping", "name=Seil&amount=viel", "ist keine Zahl."},
		{"/shelves", "name=Seil&amount=0&unit=g&place=pantry", "Eine Menge muss größer als 0 sein"},
		{"/meals", "recipe=shakshuka&date=2020-01-01", "Mi 1. Jan. 2020 ist vorbei."},
		{"/lots/none", "do=used", "Das gibt es nicht: Vorrat."},
		{"/lots/none", "do=used", "Das hat nicht geklappt"},
		{"/shopping/back", "item=Seil", "Es gibt keine offene Einkaufsliste."},
		{"/photo", "x=y", "Es wurde kein Foto gesendet."},
	} {
		_, _, text := w.do("POST", c.path, c.form, "Accept-Language", "de")
		require.Contains(t, text, c.says, c.path)
	}
	status, _, text := w.do("POST", "/household/members", "name=Mika&portion=0,5&diet=none&allergies=Erdnüsse,+Milch", "Accept-Language", "de")
	require.Equal(t, http.StatusSeeOther, status, "%s", text)
	_, _, text = w.do("GET", "/api/household/household", "")
	require.Contains(t, text, `"allergies":["peanuts","milk"]`)
	_, _, text = w.do("GET", "/household", "", "Accept-Language", "de")
	require.Contains(t, text, "Allergisch gegen Erdnüsse, Milch")
}
