package events

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/tests/fixture"
	"github.com/koan-go/koan/tests/pgtest"
)

// A filter decides about a row as it was and as it became: what begins to match is a create, what
// ceases to a delete, and nothing is sent of other rows. It takes what reads take.
func TestFilteredChanges(t *testing.T) {
	if pgtest.ForEach(t, TestFilteredChanges) {
		return
	}
	t.Parallel()
	s := serve(t, fixture.App(), framework.HTTPOptions{})
	where := func(filter string) *follower { return s.follow(url.Values{"entity": {"Todo"}, "filter": {filter}}) }
	s.do(http.StatusCreated, "POST", "/api/person", `{"id":"ann","name":"Ann","email":"ann@example.org"}`)
	s.do(http.StatusCreated, "POST", "/api/todo", `{"id":"z","title":"is there"}`)
	all := s.follow(nil)
	open := where(`{"completed":false,"effort":{"$gte":2}}`)
	hers := where(`{"assignedUser":{"name":"Ann"}}`)
	found := where(`{"$search":"milk"}`)
	prefixed := where(`{"title":{"$startsWith":"Mi"},"priority":{"$in":["high"]}}`)
	tagged := where(`{"tags":{"$has":"x"}}`)
	none := where(`{}`)

	post := func(body string) { s.do(http.StatusCreated, "POST", "/api/todo", body) }
	patch := func(body string) { s.do(http.StatusOK, "PATCH", "/api/todo/a", body) }
	post(`{"id":"a","title":"Milk","notes":"fresh milk","effort":1,"priority":"high","tags":["x"]}`)
	patch(`{"effort":2,"notes":"nothing"}`)
	patch(`{"assignedUserId":"ann","title":"Bread"}`)
	patch(`{"completed":true,"tags":["y"]}`)
	s.do(http.StatusOK, "DELETE", "/api/todo/a", "")
	s.do(http.StatusCreated, "POST", "/api/label", `{"name":"red"}`)
	post(`{"id":"end","title":"Milk","notes":"milk","effort":3,"priority":"high","tags":["x"],"assignedUserId":"ann"}`)

	ends := "create Todo default/end"
	require.Equal(t, []string{"create Todo default/a", "update Todo default/a", "delete Todo default/a", ends}, open.briefs(4))
	require.Equal(t, []string{"delete Todo default/a", "create Todo default/a", "update Todo default/a", "delete Todo default/a", ends}, hers.briefs(5))
	require.Equal(t, []string{"create Todo default/a", "update Todo default/a", "delete Todo default/a", ends}, found.briefs(4))
	require.Equal(t, []string{"create Todo default/a", "update Todo default/a", "delete Todo default/a", ends}, prefixed.briefs(4))
	require.Equal(t, []string{"create Todo default/a", "update Todo default/a", "update Todo default/a", "delete Todo default/a", ends}, tagged.briefs(5))
	require.Equal(t, []string{"create Todo default/a", "update Todo default/a", "update Todo default/a", "update Todo default/a", "delete Todo default/a", ends}, none.briefs(6))
	require.Len(t, all.briefs(7), 7)
}

// Related rows count as they are now, so a changed row that does not match is a delete, whether it did
// before or not: nobody keeps a row that has left.
func TestFilteredChangesOfRelationships(t *testing.T) {
	if pgtest.ForEach(t, TestFilteredChangesOfRelationships) {
		return
	}
	t.Parallel()
	s := serve(t, fixture.App(), framework.HTTPOptions{})
	s.do(http.StatusCreated, "POST", "/api/person", `{"id":"ann","name":"Ann","email":"ann@example.org"}`)
	red := s.do(http.StatusCreated, "POST", "/api/label", `{"name":"red"}`)["id"].(string)
	s.do(http.StatusCreated, "POST", "/api/todo", `{"id":"a","title":"Milk","assignedUserId":"ann"}`)
	labelled := s.follow(url.Values{"entity": {"Todo"}, "filter": {`{"labels":{"$some":{"name":"red"}}}`}})
	assigned := s.follow(url.Values{"entity": {"Todo"}, "filter": {`{"assignedUser":{"$exists":true}}`}})

	s.do(http.StatusOK, "PATCH", "/api/todo/a", `{"labels":["`+red+`"]}`)
	require.Contains(t, []string{"create Todo default/a", "update Todo default/a"}, labelled.next().brief())
	s.do(http.StatusOK, "PATCH", "/api/todo/a", `{"labels":[]}`)
	require.Equal(t, "delete Todo default/a", labelled.next().brief())
	require.Equal(t, []string{"update Todo default/a", "update Todo default/a"}, assigned.briefs(2)) // while there is somebody
	s.do(http.StatusOK, "DELETE", "/api/person/ann", "")
	require.Equal(t, "delete Todo default/a", assigned.next().brief())
}

// What is wrong with a filter is said before the stream begins, with its path.
func TestFiltersOfChangesAreChecked(t *testing.T) {
	t.Parallel()
	s := serve(t, fixture.App(), framework.HTTPOptions{})
	for query, says := range map[string]string{
		`filter={}`:                                       "a filter is about the rows of one entity",
		`entity=Todo,Person&filter={}`:                    "a filter is about the rows of one entity",
		`entity=Todo&filter={"titel":"x"}`:                `"/filter/titel"`,
		`entity=Todo&filter={"secret":"x"}`:               `"/filter/secret"`,
		`entity=Todo&filter={"title":{"$gt":1}}`:          `"/filter/title/$gt"`,
		`entity=Todo&filter=title`:                        "a filter must be an object",
		`entity=Todo&filter=`:                             `/filter`,
		`entity=Todo&filter=[]`:                           "a filter must be an object",
		`entity=Todo&filter={"title":"a","title":"b"}`:    "/filter",
		`entity=Todo&filter={"assignedUser":{"email":1}}`: `"/filter/assignedUser/email"`,
	} {
		name, value, _ := strings.Cut(query, "filter=")
		got, err := s.try(http.MethodGet, "/api/events?"+name+"filter="+url.QueryEscape(value), "")
		require.NoError(t, err)
		require.Equal(t, http.StatusBadRequest, got.status, "%s: %s", query, got.body)
		require.Contains(t, string(got.body), says, query)
	}
}
