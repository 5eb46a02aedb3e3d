package web

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestStepsNameTheirTimes(t *testing.T) {
	for text, want := range map[string][]int{
		"Simmer for a quarter of an hour.":                   {900},
		"Let it set, or for ten minutes in a hot oven.":      {600},
		"Bake 25-30 minutes, then rest 5 min.":               {1800, 300},
		"Knead for half an hour and leave it for two hours.": {1800, 7200},
		"Three quarters of an hour later, turn it.":          {2700},
		"Fry for a minute.":                                  {60},
		"A few minutes will do.":                             nil,
		"Cut it in half, an hour before it is served.":       {3600},
		"Serve with 20 g butter and 200 ml milk.":            nil,
		"Wait 900 hours.":                                    nil,
	} {
		var got []int
		for _, timer := range timersIn(text) {
			got = append(got, timer.Seconds)
		}
		require.Equal(t, want, got, text)
	}
}

func TestStepsNameWhatTheyNeed(t *testing.T) {
	lines := []ingredient{{Name: "red bell pepper"}, {Name: "black pepper"}, {Name: "olive oil"}, {Name: "chopped tomatoes"}, {Name: "tomato paste"}, {Name: "eggs"}, {Name: "green beans"}}
	var got []string
	for _, l := range stepsOf([]string{"Fry the pepper in the oil with the tomatoes, and break an egg into it."}, lines)[0].Needs {
		got = append(got, l.Name)
	}
	require.Equal(t, []string{"red bell pepper", "black pepper", "olive oil", "chopped tomatoes", "tomato paste", "eggs"}, got)
}

func FuzzTimersIn(f *testing.F) {
	f.Add("Simmer for a quarter of an hour, or 10-12 minutes.")
	f.Add("half an hour 999,9 hours a second")
	f.Fuzz(func(t *testing.T, text string) {
		found := timersIn(text)
		require.LessOrEqual(t, len(found), mostTimers)
		for _, one := range found {
			require.GreaterOrEqual(t, one.Seconds, leastSeconds)
			require.LessOrEqual(t, one.Seconds, mostSeconds)
			require.NotEmpty(t, one.Text)
		}
	})
}
