package admission

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"time"

	"github.com/koan-go/koan/framework/fault"
)

// Media returns the media type of a request's body, "" for none that can be read, and
// whether it is one of those wanted.
func Media(r *http.Request, wanted ...string) (media string, ok bool) {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return media, err == nil && slices.Contains(wanted, media)
}

// ReadBody reads a body within its bounds of size and time. A rejection comes with its HTTP
// status, which is not that of the fault's code.
func (a *Admission) ReadBody(w http.ResponseWriter, r *http.Request) (body []byte, status int, f *fault.Fault) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(a.opts.BodyTime))
	limit := a.opts.MaxBody
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, int64(limit)))
	var tooLong *http.MaxBytesError
	switch {
	case errors.As(err, &tooLong):
		return nil, http.StatusRequestEntityTooLarge, fault.Newf(fault.InvalidRequest, "the message is longer than %d bytes", limit).
			WithHint("Send less in one message, or raise server.maxBufferBytes.").WithDetails(map[string]any{"maxBufferBytes": limit})
	case err != nil:
		return nil, http.StatusBadRequest, fault.New(fault.InvalidRequest, "the request's body could not be read")
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	return body, 0, nil
}
