package restapi

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/internal/admission"
	"github.com/koan-go/koan/framework/internal/files"
)

// uploadFile serves POST /api/files: the body is the file.
func (h fileRoutes) uploadFile(w http.ResponseWriter, r *http.Request) {
	if !h.allows(w, r, http.MethodPost) {
		return
	}
	store, err := h.filesFor(r, "create")
	if err != nil {
		h.rejectAs(w, r, asRejection(err))
		return
	}
	u, err := h.upload(r)
	if err != nil {
		h.rejectAs(w, r, asRejection(err))
		return
	}
	if r.ContentLength > store.MaxBytes() {
		h.reject(w, r, store.TooLarge())
		return
	}
	u.Body = &slowBody{body: r.Body, control: http.NewResponseController(w), idle: h.opts.WriteTime}
	f, err := store.Put(r.Context(), u)
	if err != nil {
		var known *fault.Fault
		if !errors.As(err, &known) {
			err = fault.New(fault.InvalidRequest, "the body ended before the file did").WithHint("Send the whole file; nothing was kept.").Because(err)
		}
		h.rejectAs(w, r, asRejection(err))
		return
	}
	body, err := json.Marshal(f)
	if err != nil {
		h.reject(w, r, fault.New(fault.Internal, "").Because(err))
		return
	}
	w.Header().Set("Location", filesPath+"/"+f.ID) // also of one that was kept before under the same key
	h.write(w, http.StatusCreated, jsonType, body)
}

// upload reads what a request says of the file in its body: ?name and ?set, the name in
// Content-Disposition, the media type, and the idempotency key.
func (h fileRoutes) upload(r *http.Request) (files.Upload, error) {
	query, err := decodeQuery(r.URL.RawQuery, []string{"name", "set"})
	if err != nil {
		return files.Upload{}, err
	}
	u := files.Upload{Type: r.Header.Get("Content-Type"), Set: auth.From(r.Context()).DefaultSet(), Owner: auth.From(r.Context()).Subject}
	if media, _, _ := mime.ParseMediaType(u.Type); strings.HasPrefix(media, "multipart/") || media == "application/x-www-form-urlencoded" {
		return u, rejection{Fault: fault.Newf(fault.InvalidPayload, "the Content-Type %s says that the body is a form; it must be the file itself", media).
			WithHint("Name the file's type: curl --data-binary @photo.jpg -H 'Content-Type: image/jpeg' (curl says that it sends a form unless -H says otherwise; application/octet-stream will do for any file)."), status: http.StatusUnsupportedMediaType}
	}
	if f := admission.Encoded(r); f != nil {
		return u, rejection{Fault: f, status: http.StatusUnsupportedMediaType}
	}
	_, parameters, _ := mime.ParseMediaType(r.Header.Get("Content-Disposition"))
	u.Name = parameters["filename"]
	for name, to := range map[string]*string{"name": &u.Name, "set": &u.Set} {
		if value, ok := query[name]; ok {
			_ = json.Unmarshal(value, to) // a parameter of text is a string
		}
	}
	if u.Key, err = givenKey(r); err != nil {
		return u, err
	}
	if !auth.From(r.Context()).MayName(u.Set) || !files.ValidSet(u.Set) || !h.hasSet(u.Set) {
		return u, files.UnknownSet(u.Set).WithPath("/set")
	}
	return u, nil
}

// hasSet reports whether an entity of the app lives in a set. An app without entities has any,
// and files that name none are in the default one.
func (h fileRoutes) hasSet(name string) bool {
	all := h.opts.Catalog().Resources()
	return name == files.DefaultSet || len(all) == 0 || slices.ContainsFunc(all, func(r *catalog.Resource) bool { return r.LivesIn(name) })
}

// filesFor returns the store for a caller who may call a function of SDK.Files.
func (h fileRoutes) filesFor(r *http.Request, function string) (*files.Store, error) {
	p := auth.From(r.Context())
	id := catalog.PluginID(files.Domain, function)
	op := h.opts.Catalog().Operation(id)
	if h.opts.Files == nil || op == nil {
		return nil, fault.New(fault.CapabilityUnsupported, "this app keeps no files")
	}
	if !h.view(p).Allowed(id) {
		return nil, rejection{Fault: fault.New(fault.Forbidden, "the caller may not use files").WithHint("Call with a token that has the scope %s.", strings.Join(op.Needs(), " ")), scopes: op.Needs()}
	}
	return h.opts.Files()
}

// slowBody reads a body that may take as long as it likes while bytes keep coming.
type slowBody struct {
	body    io.Reader
	control *http.ResponseController
	idle    time.Duration
}

func (b *slowBody) Read(p []byte) (int, error) {
	_ = b.control.SetReadDeadline(time.Now().Add(b.idle))
	return b.body.Read(p)
}

// serveFile serves GET /api/files/{id}: a file, or the ranges of it that the request asks for.
func (h fileRoutes) serveFile(w http.ResponseWriter, r *http.Request) {
	if !h.allows(w, r, http.MethodGet) {
		return
	}
	store, err := h.filesFor(r, "get")
	if err == nil {
		_, err = decodeQuery(r.URL.RawQuery, nil)
	}
	if err != nil {
		h.rejectAs(w, r, asRejection(err))
		return
	}
	body, f, err := store.Open(r.Context(), auth.From(r.Context()), r.PathValue("id"))
	if err != nil {
		h.rejectAs(w, r, asRejection(err))
		return
	}
	defer body.Close()
	header := w.Header()
	header.Set("Content-Type", f.Type)
	header.Set("ETag", `"`+f.SHA256+`"`)
	header.Set("Cache-Control", "private, immutable, max-age=31536000")
	// Nothing in a file is executed with the rights of the site.
	header.Set("Content-Security-Policy", "default-src 'none'; sandbox; frame-ancestors 'none'")
	disposition := "inline"
	if files.IsActive(f.Type) {
		disposition = "attachment"
	}
	header.Set("Content-Disposition", cmp.Or(mime.FormatMediaType(disposition, filename(f.Name)), disposition))
	// Ranges are of GET alone (RFC 9110, section 14.2): HEAD says how long the file is.
	if asked := fileRange(r.Header.Get("Range"), f.Size); asked != "" && r.Method == http.MethodGet {
		r.Header.Set("Range", asked)
	} else {
		r.Header.Del("Range")
	}
	h.sendFile(w, r, &fileReader{ReadSeeker: body}, f.Size)
}

// sendFile sends what the request asks for of a file. The header waits for the first bytes: until
// they have been read, there may be none.
func (h fileRoutes) sendFile(w http.ResponseWriter, r *http.Request, body *fileReader, size int64) {
	out := &fileWriter{ResponseWriter: w, control: http.NewResponseController(w), idle: h.opts.WriteTime}
	http.ServeContent(out, r, "", time.Time{}, body)
	switch {
	case out.sent: // what breaks off now is shorter than its header says, which ends the connection
	case out.status == http.StatusRequestedRangeNotSatisfiable:
		out.rejectWith(h.responder, r, rejection{Fault: fault.New(fault.InvalidRequest, "the file has no such range").WithHint("It has %d bytes: ask for others, or for all of it.", size), status: out.status})
	case out.status == http.StatusPreconditionFailed:
		out.rejectWith(h.responder, r, rejection{Fault: fault.New(fault.Conflict, "the file is not the one that the request names").WithHint("Read it without If-Match.").WithRetry(fault.Fix), status: out.status})
	case body.failed != nil:
		w.Header().Del("Content-Range")
		out.rejectWith(h.responder, r, asRejection(body.failed))
	default:
		w.WriteHeader(out.status)
	}
}

// fileReader remembers why a file could not be read on.
type fileReader struct {
	io.ReadSeeker
	failed error
}

func (f *fileReader) Read(p []byte) (int, error) {
	n, err := f.ReadSeeker.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		f.failed = err
	}
	return n, err
}

func filename(name string) map[string]string {
	if name == "" {
		return nil
	}
	return map[string]string{"filename": name}
}

// fileWriter writes to a client that may take as long as it likes while it keeps reading. It holds
// back the status until there is something to write.
type fileWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	idle    time.Duration
	status  int
	sent    bool
}

func (s *fileWriter) WriteHeader(status int) { s.status = status }

func (s *fileWriter) Write(p []byte) (int, error) {
	if s.status == http.StatusRequestedRangeNotSatisfiable {
		return len(p), nil // what net/http says of it in plain text
	}
	if !s.sent {
		s.sent = true
		s.ResponseWriter.WriteHeader(s.status)
	}
	_ = s.control.SetWriteDeadline(time.Now().Add(s.idle))
	return s.ResponseWriter.Write(p)
}

// rejectWith sends a problem in place of the file.
func (s *fileWriter) rejectWith(h *responder, r *http.Request, rejected rejection) {
	for _, name := range []string{"Content-Disposition", "Cache-Control", "Content-Length", "Accept-Ranges", "ETag"} {
		s.Header().Del(name)
	}
	h.rejectAs(s.ResponseWriter, r, rejected)
}

// fileRoutes describes the routes of files that the caller may use.
func (b *builder) fileRoutes(create, get bool) {
	file := node{"type": "object", "required": []string{"id", "sha256", "size", "type", "name"}, "properties": node{
		"id": node{"type": "string", "description": "What rows and calls name the file by."}, "sha256": node{"type": "string", "description": "In hexadecimal."},
		"size": node{"type": "integer", "description": "In bytes."}, "type": node{"type": "string", "description": "A media type."},
		"name": node{"type": "string", "description": "Without folders; empty for a file without a name."},
	}}
	query := func(name, about string) node {
		return node{"name": name, "in": "query", "description": about, "schema": node{"type": "string"}}
	}
	content := node{"*/*": node{"schema": node{"type": "string", "format": "binary"}}}
	if create {
		name := b.take("File")
		b.schemas[name] = file
		b.add(filesPath, http.MethodPost, node{
			"operationId": "uploadFile", "summary": "Keep a file", "tags": []string{"Files"},
			"description": "The body is the file, of any type. What nothing refers to is deleted after a day.",
			"parameters":  []node{query("name", "The file's name."), query("set", "The set it belongs to."), keyParameter},
			"requestBody": node{"required": true, "content": content},
			"responses": node{
				"201": node{
					"description": "The file.", "content": node{jsonType: node{"schema": reference(name)}},
					"headers": node{"Location": node{"description": "The file's path.", "schema": node{"type": "string"}}},
				}, "4XX": problemResponse, "5XX": problemResponse,
			},
		})
	}
	if get {
		b.add(filesPath+"/{id}", http.MethodGet, node{
			"operationId": "downloadFile", "summary": "Read a file", "tags": []string{"Files"}, "description": "Ranges can be asked for.",
			"parameters": []node{{"name": "id", "in": "path", "required": true, "description": "The file's id.", "schema": node{"type": "string"}}},
			"responses": node{
				"200": node{"description": "The file.", "content": content}, "206": node{"description": "A part of it.", "content": content},
				"304": node{"description": "The caller has it."}, "416": node{"description": "There is no such range."}, "4XX": problemResponse, "5XX": problemResponse,
			},
		})
	}
}
