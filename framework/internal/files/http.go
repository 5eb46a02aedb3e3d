package files

import (
	"encoding/json"
	"errors"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/fault"
)

// Routes are what HTTP has of files: POST /api/files and GET /api/files/{id} (CONTRACT
// section 11).
type Routes struct {
	Store *Store
	// Set returns the set that a caller means by a name, "" being the default.
	Set func(p auth.Principal, name string) (string, error)
	// Fail writes a fault.
	Fail func(w http.ResponseWriter, r *http.Request, err error)
}

// Upload keeps the body of a request as a file: ?name and ?set, or the name in
// Content-Disposition. It answers 201 with the file.
func (h *Routes) Upload(w http.ResponseWriter, r *http.Request) {
	p := auth.From(r.Context())
	set, err := h.Set(p, r.URL.Query().Get("set"))
	if err != nil {
		h.Fail(w, r, err)
		return
	}
	kind := r.Header.Get("Content-Type")
	if base, _, _ := mime.ParseMediaType(kind); strings.HasPrefix(base, "multipart/") {
		h.Fail(w, r, fault.New(fault.InvalidPayload, "the body is the file itself, not a form").WithHint("Send the bytes: curl --data-binary @photo.jpg -H 'Content-Type: image/jpeg'."))
		return
	}
	if r.ContentLength > h.Store.maxBytes {
		h.Fail(w, r, h.Store.TooLarge())
		return
	}
	f, err := h.Store.Put(r.Context(), Upload{Name: nameOf(r), Type: kind, Set: set, Owner: p.Subject, Body: r.Body})
	if err != nil {
		var known *fault.Fault
		if !errors.As(err, &known) {
			err = fault.New(fault.InvalidPayload, "the body ended before the file did").Because(err)
		}
		h.Fail(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Location", r.URL.Path+"/"+f.ID)
	w.WriteHeader(http.StatusCreated)
	_ = json.NewEncoder(w).Encode(f) // a caller that has left reads nothing
}

func nameOf(r *http.Request) string {
	if name := r.URL.Query().Get("name"); name != "" {
		return name
	}
	_, parameters, _ := mime.ParseMediaType(r.Header.Get("Content-Disposition"))
	return parameters["filename"]
}

// Download writes a file, or the ranges of it that the request asks for.
func (h *Routes) Download(w http.ResponseWriter, r *http.Request) {
	body, f, err := h.Store.Open(auth.From(r.Context()), r.PathValue("id"))
	if err != nil {
		h.Fail(w, r, err)
		return
	}
	defer body.Close()
	header := w.Header()
	header.Set("Content-Type", f.Type)
	header.Set("ETag", `"`+f.SHA256+`"`)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Cache-Control", "private, immutable, max-age=31536000")
	// Nothing in a file is executed with the rights of the site.
	header.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	disposition := "inline"
	if base, _, _ := mime.ParseMediaType(f.Type); isActive(base) {
		disposition = "attachment"
	}
	header.Set("Content-Disposition", mime.FormatMediaType(disposition, map[string]string{"filename": f.Name}))
	if f.Name == "" {
		header.Set("Content-Disposition", disposition)
	}
	http.ServeContent(w, r, "", time.Time{}, body)
}
