package rules

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"entgo.io/ent/privacy"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/internal/filter"
	"github.com/koan-go/koan/entities/internal/model"
	"github.com/koan-go/koan/entities/shim"
	"github.com/koan-go/koan/framework/fault"
)

// Rule implements filter.Rules. It ends in forbidden where a policy refuses the query as a
// whole.
func (s *View) Rule(e *descriptor.Entity) (*filter.Rule, error) {
	return s.Rows(s.model.ByName[e.Resource.Name])
}

// Rows asks the app which rows of a kind the caller may read; nil is all of them.
// It ends in forbidden where a policy refuses the query as a whole.
func (s *View) Rows(k *model.Kind) (*filter.Rule, error) {
	if s.outside {
		return filter.Nothing, nil
	}
	if !s.tx.Client.Ruled(k.Type) {
		return nil, nil
	}
	if r, ok := s.cached[k.Type]; ok {
		return r, nil
	}
	ctx, err := s.Context()
	if err != nil {
		return nil, err
	}
	rows, err := k.Rows(ctx, s.tx.Ent)
	if err != nil {
		return nil, s.refusal(k, err)
	}
	var r *filter.Rule
	if rows != nil {
		r = &filter.Rule{Key: cmp.Or(k.RowsBy, k.Entity.Key.Name), Keys: rows}
	}
	if s.cached == nil {
		s.cached = map[string]*filter.Rule{}
	}
	s.cached[k.Type] = r
	return r, nil
}

// RowsOrNone is Rows, where a refused query is one that finds nothing.
func (s *View) RowsOrNone(k *model.Kind) (*filter.Rule, error) {
	r, err := s.Rows(k)
	if fault.CodeOf(err) == fault.Forbidden {
		return filter.Nothing, nil
	}
	return r, err
}

// Visible reports whether there is a row that the caller may read. Where a policy
// refuses to tell, it ends in forbidden.
func (s *View) Visible(ctx context.Context, k *model.Kind, id any) (bool, error) {
	rule, err := s.Rows(k)
	if err != nil {
		return false, err
	}
	return s.tx.Reader.Exists(s.tx.RowContext(ctx), s.tx.SQL, k.Entity, k.BoundID(id), rule)
}

// Readable returns those of some ids whose rows the caller may read.
func (s *View) Readable(ctx context.Context, k *model.Kind, ids []any) ([]any, error) {
	rule, err := s.RowsOrNone(k)
	if rule == nil || err != nil {
		return ids, err
	}
	var out []any
	for _, id := range ids {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		there, err := s.tx.Reader.Exists(s.tx.RowContext(ctx), s.tx.SQL, k.Entity, k.BoundID(id), rule)
		if err != nil {
			return nil, err
		}
		if there {
			out = append(out, id)
		}
	}
	return out, nil
}

// Image reads a row as the caller may see it; nil if there is none for the caller.
func (s *View) Image(ctx context.Context, k *model.Kind, id any) ([]byte, error) {
	rule, err := s.RowsOrNone(k)
	if err != nil || !s.Shows(k) {
		return nil, err
	}
	return s.tx.Reader.Image(s.tx.RowContext(ctx), s.tx.SQL, s.Of(k).Entity, k.BoundID(id), rule)
}

// Reported returns an image that was just read as the run may report it to the view's reader,
// who is nil before there was a call.
func (s *View) Reported(ctx context.Context, k *model.Kind, id any, image []byte) ([]byte, error) {
	if image == nil || s == nil {
		return image, nil
	}
	if s.rules.Viewer != nil {
		var err error
		if ctx, err = s.Context(); err != nil {
			return nil, err
		}
	}
	if !s.MayHide(k) && !s.IsSecured() {
		return image, nil
	}
	return s.Image(ctx, k, id)
}

// refusal turns an error of a policy or an interceptor into a fault.
func (s *View) refusal(k *model.Kind, err error) error {
	var known *fault.Fault
	switch {
	case errors.As(err, &known), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, shim.ErrNotRows):
		return fault.New(fault.CapabilityUnsupported, err.Error()).
			WithHint("Let interceptors and policies of %s add predicates only; pages have limits of their own.", k.Type).Because(err)
	}
	if err, mine := s.tx.Backend.Trouble(s.tx.Set, err); mine {
		return err
	}
	return fault.Newf(fault.Forbidden, "%s cannot be read: %s", k.Name(), Denial(err)).
		WithHint("A policy of the app refused it; its message says why.").Because(err)
}

// Denial is the reason that a policy gave.
func Denial(err error) string {
	reason := strings.TrimSuffix(strings.TrimSuffix(err.Error(), privacy.Deny.Error()), ": ")
	if reason == "" {
		return "a policy of the app denies it"
	}
	return reason
}
