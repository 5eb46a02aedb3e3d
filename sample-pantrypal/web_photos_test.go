package main

import (
	"encoding/json"
	"html"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What a photo was read as is corrected where it is shown: packages that two photos show, things that
// are something else or not there, and what was dismissed.
func TestPhotosAreCorrected(t *testing.T) {
	w := serveWeb(t, "sqlite://"+t.TempDir())
	send := func(name string, codes ...string) string {
		raw, err := os.ReadFile(drawn(t, name, codes...))
		require.NoError(t, err)
		status, head, text := w.photo(string(raw))
		require.Equal(t, http.StatusSeeOther, status, "%s", text)
		to, _, _ := strings.Cut(head.Get("Location"), "?")
		return to
	}
	form := func(page, action string, fields string) string {
		t.Helper()
		_, _, text := w.do("GET", page, "")
		found := regexp.MustCompile(`action="(` + action + `)"[^>]*>(?:<span[^>]*>[^<]*</span>)*(?:<input type="hidden" name="version" value="([^"]+)">)?<input type="hidden" name="key" value="([^"]+)">`).FindStringSubmatch(text)
		require.NotNil(t, found, "%s has no %s: %.3000s", page, action, text)
		status, _, said := w.do("POST", html.UnescapeString(found[1]), "version="+found[2]+"&key="+found[3]+"&back="+page+"&"+fields)
		require.Equal(t, http.StatusSeeOther, status, "%s", said)
		_, _, text = w.do("GET", page, "")
		return text
	}
	send("first.png", "2000000000183", "2000000000091")
	page := send("second.png", "2000000000183", "2000000000091", "2000000000282")
	_, _, text := w.do("GET", page, "")
	require.Equal(t, 2, strings.Count(text, "the same one?"))
	_, _, all := w.do("GET", "/photo", "")
	require.Equal(t, 2, strings.Count(all, "It is also on another photo."))

	text = form(page, "/codes/[^\"]+/twin", "do=same")
	require.Equal(t, 1, strings.Count(text, "the same one?"))
	require.Equal(t, 1, strings.Count(text, "not counted"))
	text = form(page, "/codes/[^\"]+/twin", "do=another")
	require.NotContains(t, text, "the same one?")
	text = form(page, "/codes/[^\"]+/reopen", "")
	require.Contains(t, text, "the same one?", "it was no answer for ever")

	text = form(page, "/lots/[^\"]+/food", "really=gnocchi")
	require.Contains(t, text, ">Gnocchi<")
	text = form(page, "/lots/[^\"/]+", "do=absent")
	require.Contains(t, text, "It is not in the house any more.")
	_, _, lot := w.do("GET", page, "")
	status, _, refused := w.do("POST", regexp.MustCompile(`/lots/[^"]+/food`).FindString(lot), "really=moon+rock&back="+page)
	require.Equal(t, http.StatusBadRequest, status)
	require.Contains(t, refused, "The kitchen has nothing called")
}

// A picture that cannot be read is named, with what to do about it, wherever it is sent to.
func TestOtherPicturesAreNamed(t *testing.T) {
	w := serveWeb(t, "sqlite://"+t.TempDir())
	for name, file := range map[string]string{
		"HEIC": "\x00\x00\x00\x18ftypheic\x00\x00\x00\x00mif1heic", "AVIF": "\x00\x00\x00\x1cftypavif\x00\x00\x00\x00avifmif1miaf",
		"TIFF": "II*\x00\x08\x00\x00\x00", "BMP": "BM" + strings.Repeat("\x00", 60), "PDF": "%PDF-1.7\n",
	} {
		status, _, text := w.photo(file)
		require.Equal(t, http.StatusBadRequest, status, name)
		require.Contains(t, text, "The photo cannot be read", name)
		require.Contains(t, text, "the file is "+name)
		require.Contains(t, text, "JPEG, PNG or WebP")

		status, _, said := w.do("POST", "/api/files", file, "Content-Type", "application/octet-stream")
		require.Equal(t, http.StatusCreated, status, "a file may be anything: %s", said)
		var kept struct{ ID string }
		require.NoError(t, json.Unmarshal([]byte(said), &kept))
		status, _, said = w.do("POST", "/api/actions/haul", `{"file": "`+kept.ID+`"}`, "Content-Type", "application/json")
		require.Less(t, status, 500)
		require.GreaterOrEqual(t, status, 400)
		require.Contains(t, said, "the file is "+name)
		require.Contains(t, said, "JPEG, PNG or WebP")
		require.NotContains(t, said, "defect")
	}
	_, _, all := w.do("GET", "/photo", "")
	require.Contains(t, all, "No photo was read yet")
}
