package catalog

import (
	"context"
	"strings"
)

// Prompt is the beginning of a conversation that a person can choose: messages made from
// a View and some arguments. Surfaces offer it as an MCP prompt.
type Prompt struct {
	Name        string // unique: "write-koan-script"
	Title       string
	Description string
	Arguments   []Argument
	// Shown reports whether a view has the prompt; nil is always.
	Shown func(v *View) bool
	// Render makes the messages. arguments has declared names only, and all that
	// are required. Errors are faults.
	Render func(ctx context.Context, v *View, arguments map[string]string) ([]Message, error)
}

// Argument is one argument of a prompt: always a text.
type Argument struct {
	Name        string
	Description string
	Required    bool
	// Complete returns values that begin with what was typed, the best first. It may be
	// nil.
	Complete func(v *View, typed string) []string
}

// Message is one message of a conversation.
type Message struct {
	Assistant bool // else the user's
	Content   Content
}

// Prompts returns the prompts of the view, in the providers' order.
func (v *View) Prompts() []*Prompt {
	var out []*Prompt
	for _, p := range v.snapshot.prompts {
		if p.Shown == nil || p.Shown(v) {
			out = append(out, p)
		}
	}
	return out
}

// Prompt finds a prompt by name, nil if the view has none.
func (v *View) Prompt(name string) *Prompt {
	for _, p := range v.Prompts() {
		if p.Name == name {
			return p
		}
	}
	return nil
}

// Beginning returns the names that begin with what is typed, ignoring case, and after
// them those that contain it elsewhere.
func Beginning(names []string, typed string) []string {
	typed = strings.ToLower(typed)
	var first, later []string
	for _, n := range names {
		switch lower := strings.ToLower(n); {
		case strings.HasPrefix(lower, typed):
			first = append(first, n)
		case strings.Contains(lower, typed):
			later = append(later, n)
		}
	}
	return append(first, later...)
}
