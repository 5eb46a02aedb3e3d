package admission

import (
	"cmp"
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/koan-go/koan/framework/fault"
)

// Media returns the media type of a request's body, "" for none that can be read, and
// whether it is one of those wanted, in UTF-8.
func Media(r *http.Request, wanted ...string) (media string, ok bool) {
	media, parameters, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	charset := cmp.Or(parameters["charset"], "utf-8")
	return media, err == nil && slices.Contains(wanted, media) && (strings.EqualFold(charset, "utf-8") || strings.EqualFold(charset, "us-ascii"))
}

// Encoded returns why a body is rejected that is not sent as it is, such as a compressed one; nil if it is.
func Encoded(r *http.Request) *fault.Fault {
	encoding := r.Header.Get("Content-Encoding")
	if encoding == "" || strings.EqualFold(encoding, "identity") {
		return nil
	}
	return fault.Newf(fault.InvalidRequest, "a body with the Content-Encoding %q cannot be read here", fault.Clip(encoding, 40)).WithHint("Send the body as it is.")
}

// ReadBody reads a body within its bounds of size and time. A rejection comes with its HTTP
// status, which is not that of the fault's code.
func (a *Admission) ReadBody(w http.ResponseWriter, r *http.Request) (body []byte, status int, f *fault.Fault) {
	if f := Encoded(r); f != nil {
		return nil, http.StatusUnsupportedMediaType, f
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(a.opts.BodyTime))
	limit := a.opts.MaxBody
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, int64(limit)))
	var tooLong *http.MaxBytesError
	switch {
	case errors.As(err, &tooLong):
		return nil, http.StatusRequestEntityTooLarge, fault.Newf(fault.InvalidRequest, "the message is longer than %d bytes", limit).
			WithHint("Send less in one message, or raise server.maxBufferBytes.").WithDetails(map[string]any{"maxBufferBytes": limit})
	case err != nil:
		return nil, http.StatusBadRequest, fault.New(fault.InvalidRequest, "the request's body could not be read").WithHint("Send the whole body, as long as Content-Length says.")
	case !utf8.Valid(body): // the decoder would put other characters in the place of what is not
		return nil, http.StatusBadRequest, fault.New(fault.ParseError, "the body is not UTF-8").WithHint("Encode the JSON as UTF-8.")
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	return body, 0, nil
}
