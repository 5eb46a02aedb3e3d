package journal

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/koan-go/koan/framework/fault"
)

// Handler returns a handler of log records that redacts messages and values before it
// passes them to next.
func (r *Redactor) Handler(next slog.Handler) slog.Handler { return handler{r, next} }

type handler struct {
	redactor *Redactor
	next     slog.Handler
}

func (h handler) Enabled(ctx context.Context, l slog.Level) bool { return h.next.Enabled(ctx, l) }

// Handle implements slog.Handler. A line that the next handler panics at is lost, and nothing else is.
func (h handler) Handle(ctx context.Context, rec slog.Record) (err error) {
	defer fault.Recover(&err)
	message, _ := h.redactor.Text(rec.Message)
	clean := slog.NewRecord(rec.Time, rec.Level, message, rec.PC)
	rec.Attrs(func(a slog.Attr) bool {
		clean.AddAttrs(h.attr(a))
		return true
	})
	return h.next.Handle(ctx, clean)
}

func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	clean := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		clean[i] = h.attr(a)
	}
	return handler{h.redactor, h.next.WithAttrs(clean)}
}

func (h handler) WithGroup(name string) slog.Handler {
	return handler{h.redactor, h.next.WithGroup(name)}
}

// attr redacts values that are written as text: strings, errors and Stringers.
func (h handler) attr(a slog.Attr) slog.Attr {
	v := a.Value.Resolve()
	switch v.Kind() {
	case slog.KindString:
		text, _ := h.redactor.Text(v.String())
		return slog.String(a.Key, text)
	case slog.KindGroup:
		clean := make([]slog.Attr, len(v.Group()))
		for i, g := range v.Group() {
			clean[i] = h.attr(g)
		}
		return slog.Attr{Key: a.Key, Value: slog.GroupValue(clean...)}
	case slog.KindAny:
		var text string
		switch x := v.Any().(type) {
		case error:
			text = x.Error()
		case fmt.Stringer:
			text = x.String()
		default:
			text = fmt.Sprintf("%+v", x)
		}
		if clean, n := h.redactor.Text(text); n > 0 {
			return slog.String(a.Key, clean)
		}
	}
	return slog.Attr{Key: a.Key, Value: v}
}
