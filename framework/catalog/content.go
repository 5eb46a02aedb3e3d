package catalog

import "context"

// Content is one block that a person or a model reads: a text, a picture, a
// sound, a document that has a URI, or a link to one. Surfaces put it into their own shape.
type Content struct {
	Text string // of a text, and of a document that is one
	Data []byte // of a picture, a sound or any other document; its MIME is needed
	MIME string // "image/png", "audio/wav", "application/json"
	URI  string // makes it a document: where it could be read by itself
	Link bool   // it is the URI alone, with Name, MIME and Size, without content
	Name string // of a link
	Size int64  // of what a link leads to, in bytes
}

type mediaInPlaceKey struct{}

// WithMediaInPlace returns a context in which results of servers keep images and sound in place, in
// base64, instead of as files: codemode-run-spec section 5.3.2 demands it of the functions of modules.
func WithMediaInPlace(ctx context.Context) context.Context {
	return context.WithValue(ctx, mediaInPlaceKey{}, true)
}

// KeepsMediaInPlace reports whether a context is one of WithMediaInPlace.
func KeepsMediaInPlace(ctx context.Context) bool {
	in, _ := ctx.Value(mediaInPlaceKey{}).(bool)
	return in
}

type wholeResultKey struct{}

// WithWholeResult returns a context in which a call of a server's tool returns the whole MCP result
// beside its value, as {"value", "result"}; where media become files, it is {"result"} alone.
func WithWholeResult(ctx context.Context) context.Context {
	return context.WithValue(ctx, wholeResultKey{}, true)
}

// WantsWholeResult reports whether a context is one of WithWholeResult.
func WantsWholeResult(ctx context.Context) bool {
	wants, _ := ctx.Value(wholeResultKey{}).(bool)
	return wants
}
