package barcode_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/plugins/vision/barcode"
	"github.com/koan-go/koan/plugins/vision/testphotos"
)

// score is what was read of the photos of a category.
type score struct {
	photos, codes, read, wrong int
	took, cpu                  time.Duration
}

func (s *score) add(o score) {
	s.photos += o.photos
	s.codes += o.codes
	s.read += o.read
	s.wrong += o.wrong
	s.took += o.took
	s.cpu += o.cpu
}

// look reads a photo and compares what was found with what is there.
func look(t *testing.T, p testphotos.Photo) score {
	t.Helper()
	start, busy := time.Now(), cpuTime(t)
	g, err := barcode.Decode(p.File)
	require.NoError(t, err, p.Name)
	require.Equal(t, [2]int{p.Width, p.Height}, [2]int{g.Width, g.Height}, "%s: turned as its EXIF data says", p.Name)
	found, err := barcode.Detect(context.Background(), g)
	require.NoError(t, err)
	s := score{photos: 1, codes: len(p.Codes), took: time.Since(start), cpu: cpuTime(t) - busy}
	var missed []string
	for i, c := range p.Codes {
		at := slices.IndexFunc(found, func(d barcode.Detection) bool {
			x, y := float64(d.Box.X)+float64(d.Box.Width)/2, float64(d.Box.Y)+float64(d.Box.Height)/2
			return string(d.Format) == c.Format && d.Value == c.Value &&
				math.Hypot(x-p.Middles[i][0], y-p.Middles[i][1]) < float64(max(d.Box.Width, d.Box.Height))/2
		})
		if at < 0 {
			missed = append(missed, c.Format+" "+c.Value)
			continue
		}
		s.read++
		found = slices.Delete(found, at, at+1)
	}
	s.wrong = len(found)
	if len(missed)+len(found) > 0 {
		t.Logf("%s: missed %v, too many %v", p.Name, missed, found)
	}
	return s
}

// cpuTime is what this process has computed so far, on all cores.
func cpuTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// TestPhotos reads one photo of each category; with KOAN_PHOTOS the first so many,
// 10 are all 60 of the series, and prints the table.
func TestPhotos(t *testing.T) {
	each := 1
	if n := os.Getenv("KOAN_PHOTOS"); n != "" {
		var err error
		each, err = strconv.Atoi(n)
		require.NoError(t, err)
	}
	var table strings.Builder
	var all score
	line := func(name string, s score) {
		each := int64(s.photos)
		fmt.Fprintf(&table, "%-12s %6d %6d %6d %6d %8d %8d\n", name, s.photos, s.codes, s.read, s.wrong, s.took.Milliseconds()/each, s.cpu.Milliseconds()/each)
	}
	fmt.Fprintf(&table, "%-12s %6s %6s %6s %6s %8s %8s\n", "category", "photos", "codes", "read", "false", "ms/photo", "cpu-ms")
	for i, c := range testphotos.Categories() {
		var s score
		for n := range min(each, c.Count) {
			p, err := c.Photo(testphotos.Seed+uint64(i), n)
			require.NoError(t, err)
			s.add(look(t, p))
		}
		line(c.Name, s)
		all.add(s)
		if c.Name == "table" {
			require.Equal(t, 40, s.read, "an ordinary table of groceries")
			require.Less(t, s.took, 30*time.Second)
			if os.Getenv("KOAN_PHOTOS") != "" { // not under the race detector, and nothing else computes
				require.Less(t, s.cpu, 3*time.Second)
			}
		}
	}
	line("all", all)
	t.Log("\n" + table.String())
	require.Zero(t, all.wrong, "a false code is worse than a missed one")
	require.GreaterOrEqual(t, float64(all.read), 0.97*float64(all.codes))
}

// TestNoise looks at pictures without codes; KOAN_NOISE is how many.
func TestNoise(t *testing.T) {
	n := 15
	if s := os.Getenv("KOAN_NOISE"); s != "" {
		var err error
		n, err = strconv.Atoi(s)
		require.NoError(t, err)
	}
	for i := range n {
		found, err := barcode.Detect(context.Background(), barcode.FromImage(testphotos.Noise(testphotos.Seed, i)))
		require.NoError(t, err)
		require.Empty(t, found, "picture %d", i)
	}
}

// TestTrying reads photos of codes that are printed or taken badly: two of each kind; with
// KOAN_PHOTOS so many, up to 8, and prints the table.
func TestTrying(t *testing.T) {
	each := 1
	if n := os.Getenv("KOAN_PHOTOS"); n != "" {
		var err error
		each, err = strconv.Atoi(n)
		require.NoError(t, err)
	}
	var table strings.Builder
	var all score
	line := func(name string, s score) {
		fmt.Fprintf(&table, "%-22s %6d %6d %6d %6d %8d\n", name, s.photos, s.codes, s.read, s.wrong, s.cpu.Milliseconds()/int64(s.photos))
	}
	fmt.Fprintf(&table, "%-22s %6s %6s %6s %6s %8s\n", "kind", "photos", "codes", "read", "false", "cpu-ms")
	for i, c := range testphotos.Trying() {
		var s score
		for n := range min(each, c.Count) {
			p, err := c.Photo(testphotos.Seed+uint64(i), n)
			require.NoError(t, err)
			s.add(look(t, p))
		}
		line(c.Name, s)
		all.add(s)
	}
	line("all", all)
	t.Log("\n" + table.String())
	require.Zero(t, all.wrong, "a false code is worse than a missed one")
	require.GreaterOrEqual(t, float64(all.read), 0.9*float64(all.codes))
}

// Half of a code is none: nothing is made up for what the picture does not show.
func TestCutOff(t *testing.T) {
	n := 12
	if s := os.Getenv("KOAN_NOISE"); s != "" {
		var err error
		n, err = strconv.Atoi(s)
		require.NoError(t, err)
	}
	for i := range n {
		p, err := testphotos.CutOff(testphotos.Seed, i)
		require.NoError(t, err)
		g, err := barcode.Decode(p.File)
		require.NoError(t, err)
		found, err := barcode.Detect(context.Background(), g)
		require.NoError(t, err)
		for _, d := range found { // of a code that is turned, some lines are whole
			require.Equal(t, p.Codes[0].Value, d.Value, p.Name)
		}
	}
}
