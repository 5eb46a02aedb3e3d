package postgres

import (
	"errors"
	"reflect"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/koan-go/koan/framework/database"
	"github.com/koan-go/koan/framework/database/sqltext"
)

// The server's codes that mean something here
// (https://www.postgresql.org/docs/current/errcodes-appendix.html).
const (
	serialization    = "40001"
	deadlock         = "40P01"
	outdatedPlan     = "0A000" // "cached plan must not change result type": the set was migrated
	canceled         = "57014"
	lockNotGiven     = "55P03"
	unique           = "23505"
	foreignKey       = "23503"
	restrict         = "23001"
	notNull          = "23502"
	check            = "23514"
	exclusion        = "23P01"
	raised           = "P0001" // RAISE in a trigger
	tooLong          = "22001"
	tooComplex       = "54001"
	tooManyColumns   = "54011"
	tooManyArguments = "54023"
	outOfRange       = "22003"
	zeroDivisor      = "22012"
	counterAtEnd     = "2200H"
	noSuchText       = "22P05" // an escape in JSON that no text can hold: \u0000
	notInEncoding    = "22021"
	noPrivilege      = "42501"
	readOnlyServer   = "25006"
	notSupported     = "0A" // the class: features that a server of another kind lacks
	noTable          = "42P01"
	noColumn         = "42703"
	noSchema         = "3F000"
	takenSchema      = "42P06"
	spoiltBefore     = "25P02"
	diskFull         = "53100"
)

// answerOf returns the error that a server answered with, by whatever driver of
// database/sql it came; nil for other errors.
func answerOf(err error) *pgconn.PgError {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return e
	}
	var other interface {
		error
		SQLState() string
	}
	if !errors.As(err, &other) {
		return nil
	}
	e = &pgconn.PgError{Code: other.SQLState(), Message: other.Error()}
	// lib/pq and its kin have the rest in fields of these names.
	fields := reflect.Indirect(reflect.ValueOf(other))
	if fields.Kind() != reflect.Struct {
		return e
	}
	for name, to := range map[string]*string{
		"Message": &e.Message, "Detail": &e.Detail, "Table": &e.TableName, "Column": &e.ColumnName, "Constraint": &e.ConstraintName, "Routine": &e.Routine,
	} {
		if f := fields.FieldByName(name); f.IsValid() && f.Kind() == reflect.String {
			*to = f.String()
		}
	}
	return e
}

// Again reports whether an error means: the same once more, on newer data.
func Again(err error) bool {
	e := answerOf(err)
	return e != nil && (e.Code == serialization || e.Code == deadlock || e.Code == outdatedPlan && strings.Contains(e.Message, "cached plan"))
}

// Incomplete reports whether an error means that a table, a column or the schema
// itself is missing.
func Incomplete(err error) bool {
	e := answerOf(err)
	return e != nil && (e.Code == noTable || e.Code == noColumn || e.Code == noSchema)
}

// Violation implements database.Backend.
func (s *Server) Violation(err error) *database.Violation { return Violation(err) }

// Violation returns the rule of the database that an error of a write broke; nil
// for none.
func Violation(err error) *database.Violation {
	e := answerOf(err)
	if e == nil {
		return nil
	}
	v := &database.Violation{Schema: e.SchemaName, Table: e.TableName}
	switch e.Code {
	case unique:
		v.Rule = database.Unique
		if strings.HasPrefix(e.ConstraintName, sqltext.KeyPrefix) { // its columns are expressions
			v.Name = e.ConstraintName
		}
	case foreignKey, restrict:
		v.Rule = database.ForeignKey
	case notNull:
		v.Rule = database.NotNull
	case check:
		v.Rule, v.Name = database.Check, e.ConstraintName
	case exclusion:
		v.Rule, v.Name = database.Exclusion, e.ConstraintName
	case counterAtEnd:
		v.Rule = database.Exhausted
	case raised:
		v.Rule, v.Message = database.Raised, e.Message
	case noPrivilege:
		// The code is also that of a missing GRANT; the message is in the server's language.
		if e.Routine != "ExecWithCheckOptions" && !strings.Contains(e.Message, "row-level security") {
			return nil
		}
		v.Rule = database.RowSecurity
	default:
		if !strings.HasPrefix(e.Code, "23") {
			return nil
		}
	}
	if e.ColumnName != "" {
		v.Columns = []string{e.ColumnName}
	} else if v.Rule == database.Unique || v.Rule == database.ForeignKey {
		v.Columns = keyColumns(e.Detail)
	}
	return v
}

// keyColumns reads the columns from "Key (a, "B")=(1, 2) already exists.", in
// whatever language it is said.
func keyColumns(detail string) []string {
	list, _, ok := strings.Cut(detail, ")=(")
	if !ok {
		return nil
	}
	_, list, _ = strings.Cut(list, "(")
	var out []string
	for _, name := range strings.Split(list, ", ") {
		out = append(out, strings.Trim(name, `"`))
	}
	return out
}
