package console

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"
)

//go:embed web/dist
var dist embed.FS

// file is a file of the page, compressed.
type file struct {
	media, tag string
	body       []byte
}

// files returns those of the page by name; its document is index.html. They are read when
// somebody first asks for one: most processes of an app serve no page.
var files = sync.OnceValue(readFiles)

func readFiles() map[string]file {
	out := map[string]file{}
	err := fs.WalkDir(dist, "web/dist", func(at string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		body, err := dist.ReadFile(at)
		sum := sha256.Sum256(body)
		name := strings.TrimSuffix(path.Base(at), ".gz")
		out[name] = file{media: mediaTypes[path.Ext(name)], tag: `"` + hex.EncodeToString(sum[:12]) + `"`, body: body}
		return err
	})
	if err != nil {
		panic("console: its files cannot be read: " + err.Error())
	}
	return out
}

// mediaTypes are those of the files: the machine's own table may say something else.
var mediaTypes = map[string]string{".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml"}

// serveFile serves an asset, and the document for every other path: the page shows what its path
// names.
func (h *Handler) serveFile(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	name := "index.html"
	if asset, ok := strings.CutPrefix(r.URL.Path, Path+"/assets/"); ok {
		name = asset
	}
	f, ok := files()[name]
	if !ok {
		http.NotFound(w, r)
		return
	}
	head := w.Header()
	head.Set("Content-Type", f.media)
	head.Set("ETag", f.tag)
	head.Set("Vary", "Accept-Encoding")
	if head.Get("Cache-Control") == "" {
		head.Set("Cache-Control", "no-cache")
	}
	if strings.Contains(r.Header.Get("If-None-Match"), f.tag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	if acceptsGzip(r) {
		head.Set("Content-Encoding", "gzip")
		_, _ = w.Write(f.body)
		return
	}
	plain, err := gzip.NewReader(bytes.NewReader(f.body))
	if err == nil {
		_, err = io.Copy(w, plain)
	}
	if err != nil {
		h.opts.Log.Error("a file of the console could not be sent", "file", name, "error", err)
	}
}

// acceptsGzip reports whether a client takes gzip.
func acceptsGzip(r *http.Request) bool {
	for _, part := range strings.Split(strings.Join(r.Header.Values("Accept-Encoding"), ","), ",") {
		name, quality, _ := strings.Cut(part, ";")
		if name = strings.TrimSpace(name); strings.EqualFold(name, "gzip") || name == "*" {
			_, q, weighed := strings.Cut(quality, "=")
			weight, err := strconv.ParseFloat(strings.TrimSpace(q), 64)
			return !weighed || err == nil && weight > 0
		}
	}
	return false
}
