package validate

import (
	"slices"
	"strings"

	"github.com/koan-go/koan/framework/fault"
)

// suggest returns the name that was probably meant: the first that is known of those that stand for it, else
// one that is spelt like it; "" if there is none.
func suggest(name string, known []string, stands ...string) string {
	for _, ours := range stands {
		if slices.Contains(known, ours) {
			return ours
		}
	}
	return fault.Nearest(name, known)
}

// didYouMean returns the end of a message with a suggestion, "" without one.
func didYouMean(what string) string {
	if what == "" {
		return ""
	}
	return "; did you mean \"" + what + "\"?"
}

// quote quotes a name from the script and shortens it.
func quote(name string) string {
	const most = 64
	if r := []rune(name); len(r) > most {
		name = string(r[:most]) + "…"
	}
	return "`" + strings.ToValidUTF8(name, "?") + "`"
}

// availableNames returns a hint that lists the existing names.
func availableNames(names []string) string {
	if len(names) == 0 {
		return "There is none for this caller."
	}
	const most = 40
	if len(names) > most {
		return "There are " + strings.Join(names[:most], ", ") + " and more; koan.code.search finds them."
	}
	return "There are: " + strings.Join(names, ", ") + "."
}
