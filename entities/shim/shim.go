// Package shim is the contract between an app's generated code and the engine:
// what the engine needs of ent's typed builders, said without their types.
//
// What belongs here: the shapes that generated code fills, and the conversions
// of values that it calls. Not here: any work on data; that is the
// engine's, written once.
package shim

import (
	"context"

	"entgo.io/ent"
	"entgo.io/ent/dialect"
	"entgo.io/ent/dialect/sql"
	"entgo.io/ent/dialect/sql/schema"

	"github.com/koan-go/koan/entities/descriptor"
)

// App is the generated side of an app. ent.Entities returns it; framework.App
// takes it.
type App struct {
	Graph *descriptor.Graph
	// Kinds are all ent types, exposed or not.
	Kinds []*Kind
	// SchemaHash identifies the tables; a set whose hash is another is migrated.
	SchemaHash int32
	// DataVersion identifies the rows that the app itself keeps in every set; 0 if it keeps
	// none. It is a part of the schema: where it is another, Upgrades run.
	DataVersion int32
	// Connect makes the base client of a set over a driver. The engine's hook
	// comes first, so that it sees what ent's defaults made and what all other
	// hooks did; then the app's OnClient functions run. It ends in an error that
	// names the interceptors which reads could not hold. See Unheld.
	Connect func(set string, drv dialect.Driver, engine ent.Hook) (Client, error)
	// Tables are ent's tables of the schema.
	Tables []*schema.Table
	// Seeds are the app's OnCreateSet functions, called in order.
	Seeds []func(ctx context.Context, set string, c Client) error
	// Upgrades are the app's OnUpgradeSet functions, called in order.
	Upgrades []Upgrade
	// Trait sorts an error of ent's builders.
	Trait func(err error) Trait
	// Foreign names the database that the app's Open opens where it belongs to another
	// program; it is the same at each start and has no password in it. Such a database gets no table and
	// no lasting setting, unless the setting ledger.inData asks for it. "" for all others.
	Foreign string
}

// Upgrade is a pair of functions of OnUpgradeSet. The driver is in the transaction of the
// set's migration, and so is the client.
type Upgrade struct {
	Before func(ctx context.Context, set string, drv dialect.Driver) error
	After  func(ctx context.Context, set string, drv dialect.Driver, c Client) error
}

// Client is one set's base client.
type Client interface {
	// Begin binds a client to a driver whose Tx gives the transaction to take part
	// in.
	Begin(ctx context.Context, drv dialect.Driver) (Tx, error)
	// Hooked reports whether the app added hooks to an ent type at run time.
	Hooked(typ string) bool
	// Guarded reports whether an ent type has any hook besides the engine's: of its schema,
	// or added at run time.
	Guarded(typ string) bool
	// Ruled reports whether an ent type has a policy or interceptors, so that every
	// read has to ask its Rows.
	Ruled(typ string) bool
}

// Tx is a client bound to one transaction.
type Tx interface {
	// Context carries the transaction, where ent.FromContext and
	// ent.TxFromContext find it.
	Context(ctx context.Context) context.Context
	// Commit and Rollback run the hooks that were added to the transaction, then
	// end it through the driver.
	Commit() error
	Rollback() error
}

// Kind is one ent type.
type Kind struct {
	// Type is the name as ent.Mutation.Type returns it.
	Type string
	// Entity is its descriptor, nil where the schema is not exposed.
	Entity *descriptor.Entity
	// Generated are the columns of fields whose value a function makes, at creation
	// or at an update. They go on the tape.
	Generated []string
	// SettableID says that a caller may choose the id of a new entity.
	SettableID bool
	// Policy says that the schema has a privacy policy.
	Policy bool
	// Plain says that storing a row is defaults, validators and one statement: the
	// schema has no hooks or policies, and its values are kept as ent's mutation has
	// them, or as JSON.
	Plain bool

	IDForm

	// Rows asks the type's policy and interceptors which rows the viewer of a
	// context may read. It ends in what they refuse a query with, or in ErrNotRows.
	// nil Rows are all rows.
	Rows func(ctx context.Context, tx Tx) (Rows, error)
	// RowsBy is the column whose values Rows has, "" for the key.
	RowsBy string

	// Permits asks the type's policy whether rows with some ids may be changed (op is
	// ent.OpUpdate, and change says how) or deleted (ent.OpDelete), without doing it, and
	// returns those that its predicates let through. It ends in what the policy refuses
	// the mutation with. nil where the type has no policy.
	Permits func(ctx context.Context, tx Tx, op ent.Op, ids []any, change func(ent.Mutation) error) ([]any, error)

	Create func(tx Tx) Write
	Update func(tx Tx, id any, where ...func(*sql.Selector)) Write
	Delete func(ctx context.Context, tx Tx, id any, where ...func(*sql.Selector)) error

	// ID and IDs tell what a mutation is about; IDs asks the database where the
	// mutation has only predicates.
	ID  func(m ent.Mutation) (id any, ok bool)
	IDs func(ctx context.Context, m ent.Mutation) ([]any, error)
	// TxOf returns the transaction that a mutation's client is bound to, nil for none.
	TxOf func(m ent.Mutation) dialect.Tx
	// SetID chooses the id of a new entity.
	SetID func(m ent.Mutation, id any) error
	// Set sets a field by its column, the name by which the methods of ent.Mutation
	// know it too. See the converters of this package for what each type takes.
	Set func(m ent.Mutation, column string, value any) error
	// Edge changes an edge by its ent name.
	Edge func(m ent.Mutation, edge string, change EdgeChange, ids []any) error
	// Bump counts the version up; nil where the entity has none.
	Bump func(m ent.Mutation)
}

// EdgeChange is what a write does to an edge.
type EdgeChange int

// The changes: Link sets a to-one edge or adds to a to-many one, Unlink removes
// ids from a to-many edge, Clear empties either.
const (
	Link EdgeChange = iota
	Unlink
	Clear
)

// Write is a builder of ent that has not been saved.
type Write struct {
	Mutation ent.Mutation
	// Save runs hooks, validators and the statement, and returns the entity's id.
	Save func(ctx context.Context) (id any, err error)
	// Defaults and Check are the parts of Save that come before hooks and before the
	// statement: ent's defaults, then its validators.
	Defaults func()
	Check    func() error
}

// Trait is what kind of error ent gave.
type Trait struct {
	NotFound   bool
	Constraint bool
	// Field is ent's name of the field or edge that a validator refused, as in
	// descriptor.Column.Ent.
	Field string
	// Invalid says that it is a validation error.
	Invalid bool
}
