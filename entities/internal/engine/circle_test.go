package engine_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"testing"

	stdent "entgo.io/ent"
	"github.com/stretchr/testify/require"

	_ "github.com/koan-go/koan/codemode/languages"
	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/tests/specimen/ent"
)

// grove is an app whose foreign keys cascade in circles: of one entity (Branch), of two (Guild,
// Member) and of three (Guild, Member, Work).
type grove struct {
	testing.TB
	*koantest.Kit
}

func startGrove(t *testing.T, opts ...ent.EntitiesOption) grove {
	t.Helper()
	return startGroveIn(t, place(t), opts...)
}

func startGroveIn(t *testing.T, place string, opts ...ent.EntitiesOption) grove {
	t.Helper()
	return grove{t, koantest.New(t, framework.App{Name: "grove", Entities: tested(t, ent.Entities(opts...))},
		koantest.Setting{Key: "database", Value: place}, koantest.Setting{Key: "journal.enabled", Value: "true"})}
}

// rows returns all rows, with what they refer to and are linked with.
func (g grove) rows() map[string]string {
	out := map[string]string{}
	for _, entity := range []string{"Branch", "Guild", "Member", "Work"} {
		raw, err := g.Call("koan::"+entity+".collection", json.RawMessage(`{"with":"all","sort":"id","pageSize":200}`))
		require.NoError(g, err)
		var page struct{ Items []map[string]any }
		require.NoError(g, json.Unmarshal(raw, &page))
		for _, row := range page.Items {
			delete(row, "rev") // an undo counts on
			for _, related := range row {
				items, _ := related.([]any)
				for _, item := range append(items, related) {
					if item, ok := item.(map[string]any); ok {
						delete(item, "rev")
					}
				}
			}
			text, err := json.Marshal(row)
			require.NoError(g, err)
			out[entity+" "+row["id"].(string)] = string(text)
		}
	}
	return out
}

// Foreign keys that cascade in a circle, in the schema or among rows, do what the database does, and
// all of it is reported, and can be undone.
func TestCascadesInCircles(t *testing.T) {
	t.Parallel()
	if forEach(t, TestCascadesInCircles) {
		return
	}
	groves := map[string]grove{"plain": startGrove(t), "hooked": startGrove(t, ent.OnClient(func(c *ent.Client) {
		c.Use(func(next stdent.Mutator) stdent.Mutator { return next })
	}))}
	const guild = `
		const {Guild, Member, Work} = SDK.Entities;
		Guild.upsertMany([{id: "g"}, {id: "h"}]);
		Member.upsertMany([{id: "m", guild: "g"}, {id: "n", guild: "h"}]);
		Work.upsert({id: "w", maker: "m"});
	`
	for name, c := range map[string]struct {
		fill, delete string
		changes      []string
	}{
		"leaf":             {`B.upsertMany([{id: "a"}, {id: "b", parent: "a"}])`, `B.delete("b")`, []string{"delete Branch b"}},
		"root":             {`B.upsertMany([{id: "a"}, {id: "b", parent: "a"}, {id: "c", parent: "b"}, {id: "d", parent: "a"}])`, `B.delete("a")`, []string{"delete Branch a", "delete Branch b", "delete Branch c", "delete Branch d"}},
		"many":             {`B.upsertMany([{id: "a"}, {id: "b", parent: "a"}, {id: "c"}, {id: "d"}])`, `if (B.deleteMany(["b", "a", "c"]) !== 3) throw "not 3"`, []string{"delete Branch a", "delete Branch b", "delete Branch c"}},
		"many, root first": {`B.upsertMany([{id: "a"}, {id: "b", parent: "a"}, {id: "c", parent: "b"}])`, `if (B.deleteMany(["a", "c"]) !== 2) throw "not 2"`, []string{"delete Branch a", "delete Branch b", "delete Branch c"}},
		"by query":         {`B.upsertMany([{id: "a"}, {id: "b", parent: "a"}, {id: "c", parent: "b"}])`, `if (B.deleteByQuery({id: {$in: ["a", "b"]}}) !== 2) throw "not 2"`, []string{"delete Branch a", "delete Branch b", "delete Branch c"}},
		"own parent":       {`B.upsert({id: "a"}); B.patch("a", {parent: "a"})`, `B.delete("a")`, []string{"delete Branch a"}},
		"two rows":         {`B.upsertMany([{id: "a"}, {id: "b", parent: "a"}]); B.patch("a", {parent: "b"})`, `B.delete("a")`, []string{"delete Branch a", "delete Branch b"}},
		"circle and tail":  {`B.upsertMany([{id: "a"}, {id: "b", parent: "a"}, {id: "c", parent: "b"}, {id: "t", parent: "c"}]); B.patch("a", {parent: "c"})`, `B.delete("b")`, []string{"delete Branch a", "delete Branch b", "delete Branch c", "delete Branch t"}},
		"cleared":          {`B.upsertMany([{id: "a"}, {id: "b", model: "a"}, {id: "c", model: "b"}])`, `B.delete("a")`, []string{"delete Branch a", "update Branch b"}},
		"own model":        {`B.upsert({id: "a"}); B.patch("a", {model: "a"})`, `B.delete("a")`, []string{"delete Branch a"}},
		"cleared and gone": {`B.upsertMany([{id: "a"}, {id: "b", parent: "a", model: "a"}, {id: "c", parent: "b"}, {id: "d", model: "c"}])`, `B.delete("a")`, []string{"delete Branch a", "delete Branch b", "delete Branch c", "update Branch d"}},
		"linked":           {`B.upsertMany([{id: "a"}, {id: "b", parent: "a"}, {id: "c"}]); B.patch("c", {likeness: ["a", "b", "c"]})`, `B.delete("a")`, []string{"delete Branch a", "delete Branch b"}},
		"twins":            {`B.upsertMany([{id: "a"}, {id: "b", twin: "a"}, {id: "c", parent: "b"}, {id: "d", twin: "c"}])`, `B.delete("b")`, []string{"delete Branch b", "delete Branch c", "update Branch a", "update Branch d"}},
		"two entities":     {guild + `Guild.patch("g", {founder: "n"}); Guild.patch("h", {founder: "m"})`, `SDK.Entities.Guild.delete("g")`, []string{"delete Guild g", "delete Guild h", "delete Member m", "delete Member n", "delete Work w"}},
		"its own founder":  {guild + `Guild.patch("g", {founder: "m"})`, `SDK.Entities.Member.delete("m")`, []string{"delete Guild g", "delete Member m", "delete Work w"}},
		"three entities":   {guild + `Guild.patch("h", {charter: "w"}); Guild.patch("g", {patron: "n"})`, `SDK.Entities.Member.delete("m")`, []string{"delete Guild h", "delete Member m", "delete Member n", "delete Work w", "update Guild g"}},
		"whole circle":     {guild + `Guild.patch("g", {charter: "w"}); Guild.patch("h", {patron: "m"})`, `SDK.Entities.Work.delete("w")`, []string{"delete Guild g", "delete Member m", "delete Work w", "update Guild h"}},
		"everything":       {guild + `Guild.patch("g", {charter: "w", founder: "n"}); Guild.patch("h", {charter: "w", founder: "m"})`, `SDK.Entities.Guild.deleteByQuery({}, {all: true})`, []string{"delete Guild g", "delete Guild h", "delete Member m", "delete Member n", "delete Work w"}},
	} {
		t.Run(name, func(t *testing.T) {
			for kind, g := range groves {
				g.Run(`const B = SDK.Entities.Branch;`+c.fill, koantest.Input{})
				before := g.rows()
				script := `const B = SDK.Entities.Branch;` + c.delete
				r := g.Run(script, koantest.Input{DryRun: true})
				require.Equal(t, c.changes, changed(r), kind)
				require.Equal(t, before, g.rows(), kind)
				r = g.Run(script, koantest.Input{Include: []string{"changes"}})
				require.Equal(t, c.changes, changed(r), kind)
				after := g.rows()
				for _, ch := range r.Changes {
					_, there := after[ch.Entity+" "+ch.ID]
					require.Equal(t, ch.Action != "delete", there, "%s %s %s", kind, ch.Entity, ch.ID)
				}
				raw, err := g.Call("code::koan.undo", map[string]any{"runId": r.RunID})
				require.NoError(t, err, "%s %s", kind, raw)
				require.Equal(t, before, g.rows(), kind)
				g.Run(`for (const e of ["Branch", "Guild"]) SDK.Entities[e].deleteByQuery({}, {all: true})`, koantest.Input{})
				require.Empty(t, g.rows())
			}
		})
	}
}

// changed lists what a run reports of rows.
func changed(r *koantest.Result) (out []string) {
	for _, ch := range r.Changes {
		out = append(out, fmt.Sprintf("%s %s %s", ch.Action, ch.Entity, ch.ID))
	}
	slices.Sort(out)
	return out
}

// A chain of rows that is longer than what the databases follow by themselves goes as a whole, and
// comes back.
func TestCascadesDownLongChains(t *testing.T) {
	t.Parallel()
	if forEach(t, TestCascadesDownLongChains) {
		return
	}
	const long = 1500
	g := startGrove(t)
	g.Run(fmt.Sprintf(`
		const id = i => String(i).padStart(6, "0"), models = [];
		for (let i = 0; i < %d; i++) models.push(i ? {id: id(i), parent: id(i - 1)} : {id: id(i)});
		SDK.Entities.Branch.upsertMany(models);
	`, long), koantest.Input{})
	count := func() (n int) {
		g.Run(`SDK.Entities.Branch.count()`, koantest.Input{}).ResultInto(&n)
		return n
	}
	r := g.Run(`SDK.Entities.Branch.delete("000000")`, koantest.Input{})
	require.Equal(t, long, r.ChangeCounts[0].Deleted)
	require.Zero(t, count())
	raw, err := g.Call("code::koan.undo", map[string]any{"runId": r.RunID})
	require.NoError(t, err, "%s", raw)
	require.Equal(t, long, count())
	var last string
	g.Run(fmt.Sprintf(`SDK.Entities.Branch.getById("%06d", {with: "parent"}).parent.id`, long-1), koantest.Input{}).ResultInto(&last)
	require.Equal(t, fmt.Sprintf("%06d", long-2), last)
}

// A row that refers to itself comes back where the database makes ids as well: the builder stores it with
// another id at first, when there is nothing yet that it could refer to.
func TestUndoRestoresRowsThatReferToThemselves(t *testing.T) {
	t.Parallel()
	if forEach(t, TestUndoRestoresRowsThatReferToThemselves) {
		return
	}
	g := startGrove(t)
	for _, c := range []struct{ name, fill, delete string }{
		{"itself", `S.patch(a.id, {outer: a.id})`, `S.delete(S.all({filter: {place: 1}})[0].id)`},
		{"itself, with others in it", `S.patch(a.id, {outer: a.id}); S.create({shelf: "x", place: 4, outer: a.id})`, `S.deleteByQuery({}, {all: true})`},
		{"itself, and a circle", `S.patch(a.id, {outer: a.id}); S.patch(b.id, {outer: c.id}); S.patch(c.id, {outer: b.id})`, `S.deleteByQuery({}, {all: true})`},
	} {
		t.Run(c.name, func(t *testing.T) {
			slots := func() string {
				all := g.Run(`SDK.Entities.Slot.all({with: "outer,inner", sort: "id"})`, koantest.Input{}).Result
				return regexp.MustCompile(`"rev":\d+`).ReplaceAllString(string(all), "") // an undo counts on
			}
			made := g.Run(`const S = SDK.Entities.Slot; const [a, b, c] = [1, 2, 3].map(place => S.create({shelf: "x", place}));`+c.fill, koantest.Input{})
			before := slots()
			gone := g.Run(`const S = SDK.Entities.Slot;`+c.delete, koantest.Input{})
			undo := func(run string) string {
				raw, err := g.Call("code::koan.undo", map[string]any{"runId": run})
				require.NoError(t, err, "%s", raw)
				var out struct{ RunID string }
				require.NoError(t, json.Unmarshal(raw, &out))
				return out.RunID
			}
			undo(gone.RunID)
			require.Equal(t, before, slots())
			again := undo(made.RunID)
			require.JSONEq(t, `[]`, slots())
			undo(again)
			require.Equal(t, before, slots())
			g.Run(`SDK.Entities.Slot.deleteByQuery({}, {all: true})`, koantest.Input{})
		})
	}
	g.Run(`const B = SDK.Entities.Branch; B.upsertMany([{id: "a", parent: "a"}, {id: "b", parent: "a", model: "b"}]); B.upsert({id: "c", model: "c", parent: "c"})`, koantest.Input{})
	before := g.rows()
	gone := g.Run(`SDK.Entities.Branch.deleteByQuery({}, {all: true})`, koantest.Input{})
	raw, err := g.Call("code::koan.undo", map[string]any{"runId": gone.RunID})
	require.NoError(t, err, "%s", raw)
	require.Equal(t, before, g.rows())
}

// What was read of a one-to-one edge that is its own inverse can be sent back, and it moves from either
// side; a row that is another one's already is refused in words of the entity.
func TestSymmetricEdgesAreSentBack(t *testing.T) {
	t.Parallel()
	if forEach(t, TestSymmetricEdgesAreSentBack) {
		return
	}
	g := startGrove(t)
	branches := func(script string) string {
		var out string
		g.Run(`const B = SDK.Entities.Branch;`+script+`; B.all({with: "twin", sort: "id"}).map(b => b.id + b.rev + (b.twin ? b.twin.id : "-")).join(" ")`, koantest.Input{}).ResultInto(&out)
		return out
	}
	require.Equal(t, "a2b b1a c1- d1-", branches(`B.upsertMany([{id: "a"}, {id: "c"}, {id: "d"}]); B.upsert({id: "b", twin: "a"})`))
	require.Equal(t, "a2b b1a c1- d1-", branches(`B.upsert(B.getById("a", {with: "twin"})); B.upsert(B.getById("b", {with: "twin"})); B.upsertMany(B.all({with: "twin"})); B.patch("a", {twin: "b"}); B.patch("c", {twin: null})`))
	require.Regexp(t, `^a\dc b\d- c\da d\d-$`, branches(`B.patch("a", {twin: "c"})`))
	for _, script := range []string{`B.upsert({id: "e", twin: "a"})`, `B.patch("d", {twin: "a"})`} {
		_, err := g.Call("code::koan.execute", map[string]any{"code": `const B = SDK.Entities.Branch;` + script})
		require.ErrorContains(t, err, "already")
		require.NotContains(t, err.Error(), "branch_twin")
		require.NotContains(t, err.Error(), "connected")
		t.Log(err)
	}
	before := g.rows()
	moved := g.Run(`SDK.Entities.Branch.patch("c", {twin: "d"})`, koantest.Input{})
	require.NotEqual(t, before, g.rows())
	raw, err := g.Call("code::koan.undo", map[string]any{"runId": moved.RunID})
	require.NoError(t, err, "%s", raw)
	require.Equal(t, before, g.rows())
	require.Regexp(t, `^a\d- b\d- c\d- d\d-$`, branches(`B.patch("a", {twin: null})`))
}

// Rows that require each other, and one that requires itself and whose id the database makes, cannot be
// created again: the run that deletes them says so.
func TestRowsThatRequireEachOtherCannotBeRestored(t *testing.T) {
	t.Parallel()
	if forEach(t, TestRowsThatRequireEachOtherCannotBeRestored) {
		return
	}
	place := place(t)
	g := startGroveIn(t, place)
	g.Run(`SDK.Entities.Turn.count()`, koantest.Input{}) // the set comes into being
	db := beside(t, place, "default")
	for id := 1; id <= 6; id++ {
		_, err := db.Exec("INSERT INTO turns (turn_previous) VALUES (NULL)")
		require.NoError(t, err)
	}
	for id, next := range map[int]int{1: 1, 2: 3, 3: 2, 4: 5, 5: 6, 6: 6} {
		_, err := db.Exec(fmt.Sprintf("UPDATE turns SET turn_previous = %d WHERE id = %d", next, id))
		require.NoError(t, err)
	}
	before := g.Run(`SDK.Entities.Turn.all({sort: "id"})`, koantest.Input{}).Result
	undone := func(script string) {
		t.Helper()
		r := g.Run(script, koantest.Input{})
		require.Empty(t, r.Logs, script)
		_, err := g.Call("code::koan.undo", map[string]any{"runId": r.RunID})
		require.NoError(t, err, script)
		require.JSONEq(t, string(before), string(g.Run(`SDK.Entities.Turn.all({sort: "id"})`, koantest.Input{}).Result), script)
	}
	undone(`SDK.Entities.Turn.delete("4"); SDK.Entities.Turn.delete("5")`)
	undone(`SDK.Entities.Turn.patch("2", {next: "2"}); SDK.Entities.Turn.patch("3", {next: "3"})`)
	for _, script := range []string{`SDK.Entities.Turn.delete("1")`, `SDK.Entities.Turn.deleteMany(["2", "3"])`, `SDK.Entities.Turn.deleteMany(["4", "5", "6"])`} {
		r := g.Run(script, koantest.Input{})
		require.Len(t, r.Logs, 1, script)
		require.Contains(t, r.Logs[0].Message, "cannot be undone: it deleted rows that require each other, or one that requires itself", script)
		_, err := g.Call("code::koan.undo", map[string]any{"runId": r.RunID})
		require.Error(t, err, script)
	}
}
