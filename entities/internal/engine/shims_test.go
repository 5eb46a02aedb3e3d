package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"testing"
	"time"

	"entgo.io/ent"
	"entgo.io/ent/dialect"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/internal/dynamic"
	"github.com/koan-go/koan/entities/shim"
	"github.com/koan-go/koan/tests/soak"
)

// withoutCode is the variable that has all tests of the process serve their entities without
// generated code.
const withoutCode = "KOAN_TEST_WITHOUT_CODE"

// alike are the tests that need nothing of what an app says in Go: hooks, policies, validators and types of
// its own.
var alike = []string{
	"TestUpdatesByQuery", "TestDeletesByQuery", "TestAggregates", "TestAggregateSeesItsOwnRun", "TestValuesBeyondTheirColumnsAreRefused",
	"TestDecimalsKeepTheirScale", "TestFaultsOfTheDatabaseNameTheirField", "TestCursorsOverEveryField", "TestTimesBeyondAllOthersComeAndGo",
	"TestCascadesDeleteOnlyWhatTheirCallerMayDelete", "TestCascadesClearOnlyWhatTheirCallerMayWrite", "TestDryRunsSayWhatRunsDo",
	"TestRowsCreatedAgainAreLinkedAnew", "TestChangesAreOneForEachRow", "TestChangesOfWhatIsTakenBack", "TestChangesShowManyToManyEdges",
	"TestOutputsFitTheirSchemas", "TestCascadesInCircles", "TestCascadesDownLongChains", "TestUndoRestoresRowsThatReferToThemselves",
	"TestSymmetricEdgesAreSentBack", "TestDeclaredIDIsCountedUp", "TestRenamedEdgesKeepWhatIsLinked", "TestRenamedGeneratedValuesComeFromTheTape",
	"TestRenamedColumnsKeepWhatIsWritten", "TestCreateStoresWhatIsNew", "TestCreateFindsNothingByUniqueKey", "TestCreateIsUpsertOfWhatIsNew",
	"TestDecimalsAreKeptOrRefused", "TestUndoOfExchangedValuesOfTypes",
	"TestUpsertsByUniqueKey", "TestUpsertsByAnEdgesKey", "TestConflictsAreAtWhatTheCallSays", "TestWritesEveryRelation", "TestBothWaysOfWritingAgree",
	"TestStoresAndReadsBack", "TestEdgesFromTheOtherSideCountVersions", "TestRequiredInverse", "TestEdgesAreAsWritableAsTheirKeys",
	"TestNoUpdateIsLost", "TestGeneratedValuesComeFromTheTape", "TestCaughtFaultLeavesNothing", "TestUncaughtFaultAndDryRunLeaveNothing",
	"TestReceiptIsInTheData", "TestEveryTypeOnEveryPath", "TestRulesOfTheDatabaseAreNamed",
	"TestPatchTakesAnEntityThatWasRead", "TestUpsertKeepsOrReplaces", "TestWritesEdges", "TestBatchesAreAllOrNothing", "TestIntegersBeyondJavaScript",
	"TestStoresManyAtOnce", "TestDeletesShowTheirCascades",
}

// TestWithoutCode runs them once more, over the same entities without their generated code.
func TestWithoutCode(t *testing.T) {
	soak.Proof(t)
	t.Parallel()
	if os.Getenv(withoutCode) != "" {
		return // it is that run
	}
	listed, err := exec.Command(os.Args[0], "-test.list", ".").Output()
	require.NoError(t, err)
	for _, name := range alike {
		require.Contains(t, strings.Fields(string(listed)), name)
	}
	again := exec.Command(os.Args[0], "-test.run", "^("+strings.Join(alike, "|")+")$", "-test.count", "1")
	again.Env = append(os.Environ(), withoutCode+"=1")
	out, err := again.CombinedOutput()
	require.NoError(t, err, string(out))
}

// tested returns an app as the tests of this process serve it.
func tested(tb testing.TB, compiled *shim.App) *shim.App {
	tb.Helper()
	if os.Getenv(withoutCode) == "" {
		return compiled
	}
	return uncompiled(tb, compiled)
}

// uncompiled is an app over the same descriptions, tables and defaults, without its generated code.
func uncompiled(tb testing.TB, compiled *shim.App) *shim.App {
	tb.Helper()
	require.Empty(tb, compiled.Seeds, "code fills its sets")
	pass := func(next ent.Mutator) ent.Mutator { return next }
	client, err := compiled.Connect("", unsaved{}, pass)
	require.NoError(tb, err)
	tx, err := client.Begin(context.Background(), unsaved{})
	require.NoError(tb, err)
	fill := map[string]dynamic.Fill{}
	for _, k := range compiled.Kinds {
		if k.Entity != nil {
			fill[k.Entity.Resource.Name] = fillOf(tx, k)
		}
	}
	app := dynamic.App(compiled.Graph, dynamic.Options{Tables: compiled.Tables, SchemaHash: compiled.SchemaHash, Fill: fill, Constants: true})
	app.DataVersion, app.Upgrades = compiled.DataVersion, compiled.Upgrades
	return app
}

// fillOf asks a kind's generated code for the defaults that functions make.
func fillOf(tx shim.Tx, k *shim.Kind) dynamic.Fill {
	f := dynamic.Fill{Create: map[string]dynamic.Maker{}, Update: map[string]dynamic.Maker{}}
	create := func() shim.Write { return k.Create(tx) }
	update := func() shim.Write { return k.Update(tx, someID(k)) }
	for builder, into := range map[*func() shim.Write]map[string]dynamic.Maker{&create: f.Create, &update: f.Update} {
		probe := (*builder)()
		probe.Defaults()
		for i := range k.Entity.Columns {
			c := &k.Entity.Columns[i]
			if _, made := probe.Mutation.Field(c.Name); !made || k.Entity.Resource.Field(c.Field).Default != nil {
				continue
			}
			into[c.Name] = func() (any, error) {
				w := (*builder)()
				w.Defaults()
				v, _ := w.Mutation.Field(c.Name)
				return neutral(c, v), nil
			}
		}
	}
	probe := create()
	probe.Defaults()
	if _, made := k.ID(probe.Mutation); made {
		f.Create[k.Entity.Key.Name] = func() (any, error) {
			w := create()
			w.Defaults()
			id, _ := k.ID(w.Mutation)
			if _, isUUID := id.(uuid.UUID); isUUID {
				return id, nil
			}
			return k.FormatID(id), nil
		}
	}
	return f
}

// someID is an id of a kind.
func someID(k *shim.Kind) any {
	for _, text := range []string{"1", "6ba7b810-9dad-11d1-80b4-00c04fd430c8", "a", "a-1", "A1", "cab_00112233445566778899aabbccddeeff"} {
		if id, err := k.ParseID(text); err == nil {
			return id
		}
	}
	panic("no text is an id of " + k.Type)
}

// neutral is a value without the Go type that an ent schema gives it.
func neutral(c *descriptor.Column, v any) any {
	if c.Form != nil {
		return v
	}
	if c.Storage == descriptor.JSON {
		raw, err := json.Marshal(v)
		if err != nil {
			return nil
		}
		return json.RawMessage(raw)
	}
	switch v.(type) {
	case time.Time, uuid.UUID:
		return v
	}
	switch r := reflect.ValueOf(v); {
	case r.Kind() == reflect.String:
		return r.String()
	case r.Kind() == reflect.Bool:
		return r.Bool()
	case r.CanInt():
		return r.Int()
	case r.CanUint():
		return r.Uint()
	case r.CanFloat():
		return r.Float()
	}
	return v
}

// unsaved is a database for builders that are asked and never saved.
type unsaved struct{}

var errUnsaved = errors.New("nothing is stored here")

func (unsaved) Exec(context.Context, string, any, any) error  { return errUnsaved }
func (unsaved) Query(context.Context, string, any, any) error { return errUnsaved }
func (u unsaved) Tx(context.Context) (dialect.Tx, error)      { return dialect.NopTx(u), nil }
func (unsaved) Close() error                                  { return nil }
func (unsaved) Dialect() string                               { return dialect.SQLite }
