package postgres

import (
	"fmt"
	"slices"
	"strings"

	"github.com/koan-go/koan/framework/database"
)

// Variables returns the statements that turn the session variables of a transaction
// from those that it has into those that it should have. They hold until the
// transaction ends, and a rollback to a savepoint takes them back.
func Variables(have, want []database.Variable) (statements []string) {
	for _, v := range have {
		if !slices.ContainsFunc(want, func(w database.Variable) bool { return w.Name == v.Name }) {
			statements = append(statements, "SET LOCAL "+variable(v.Name)+" TO DEFAULT")
		}
	}
	var set []string
	for _, v := range want {
		if !slices.Contains(have, v) {
			set = append(set, fmt.Sprintf("set_config(%s, %s, true)", literal(v.Name), literal(v.Value)))
		}
	}
	if len(set) > 0 {
		statements = append(statements, "SELECT "+strings.Join(set, ", "))
	}
	return statements
}

// variable quotes the name of a variable, which cannot contain dots.
func variable(name string) string {
	parts := strings.Split(name, ".")
	for i, p := range parts {
		parts[i] = quoted(p)
	}
	return strings.Join(parts, ".")
}

// literal quotes a text so that no setting of the server changes its meaning.
func literal(s string) string {
	return "E'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
}
