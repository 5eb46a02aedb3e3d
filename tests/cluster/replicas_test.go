package cluster

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/tests/fixture"
	"github.com/koan-go/koan/tests/pgtest"
)

// A replica that is behind shows by its older answer that it was asked. It is asked by everything that only
// reads and says what its caller has seen, where it has that; and by nothing else.
func TestReplicasAnswerWhatTheirCallersHaveNotSeenNewer(t *testing.T) {
	c := pgtest.NewCluster(t, 1)
	s := serve(t, c.URL(0), c.URL(1))

	made := s.do(http.MethodPost, "/api/todo", `{"title":"old"}`, "")
	id := made.body["id"].(string)
	caughtUp(t, c, 0, 1)
	c.Pause(t, 1)
	changed := s.do(http.MethodPatch, "/api/todo/"+id, `{"title":"new"}`, "")
	require.NotEqual(t, made.position, changed.position)

	title := func(got served) any {
		if items, ok := got.body["items"].([]any); ok {
			return items[0].(map[string]any)["title"]
		}
		if result, ok := got.body["result"]; ok {
			return result
		}
		return got.body["title"]
	}
	reads := map[string]func(seen string) any{
		"a row by REST":    func(seen string) any { return title(s.do(http.MethodGet, "/api/todo/"+id, "", seen)) },
		"a list by REST":   func(seen string) any { return title(s.do(http.MethodGet, "/api/todo", "", seen)) },
		"a query by REST":  func(seen string) any { return title(s.do(http.MethodPost, "/api/todo:query", `{}`, seen)) },
		"a row by a tool":  func(seen string) any { return title(s.call("todo_get-by-id", map[string]any{"id": id}, seen)) },
		"a list by a tool": func(seen string) any { return title(s.call("todo_collection", map[string]any{}, seen)) },
		"a script": func(seen string) any {
			return title(s.call("koan_code_execute", map[string]any{"code": "return SDK.Entities.Todo.getById(SDK.args.id).title", "args": map[string]any{"id": id}}, seen))
		},
		"a count by REST": func(seen string) any {
			n := s.do(http.MethodPost, "/api/todo:count", `{"filter":{"title":"new"}}`, seen).body["count"]
			return map[any]string{0.0: "old", 1.0: "new"}[n]
		},
	}
	for name, read := range reads {
		assert.Equal(t, "old", read(made.position), "%s: a replica is asked that has all that the caller has seen", name)
		assert.Equal(t, "new", read(changed.position), "%s: a replica is behind what the caller has seen", name)
		assert.Equal(t, "new", read(""), "%s: nobody knows what the caller has seen", name)
	}

	// What a replica has answered does not take anything from what the caller knows.
	old := s.do(http.MethodGet, "/api/todo/"+id, "", made.position)
	assert.Equal(t, "old", title(s.do(http.MethodGet, "/api/todo/"+id, "", old.position)))

	c.Resume(t, 1)
	caughtUp(t, c, 0, 1)
	c.Pause(t, 1)
	again := s.do(http.MethodPatch, "/api/todo/"+id, `{"title":"newest"}`, changed.position)
	assert.Equal(t, "new", title(s.do(http.MethodGet, "/api/todo/"+id, "", changed.position)))
	assert.Equal(t, "newest", title(s.do(http.MethodGet, "/api/todo/"+id, "", again.position)))
}

// A run that writes does all of it at the server with the data, whatever it has read at a replica before.
func TestRunsThatWriteLeaveTheReplica(t *testing.T) {
	c := pgtest.NewCluster(t, 1)
	s := serve(t, c.URL(0), c.URL(1))
	made := s.do(http.MethodPost, "/api/todo", `{"title":"one"}`, "")
	id := made.body["id"].(string)
	caughtUp(t, c, 0, 1)
	c.Pause(t, 1)
	s.do(http.MethodPatch, "/api/todo/"+id, `{"title":"two"}`, "")

	const script = `const before = SDK.Entities.Todo.getById(SDK.args.id).title;
SDK.Entities.Todo.patch(SDK.args.id, { title: before + " and more" });
return before`
	for _, dry := range []bool{true, false} {
		got := s.call("koan_code_execute", map[string]any{"code": script, "args": map[string]any{"id": id}, "dryRun": dry}, made.position)
		assert.Equal(t, "two", got.body["result"], "dryRun: %t: %v", dry, got.body)
	}
	last := s.do(http.MethodGet, "/api/todo/"+id, "", "")
	assert.Equal(t, "two and more", last.body["title"])

	// A set that the replica does not know of yet.
	s.do(http.MethodPost, "/api/todo?set=tenant-later", `{"title":"there"}`, "")
	list := s.do(http.MethodGet, "/api/todo?set=tenant-later", "", made.position)
	assert.Equal(t, "there", list.body["items"].([]any)[0].(map[string]any)["title"])
	// One that nobody knows of is read where it would come into being.
	none := s.do(http.MethodGet, "/api/todo?set=tenant-never", "", made.position)
	assert.Empty(t, none.body["items"])
	both := s.call("koan_code_execute", map[string]any{"code": `return [SDK.Entities.Todo.count(), SDK.Entities.Todo.count({}, { set: "tenant-never" })]`}, made.position)
	assert.Equal(t, []any{2.0, 0.0}, both.body["result"], "%v", both.body)
}

func TestPositionsThatNobodyReturned(t *testing.T) {
	c := pgtest.NewCluster(t, 1)
	s := serve(t, c.URL(0), c.URL(1))
	made := s.do(http.MethodPost, "/api/todo", `{"title":"here"}`, "")
	for _, seen := range []string{"0", "latest", made.position + "0x", "1" + made.position} {
		got, err := s.send(http.MethodGet, "/api/todo", "", seen)
		require.NoError(t, err)
		assert.Equal(t, http.StatusBadRequest, got.status, "%s: %v", seen, got.body)
		assert.Equal(t, "invalid_payload", got.body["code"])
	}
	// Of another database, as before a move, nothing is known: the server with the data answers.
	other := "00000000000000ff.7.ff00000000"
	assert.Len(t, s.do(http.MethodGet, "/api/todo", "", other).body["items"], 2)
	// One of a timeline that the server has not reached: it was replaced by another one, and must answer nothing old.
	later := made.position[:len("0000000000000000")] + ".9.0"
	got, err := s.send(http.MethodGet, "/api/todo", "", later)
	require.NoError(t, err)
	assert.Equal(t, http.StatusServiceUnavailable, got.status, "%v", got.body)
	assert.Equal(t, "safe", got.body["retry"])
	// One that is ahead is not reached by any replica.
	ahead := made.position[:len("0000000000000000")] + ".1.ffffffffffff"
	assert.Len(t, s.do(http.MethodGet, "/api/todo", "", ahead).body["items"], 2)
}

// Reads go on, without a fault, where replicas end or come late.
func TestReplicasThatEnd(t *testing.T) {
	c := pgtest.NewCluster(t, 2)
	s := serve(t, c.URL(0), c.URL(1), c.URL(2), "postgres://postgres@/postgres?host=/nowhere")
	seen := s.do(http.MethodPost, "/api/todo", `{"title":"here"}`, "").position
	caughtUp(t, c, 0, 1)
	caughtUp(t, c, 0, 2)
	for i := range 60 {
		switch i {
		case 20:
			c.Kill(t, 1)
		case 40:
			c.Kill(t, 2)
		}
		got := s.do(http.MethodGet, "/api/todo", "", seen)
		require.Len(t, got.body["items"], 2, "read %d", i)
	}
}

func TestWhatIsNoReplica(t *testing.T) {
	c := pgtest.NewCluster(t, 1)
	stranger := pgtest.NewCluster(t, 0)
	// Servers that do not follow answer nothing, even where they have tables of the same names.
	_, err := serve(t, stranger.URL(0)+"&schema_prefix=koan").send(http.MethodPost, "/api/todo", `{"title":"of others"}`, "")
	require.NoError(t, err)
	s := serve(t, c.URL(0)+"&schema_prefix=koan", stranger.URL(0)+"&schema_prefix=koan", c.URL(0))
	seen := s.do(http.MethodPost, "/api/todo", `{"title":"own"}`, "").position
	for range 6 {
		list := s.do(http.MethodGet, "/api/todo", "", seen)
		assert.Equal(t, "own", list.body["items"].([]any)[0].(map[string]any)["title"])
	}
}

// A database that was restored from a dump has the rows of timelines of the one that it was made of. They say
// nothing of this one's.
func TestTimelinesOfAnotherDatabaseCountForNothing(t *testing.T) {
	c := pgtest.NewCluster(t, 1)
	s := serve(t, c.URL(0)+"&schema_prefix=dumped", c.URL(1))
	pgtest.Psql(t, c.URL(0), `INSERT INTO dumped.koan_timelines (system, timeline) VALUES (255, 7)`)
	seen := s.do(http.MethodPost, "/api/todo", `{"title":"old"}`, "")
	caughtUp(t, c, 0, 1)
	c.Pause(t, 1)
	id := seen.body["id"].(string)
	seen = s.do(http.MethodPatch, "/api/todo/"+id, `{"title":"new"}`, "")
	assert.Equal(t, "new", s.do(http.MethodGet, "/api/todo/"+id, "", seen.position).body["title"])
}

// A server that keeps its place in the log to itself cannot have replicas, and says so when the app starts.
func TestAServerThatDoesNotSayWhereItIs(t *testing.T) {
	c := pgtest.NewCluster(t, 1)
	pgtest.Psql(t, c.URL(0), "CREATE ROLE app LOGIN", "CREATE DATABASE app OWNER app")
	url := strings.Replace(c.URL(0), "postgres@/postgres", "app@/app", 1)
	pgtest.Psql(t, strings.Replace(url, "app@", "postgres@", 1), "REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC")
	_, err := framework.New(context.Background(), fixture.App(), framework.Options{Testing: true, Log: slog.New(slog.DiscardHandler), Config: framework.Source{Flags: map[string]string{
		"database": url, "database.replicas": strings.Replace(c.URL(1), "postgres@/postgres", "app@/app", 1),
	}}})
	f, ok := errors.AsType[*fault.Fault](err)
	require.True(t, ok, "%v", err)
	assert.Equal(t, fault.CapabilityUnsupported, f.Code)
	assert.Equal(t, "/database/replicas", f.Path)
}

// A start is refused where what is configured cannot be replicas, and says which of them.
func TestSettingsThatNameNoReplicas(t *testing.T) {
	c := pgtest.NewCluster(t, 0)
	for name, test := range map[string]struct{ database, replicas, says string }{
		"files have none":     {"sqlite://" + t.TempDir(), c.URL(0), "SQLite"},
		"not a URL":           {c.URL(0), "db2.example.org", "number 1 is not"},
		"SQLite":              {c.URL(0), c.URL(0) + ",sqlite:///var/lib/app", "number 2 is not"},
		"another database":    {c.URL(0), "postgres://postgres@/other?host=/tmp", "it names the database other"},
		"another prefix":      {c.URL(0) + "&schema_prefix=a", c.URL(0) + "&schema_prefix=b", "schema_prefix is b there, and a at the database"},
		"a URL that is wrong": {c.URL(0), "postgres://postgres@/postgres?host=/tmp&pool_max_conns=none", "number 1"},
	} {
		_, err := framework.New(context.Background(), fixture.App(), framework.Options{Testing: true, Log: slog.New(slog.DiscardHandler), Config: framework.Source{Flags: map[string]string{
			"database": test.database, "database.replicas": test.replicas,
		}}})
		assert.ErrorContains(t, err, test.says, name)
	}
}
