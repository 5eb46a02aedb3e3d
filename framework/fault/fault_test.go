package fault_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
)

func TestRegistryIsComplete(t *testing.T) {
	entries := fault.Entries()
	require.Len(t, entries, 48)
	for _, e := range entries {
		t.Run(string(e.Code), func(t *testing.T) {
			require.NotEmpty(t, e.Meaning)
			require.NotEmpty(t, e.Hint)
			require.Contains(t, []fault.Retry{fault.Safe, fault.Fix, fault.Never}, e.Retry)
			require.GreaterOrEqual(t, e.HTTP, 400)
			require.Less(t, e.RPC, -32000)
			require.NotEmpty(t, e.Class)
			require.Regexp(t, `^[a-z]+(_[a-z]+)*$`, string(e.Code))
		})
	}
}

func TestFrom(t *testing.T) {
	nested := fmt.Errorf("deep: %w", fault.New(fault.NotFound, "no Todo 1"))
	cases := map[string]struct {
		err  error
		want fault.Code
	}{
		"a fault in the chain": {nested, fault.NotFound},
		"cancelled":            {context.Canceled, fault.Cancelled},
		"deadline":             {fmt.Errorf("x: %w", context.DeadlineExceeded), fault.Timeout},
		"anything else":        {errors.New("password=1234"), fault.Internal},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			f := fault.From(c.err)
			require.Equal(t, c.want, f.Code)
			require.NotContains(t, f.Message, "1234", "inner errors stay inside")
			if c.want != fault.NotFound {
				require.ErrorIs(t, f, c.err, "the cause is kept for logs")
			}
		})
	}
	require.Nil(t, fault.From(nil))
	require.ErrorIs(t, nested, fault.New(fault.NotFound, ""))
	require.NotErrorIs(t, nested, fault.New(fault.Conflict, ""))
}

func TestInvalidListsAllProblems(t *testing.T) {
	one := fault.Invalid(fault.Detail{Path: "/a", Message: "must be a string"})
	require.Equal(t, "/a", one.Path)
	require.Equal(t, "must be a string", one.Message)
	two := fault.Invalid(fault.Detail{Path: "/a", Message: "x"}, fault.Detail{Path: "/b", Message: "y"})
	require.Equal(t, "2 problems: /a: x; /b: y", two.Message)
	require.Empty(t, two.Path)
}

func TestJSONRoundTrip(t *testing.T) {
	f := fault.New(fault.Timeout, "late").WithDetails(map[string]any{"limit": "cpu"}).WithPath("/code")
	f.Line = 4
	raw, err := json.Marshal(f)
	require.NoError(t, err)
	require.JSONEq(t, `{"code":"timeout","message":"late","hint":`+quote(f.Hint)+`,"path":"/code","details":{"limit":"cpu"},"retry":"fix","line":4}`, string(raw))
	back, err := fault.Decode(raw)
	require.NoError(t, err)
	require.Equal(t, f.Error(), back.Error())
	require.True(t, back.EndsRun())
	odd, err := fault.Decode(json.RawMessage(`{"code":"made_up","message":"x"}`))
	require.NoError(t, err)
	require.Equal(t, fault.Internal, odd.Code)
	_, err = fault.Decode(json.RawMessage(`[`))
	require.Error(t, err)
}

func quote(s string) string {
	raw, _ := json.Marshal(s)
	return string(raw)
}

func TestUnknownCodePanics(t *testing.T) {
	require.PanicsWithValue(t, "fault: unknown code nonsense", func() { _ = fault.New("nonsense", "") })
}

func TestDidYouMean(t *testing.T) {
	names := []string{"completed", "title", "dueDate"}
	cases := map[string]string{"compelted": "completed", "Title": "title", "duedate": "dueDate", "quantity": "", "": "", "titel": "title"}
	for word, want := range cases {
		require.Equal(t, want, fault.Nearest(word, names), word)
	}
	require.Equal(t, `; did you mean "title"?`, fault.DidYouMean("titel", names))
	require.Empty(t, fault.DidYouMean("zzz", names))
	require.Equal(t, `; did you mean "title"? See --help`, fault.DidYouMeanOr("titel", names, "see --help"))
	require.Equal(t, "; see --help", fault.DidYouMeanOr("zzz", names, "see --help"))
}

// What is offered must be what somebody may have meant: a wrong suggestion costs
// another round.
func TestNearestSuggestions(t *testing.T) {
	entities := []string{"Detection", "HouseholdProfile", "MealPlan", "PantryEvent", "PantryItem", "Product", "Recipe", "RecipeIngredient", "ShoppingItem", "Todo"}
	methods := []string{"collection", "firstPage", "page", "each", "all", "getById", "findById", "count", "aggregate", "new", "upsert", "upsertMany", "patch", "delete", "deleteMany"}
	fields := []string{"id", "name", "quantity", "unit", "category", "status", "expiresAt", "addedAt", "dueDate", "isStaple", "listId"}
	operators := []string{"$eq", "$ne", "$in", "$nin", "$gt", "$gte", "$lt", "$lte", "$contains", "$icontains", "$startsWith"}
	servers := []string{"koan", "vision", "mail", "linear"}
	modules := []string{"@codemode/discovery", "@codemode/errors", "@codemode/servers/koan", "@codemode/servers/vision"}
	tools := []string{"plugin:vision", "server:linear", "Todo"}
	cases := []struct {
		words      string // WORD=MEANT, nothing behind the sign for none
		candidates []string
	}{
		{"Tdo=Todo todos=Todo pantry_item=PantryItem PantryItems=PantryItem Recepe=Recipe Recipes=Recipe pantryevents=PantryEvent Household=HouseholdProfile Meal=MealPlan", entities},
		{"Customer= Order= Item= User= Pantry= Inventory= Food= Tag=", entities},
		{"colection=collection getByID=getById get_by_id=getById upsertmany=upsertMany aggregat=aggregate firstpage=firstPage cout=count patchs=patch", methods},
		{"find=findById save= search= list= create= query= where= remove= put= push=", methods},
		{"quantty=quantity catgory=category categories=category stauts=status expires=expiresAt expiresat=expiresAt due=dueDate names=name list=listId", fields},
		{"title= price= id2=id is= at= tag= on= done= date=", fields},
		{"eq=$eq contains=$contains startswith=$startsWith startsWth=$startsWith gt=$gt", operators},
		{"like= regex= is= has= between=", operators},
		{"vison=vision Vision=vision mial=mail liner=linear", servers},
		{"github= slack= jira= koala= git=", servers},
		{"@codemode/discoverie=@codemode/discovery @codemode/servers/vison=@codemode/servers/vision @codemode/server/koan=@codemode/servers/koan", modules},
		{"@codemode/servers/github= @codemode/servers/mail= fs= axios= @codemode/tools=", modules},
		{"plugin:vison=plugin:vision server:linaer=server:linear", tools},
		{"plugin:github= server:github= plugin:linear=", tools},
	}
	for _, c := range cases {
		for pair := range strings.FieldsSeq(c.words) {
			word, meant, _ := strings.Cut(pair, "=")
			require.Equal(t, meant, fault.Nearest(word, c.candidates), "%q of %v", word, c.candidates)
		}
	}
}

func TestInvalidIsBounded(t *testing.T) {
	details := make([]fault.Detail, 9_000)
	for i := range details {
		details[i] = fault.Detail{Path: fmt.Sprint("/", i), Message: "no such field"}
	}
	f := fault.Invalid(details...)
	kept := f.Details.([]fault.Detail)
	require.Len(t, kept, fault.MaxDetails)
	require.Equal(t, "/48", kept[48].Path)
	require.Equal(t, fault.Detail{Message: "and 8951 more"}, kept[49])
	require.Contains(t, f.Message, "9000 problems: /0: ")
	require.Less(t, len(f.Message), 2000)
	require.Len(t, fault.Invalid(details[:fault.MaxDetails]...).Details, fault.MaxDetails)
	require.Contains(t, fault.Invalid(make([]fault.Detail, fault.MaxFound)...).Message, "at least 10000 problems: ")
}

// A fault may be shared: what is added to it for one caller must not reach the others.
func TestAdditionsLeaveTheFaultAlone(t *testing.T) {
	shared := fault.New(fault.NotFound, "gone")
	before := *shared
	changed := shared.WithHint("look %s", "there").WithPath("/id").WithRetry(fault.Safe).WithDetails(map[string]any{"a": 1}).Because(errors.New("why"))
	require.Equal(t, before, *shared)
	require.NoError(t, errors.Unwrap(shared))
	require.Equal(t, "look there", changed.Hint)
	require.Equal(t, "/id", changed.Path)
	require.Equal(t, fault.Safe, changed.Retry)
	require.EqualError(t, errors.Unwrap(changed), "why")
}
