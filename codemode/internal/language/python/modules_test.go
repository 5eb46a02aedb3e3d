package python_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/codemode/internal/language/cell"
	"github.com/koan-go/koan/codemode/internal/language/python"
	"github.com/koan-go/koan/codemode/internal/sandbox"
	"github.com/koan-go/koan/tests/needs"
)

// debian is the interpreter of the system, for which it has packages such as python3-numpy.
const debian = "/usr/bin/python3"

// withModules returns a sandbox of the system's interpreter with modules that Debian has packed.
func withModules(tb testing.TB, modules ...string) *sandbox.Sandbox {
	tb.Helper()
	for _, m := range modules {
		needs.PythonModule(tb, m)
	}
	i, err := python.Find(tb.Context(), debian, modules)
	require.NoError(tb, err)
	s, err := sandbox.New(sandbox.Options{
		PoolSize: 1, StartTimeout: time.Minute, Layers: cell.Layers(),
		Interpreter: &sandbox.Interpreter{Args: func() []string { return i.Arguments(modules) }, Attr: cell.Attributes(), Layers: cell.Layers(), Forks: true},
	})
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, s.Close()) })
	return s
}

// A module of Debian's finds its libraries, which are linked through /etc/alternatives, and its values are JSON.
func TestModulesOfTheSystem(t *testing.T) {
	t.Parallel()
	s := withModules(t, "numpy")
	const code = `import numpy as np
days = np.array(["2026-01-02", "NaT"], dtype="datetime64[D]")
[np.linalg.norm(np.array([3.0, 4.0])), (np.eye(300) @ np.ones((300, 300))).sum(), np.linalg.det(np.eye(2) * 2), np.arange(3), np.int64(2**53 + 1), np.bool_(True), np.float64("nan"), days, np.ma.array([1, 2], mask=[0, 1])]`
	r, err := s.Execute(t.Context(), job(code), &host{})
	require.NoError(t, err)
	require.Nil(t, r.Fault, "%+v", r.Fault)
	require.Equal(t, `[5.0,90000.0,4.0,[0,1,2],"9007199254740993",true,null,["2026-01-02",null],[1,null]]`, string(r.Result))
}

// A module's data may lie outside of the libraries, and what it keeps in caches is not in the folder of scripts.
func TestScriptsDrawCharts(t *testing.T) {
	t.Parallel()
	s := withModules(t, "matplotlib.pyplot")
	const code = `import io, os
import matplotlib.pyplot as plt
plt.bar(["a", "b"], [1, 2])
png = io.BytesIO()
plt.savefig(png)
[png.getvalue()[1:4].decode(), os.listdir(), os.path.exists("/etc/passwd")]`
	for range 2 {
		r, err := s.Execute(t.Context(), job(code), &host{})
		require.NoError(t, err)
		require.Nil(t, r.Fault, "%+v", r.Fault)
		require.Equal(t, `["PNG",[],false]`, string(r.Result))
	}
}

// Tables and columns of pandas keep the labels of their indexes in a result, and are rows and values in an input.
func TestTablesOfPandas(t *testing.T) {
	t.Parallel()
	s := withModules(t, "pandas")
	const table = `import pandas as pd
df = pd.DataFrame({"country": ["NO", "DE", "NO"], "year": [2025, 2026, 2026], "total": [1.5, 2.0, None]})
`
	for code, result := range map[string]string{
		"df":                                                `[{"country":"NO","year":2025,"total":1.5},{"country":"DE","year":2026,"total":2.0},{"country":"NO","year":2026,"total":null}]`,
		"df[df.year > 2025][['total']]":                     `[{"total":2.0},{"total":null}]`,
		"df.groupby('country').total.sum()":                 `{"DE":2.0,"NO":1.5}`,
		"df.groupby('country')[['total']].sum()":            `[{"country":"DE","total":2.0},{"country":"NO","total":1.5}]`,
		"df.groupby(['country', 'year']).total.sum()":       `[{"country":"DE","year":2026,"total":2.0},{"country":"NO","year":2025,"total":1.5},{"country":"NO","year":2026,"total":0.0}]`,
		"df.groupby(['country', 'year']).size()[:1]":        `[{"country":"DE","year":2026,"value":1}]`,
		"df.groupby('country').year.value_counts()[:1]":     `[{"country":"DE","year":2026,"value":1}]`,
		"df.set_index('country', drop=False)[:1]":           `[{"country":"NO","year":2025,"total":1.5}]`,
		"df.country.value_counts()":                         `{"NO":2,"DE":1}`,
		"df.year.value_counts()":                            `{"2026":2,"2025":1}`,
		"df[['total']].describe()[:2]":                      `[{"index":"count","total":2.0},{"index":"mean","total":1.75}]`,
		"df.country":                                        `["NO","DE","NO"]`,
		"df.set_index('country').total":                     `[{"country":"NO","total":1.5},{"country":"DE","total":2.0},{"country":"NO","total":null}]`,
		"df.index, df.year.to_numpy(), df.country.unique()": `[[0,1,2],[2025,2026,2026],["NO","DE"]]`,
		"pd.Series([1, None], dtype='Int64'), pd.NA":        `[[1,null],null]`,
		"pd.Period('2026-01'), pd.Interval(1, 2), pd.Timestamp('2026-01-02'), pd.Timedelta('1h')": `["2026-01","(1, 2]","2026-01-02T00:00:00","P0DT1H0M0S"]`,
		"df.groupby(pd.to_datetime(df.year, format='%Y').dt.to_period('M')).size()":               `{"2025-01":1,"2026-01":2}`,
		"{df.year.max(): 1}": `{"2026":1}`,
		"pd.Series([1, 2], index=pd.Index([1, True], dtype=object))": `[{"index":1,"value":1},{"index":true,"value":2}]`,
	} {
		h := &host{}
		r, err := s.Execute(t.Context(), job(table+code), h)
		require.NoError(t, err)
		require.Nil(t, r.Fault, "%s: %+v", code, r.Fault)
		require.Equal(t, result, string(r.Result), code)
	}
	for code, message := range map[string]string{
		"pd.Series(['a', 'b'], index=[1, '1'])":      "the keys 1 and '1' of a dict are the same in JSON",
		"pd.DataFrame([[1, 2]], columns=['a', 'a'])": "a table has several columns 'a'",
		"pd.DataFrame([[1, 2]], columns=[1, '1'])":   "the keys 1 and '1' of a dict are the same in JSON",
	} {
		r, err := s.Execute(t.Context(), job(table+code), &host{})
		require.NoError(t, err)
		require.NotNil(t, r.Fault, code)
		require.Contains(t, r.Fault.Message, message)
	}
	h := &host{}
	_, err := s.Execute(t.Context(), job(table+"SDK.Entities.Todo.count(set=df[1:])\nSDK.Entities.Todo.count(filter={'total': {'$in': df.groupby('country').total.sum()}})"), h)
	require.NoError(t, err)
	require.Equal(t, []string{`koan::Todo.count {"set":[{"country":"DE","year":2026,"total":2.0},{"country":"NO","year":2026,"total":null}]}`, `koan::Todo.count {"filter":{"total":{"$in":[2.0,1.5]}}}`}, h.calls)
	r, err := s.Execute(t.Context(), job(table+"df.groupby('country').agg({'total': ['sum', 'mean']})"), &host{})
	require.NoError(t, err)
	require.NotNil(t, r.Fault)
	require.Contains(t, r.Fault.Hint, "df.columns =")
}

// Random numbers of numpy are those of the recording, too: another process gives the same, another seed gives others.
func TestRandomNumbersOfNumpyAreRecorded(t *testing.T) {
	t.Parallel()
	const code = "import numpy as np\n[np.random.rand(), np.random.default_rng().random(), np.random.RandomState().rand(), np.random.Generator(np.random.PCG64()).random()]"
	numbers := func(s *sandbox.Sandbox, seed uint64) string {
		j := job(code)
		j.Seed = seed
		r, err := s.Execute(t.Context(), j, &host{})
		require.NoError(t, err)
		require.Nil(t, r.Fault, "%+v", r.Fault)
		return string(r.Result)
	}
	s := withModules(t, "numpy")
	first := numbers(s, 7)
	require.Equal(t, first, numbers(s, 7))
	require.Equal(t, first, numbers(withModules(t, "numpy"), 7))
	for i, n := range strings.Split(numbers(s, 8), ",") {
		require.NotEqual(t, strings.Split(first, ",")[i], n)
	}
}
