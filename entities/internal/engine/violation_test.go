package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/tests/specimen/ent"
)

func TestDeleteThatAReferenceRefusesSaysWhatRefers(t *testing.T) {
	t.Parallel()
	if forEach(t, TestDeleteThatAReferenceRefusesSaysWhatRefers) {
		return
	}
	a := start(t, ent.Entities())
	visitor := a.call("Visitor.upsert", `{"model":{"name":"Ann"}}`)["id"].(string)
	visit := func() string {
		cabinet := a.call("Cabinet.upsert", `{"model":{"name":"one"}}`)["id"].(string)
		return a.call("Visit.upsert", fmt.Sprintf(`{"model":{"reason":%[1]q,"visitorId":%[2]q,"cabinetId":%[1]q}}`, cabinet, visitor))["id"].(string)
	}
	first := visit()
	for op, input := range map[string]string{
		"delete": fmt.Sprintf(`{"id":%q}`, visitor), "delete-many": fmt.Sprintf(`{"ids":[%q]}`, visitor), "delete-by-query": `{"filter":{"name":"Ann"}}`,
	} {
		f := a.fails(fault.Conflict, "Visitor."+op, input)
		require.Equal(t, fault.Fix, f.Retry, op)
		require.Contains(t, f.Message, "the Visitor is still referenced by a Visit")
		require.Equal(t, "First delete what refers to it, or make it refer to another: see Visit.visitorId.", f.Hint)
	}
	visit()
	require.Contains(t, a.fails(fault.Conflict, "Visitor.delete", fmt.Sprintf(`{"id":%q}`, visitor)).Message, "by 2 Visit entities")

	// Who may not read what refers hears that there is something.
	guest := a.within(t)
	guest.view = a.view.Narrow(func(id catalog.ID) bool { return !strings.HasPrefix(id.String(), "koan::Visit.") })
	f := guest.fails(fault.Conflict, "Visitor.delete", fmt.Sprintf(`{"id":%q}`, visitor))
	require.Contains(t, f.Message, "by entities that you may not read")
	require.NotContains(t, f.Message+f.Hint, "Visit.")

	// What is not served at all may refer as well.
	a.call("Visit.delete-by-query", fmt.Sprintf(`{"filter":{"id":{"$ne":%q}}}`, first))
	a.call("Visit.delete", fmt.Sprintf(`{"id":%q}`, first))
	specimen := a.call("Specimen.upsert", `{"model":{}}`)["id"].(string)
	a.call("Visitor.patch", fmt.Sprintf(`{"id":%q,"changes":{"liked":[%q]}}`, visitor, specimen))
	f = a.fails(fault.Conflict, "Visitor.delete", fmt.Sprintf(`{"id":%q}`, visitor))
	require.Equal(t, fault.Fix, f.Retry)
	require.Contains(t, f.Message, "by something that is not served here")
	a.call("Visitor.patch", fmt.Sprintf(`{"id":%q,"changes":{"liked":[]}}`, visitor))
	require.EqualValues(t, 1, a.call("Visitor.delete", fmt.Sprintf(`{"id":%q}`, visitor))["deleted"])
}

func TestRulesOfTheDatabaseAreNamed(t *testing.T) {
	t.Parallel()
	if forEach(t, TestRulesOfTheDatabaseAreNamed) {
		return
	}
	for name, opts := range hookings {
		t.Run(name, func(t *testing.T) {
			a := start(t, ent.Entities(opts...))
			a.call("NickName.upsert", `{"model":{"id":"1","serialNo":"a"}}`)
			trigger := `CREATE TRIGGER closed BEFORE UPDATE ON nick_names WHEN new.home_url = 'closed' BEGIN SELECT RAISE(ABORT, 'we are closed'); END`
			if postgres(t) {
				trigger = `CREATE FUNCTION closed() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'we are closed'; END $$;
					CREATE TRIGGER closed BEFORE UPDATE ON nick_names FOR EACH ROW WHEN (new.home_url = 'closed') EXECUTE FUNCTION closed();
					ALTER TABLE nick_names ADD CONSTRAINT one_home EXCLUDE USING btree (home_url WITH =)`
			}
			db := beside(t, a.place, "default")
			_, err := db.Exec(trigger)
			require.NoError(t, err)
			for url, want := range map[string]struct{ words, hint string }{
				"localhost": {"no_local_urls", "Choose values that fit the rule."},
				"closed":    {"the database refused the change: we are closed", "A trigger of the database"},
			} {
				for op, input := range map[string]string{
					"patch": `{"id":"1","changes":{"homeURL":%q}}`, "update-by-query": `{"filter":{"id":"1"},"changes":{"homeURL":%q}}`, "upsert-many": `{"models":[{"id":"1","homeURL":%q},{"id":"2","serialNo":"b"}]}`,
				} {
					f := a.fails(fault.InvalidPayload, "NickName."+op, fmt.Sprintf(input, url))
					require.Equal(t, fault.Fix, f.Retry)
					require.Contains(t, f.Message, want.words, op)
					require.Contains(t, f.Hint, want.hint, op)
					require.NotEmpty(t, f.Path, op)
				}
			}
			require.EqualValues(t, 1, a.call("NickName.count", `{}`)["count"])
			if postgres(t) {
				a.call("NickName.upsert", `{"model":{"id":"2","serialNo":"b","homeURL":"here"}}`)
				f := a.fails(fault.Conflict, "NickName.patch", `{"id":"1","changes":{"homeURL":"here"}}`)
				require.Equal(t, fault.Fix, f.Retry)
				require.Contains(t, f.Message, "this one conflicts with another NickName (one_home)")
			}
		})
	}
}

// A rule may be looked at only when the run commits.
func TestRulesAtTheCommitAreTheCallersFault(t *testing.T) {
	t.Parallel()
	t.Run("PostgreSQL", func(t *testing.T) {
		a := start(t, ent.Entities())
		_, err := beside(t, a.place, "default").Exec(`ALTER TABLE visits ALTER CONSTRAINT visits_visitors_visitor DEFERRABLE INITIALLY DEFERRED`)
		require.NoError(t, err)
		cabinet := a.call("Cabinet.upsert", `{"model":{"name":"one"}}`)["id"].(string)
		f := a.fails(fault.InvalidPayload, "Visit.upsert", fmt.Sprintf(`{"model":{"reason":"x","visitorId":"99","cabinetId":%q}}`, cabinet))
		require.Contains(t, f.Message, "checked at the commit")
		require.EqualValues(t, 0, a.call("Visit.count", `{}`)["count"])
		out, err := a.run(script(run.Spec{Atomic: true}, func(call func(string, string) (map[string]any, error), _ *run.Attempt) error {
			_, err := call("Visit.upsert", fmt.Sprintf(`{"model":{"reason":"x","visitorId":"99","cabinetId":%q}}`, cabinet))
			return err
		}))
		require.Equal(t, fault.InvalidPayload, fault.CodeOf(err))
		require.False(t, out.Committed)
	})
}
