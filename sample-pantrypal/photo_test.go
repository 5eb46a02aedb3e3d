package main

import (
	"html"
	"image"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A recipe shows the photo that somebody took of it, also one of the catalogue; taken off, it shows the
// drawn picture again.
func TestWebShowsPhotosOfRecipes(t *testing.T) {
	w := serveWeb(t, "sqlite://"+t.TempDir())
	send := func(file string) (int, string) {
		status, head, text := w.dishPhoto(file)
		return status, head.Get("Location") + text
	}
	const picture = "/recipes/shakshuka/picture"
	_, head, _ := w.do("GET", picture, "")
	require.Equal(t, "image/svg+xml", head.Get("Content-Type"))
	photo, err := os.ReadFile("testdata/haul.png")
	require.NoError(t, err)
	status, said := send(string(photo))
	require.Equal(t, http.StatusSeeOther, status, "%s", said)
	require.Contains(t, said, "/recipes/shakshuka?did=changed&run=", "it can be undone")
	_, head, text := w.do("GET", picture, "")
	require.Equal(t, "image/jpeg", head.Get("Content-Type"))
	require.Contains(t, head.Get("Content-Security-Policy"), "sandbox")
	size, _, err := image.DecodeConfig(strings.NewReader(text))
	require.NoError(t, err)
	require.LessOrEqual(t, max(size.Width, size.Height), 1000)
	for _, page := range []string{"/recipes", "/recipes/shakshuka"} {
		_, _, text = w.do("GET", page, "")
		require.Contains(t, text, picture+"?v=", "a new photo has a new address")
		require.NotContains(t, text, picture+"?v=drawn")
	}
	require.Equal(t, "private, no-cache", head.Get("Cache-Control"), "an address without it may have had the drawn picture")

	for name, file := range map[string]string{"a text": "no photo", "half a photo": string(photo[:3000]), "nothing": "", "a picture of a wall": blank(t, 8192, 6144)} {
		status, said = send(file)
		require.Equal(t, http.StatusBadRequest, status, name)
		require.Regexp(t, "The photo cannot be read", said, name)
		require.NotContains(t, said, "defect", name)
	}
	status, _, text = w.do("POST", "/recipes/none/photo", "--b--\r\n", "Content-Type", "multipart/form-data; boundary=b")
	require.Equal(t, http.StatusNotFound, status, "%s", text)
	status, _, text = w.do("POST", "/recipes/shakshuka/photo", "--b--\r\n", "Content-Type", "multipart/form-data; boundary=b")
	require.Equal(t, http.StatusBadRequest, status, "%s", text)

	status, _, text = w.do("POST", "/recipes/shakshuka/photo", "do=remove")
	require.Equal(t, http.StatusSeeOther, status, "%s", text)
	_, head, _ = w.do("GET", picture, "")
	require.Equal(t, "image/svg+xml", head.Get("Content-Type"))

	// Another program may set a photo of the usual types. What is none is not shown, and what is no file is refused.
	set := func(id string) (int, string) {
		status, _, text := w.do("PATCH", "/api/recipe/shakshuka", `{"photo":"`+id+`"}`, "Content-Type", "application/merge-patch+json", "If-Match", "*")
		return status, text
	}
	for file, shown := range map[string]string{string(photo): "image/png", "RIFF\x24\x00\x00\x00WEBPVP8 \x18\x00\x00\x00": "image/webp", "no photo": "image/svg+xml", "<svg xmlns='http://www.w3.org/2000/svg'/>": "image/svg+xml"} {
		status, _, text = w.do("POST", "/api/files", file, "Content-Type", "application/octet-stream")
		require.Equal(t, http.StatusCreated, status, "%s", text)
		status, text = set(regexp.MustCompile(`file_[0-9a-f]+`).FindString(text))
		require.Equal(t, http.StatusOK, status, "%s", text)
		_, head, text = w.do("GET", picture, "")
		require.Equal(t, shown, head.Get("Content-Type"))
		require.Equal(t, shown != "image/svg+xml", text == file)
		require.Contains(t, head.Get("Content-Security-Policy"), "none")
	}
	status, text = set("file_00000000000000000000000000000000")
	require.Equal(t, http.StatusOK, status, "%s", text)
	_, head, _ = w.do("GET", picture, "")
	require.Equal(t, "image/svg+xml", head.Get("Content-Type"), "it is gone")
	for _, id := range []string{"gone", "https://example.com/a.png", ""} {
		status, text = set(id)
		require.Equal(t, http.StatusBadRequest, status, "%s", text)
		require.Contains(t, text, `"path":"/photo"`)
	}
}

// dishPhoto sends a photo of the shakshuka.
func (w *web) dishPhoto(file string) (int, http.Header, string) {
	return w.do("POST", "/recipes/shakshuka/photo", "--b\r\nContent-Disposition: form-data; name=\"photo\"; filename=\"x.png\"\r\nContent-Type: image/png\r\n\r\n"+file+"\r\n--b--\r\n", "Content-Type", "multipart/form-data; boundary=b")
}

// A recipe that the household makes of one of the catalogue is shown as that one is.
func TestWebKeepsThePictureOfACopy(t *testing.T) {
	w := serveWeb(t, "sqlite://"+t.TempDir())
	_, _, drawn := w.do("GET", "/recipes/shakshuka/picture", "")
	copied := func(name string) string {
		form := url.Values{"name": {name}, "servings": {"2"}}
		_, _, page := w.do("GET", "/recipes/shakshuka/edit", "")
		form.Set("ingredients", html.UnescapeString(regexp.MustCompile(`name="ingredients"[^>]*>([^<]*)</textarea>`).FindStringSubmatch(page)[1]))
		form.Set("tags", regexp.MustCompile(`name="tags"[^>]*value="([^"]*)"`).FindStringSubmatch(page)[1])
		for _, meal := range regexp.MustCompile(`name="meals" value="([^"]*)" checked`).FindAllStringSubmatch(page, -1) {
			form.Add("meals", meal[1])
		}
		status, head, text := w.do("POST", "/recipes/shakshuka/edit", form.Encode())
		require.Equal(t, http.StatusSeeOther, status, "%s", text)
		to, err := url.Parse(head.Get("Location"))
		require.NoError(t, err)
		return to.Path
	}
	_, _, text := w.do("GET", copied("Sunday pan")+"/picture", "")
	require.Equal(t, drawn, text, "under another name, too")

	file, err := os.ReadFile("testdata/haul.png")
	require.NoError(t, err)
	status, _, said := w.dishPhoto(string(file))
	require.Equal(t, http.StatusSeeOther, status, "%s", said)
	_, _, photo := w.do("GET", "/recipes/shakshuka/picture", "")
	own := copied("Monday pan")
	_, head, text := w.do("GET", own+"/picture", "")
	require.Equal(t, "image/jpeg", head.Get("Content-Type"))
	require.Equal(t, photo, text)
	status, _, text = w.do("POST", "/recipes/shakshuka/photo", "do=remove")
	require.Equal(t, http.StatusSeeOther, status, "%s", text)
	_, head, _ = w.do("GET", own+"/picture", "")
	require.Equal(t, "image/jpeg", head.Get("Content-Type"), "the copy has it for itself")
}
