package seal

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var (
	old   = strings.Repeat("old secret ", 4)
	fresh = strings.Repeat("new secret ", 4)
)

func sealer(t *testing.T, secrets ...string) *Sealer {
	t.Helper()
	s, err := New(secrets...)
	require.NoError(t, err)
	return s
}

func TestSealRoundTrip(t *testing.T) {
	a, b := sealer(t, fresh), sealer(t, fresh, old)
	for _, content := range []string{"", "x", strings.Repeat("long ", 10000)} {
		sealed := a.Seal([]byte(content), time.Now().Add(time.Minute), "ask", "ann")
		got, err := b.Open(sealed, "ask", "ann")
		require.NoError(t, err, "another replica with the same secret opens it")
		require.Equal(t, content, string(got))
		require.NotEqual(t, sealed, a.Seal([]byte(content), time.Now().Add(time.Minute), "ask", "ann"))
	}
}

func TestPreviousSecretOpensOnly(t *testing.T) {
	rotated := sealer(t, fresh, old)
	_, err := rotated.Open(sealer(t, old).Seal(nil, time.Now().Add(time.Minute)))
	require.NoError(t, err)
	_, err = sealer(t, old).Open(rotated.Seal(nil, time.Now().Add(time.Minute)))
	require.ErrorIs(t, err, ErrForged)
}

func TestOpenRejectsForeignData(t *testing.T) {
	s := sealer(t, fresh)
	good := s.Seal([]byte("content"), time.Now().Add(time.Minute), "ask", "ann")
	for name, try := range map[string]func() ([]byte, error){
		"another purpose":         func() ([]byte, error) { return s.Open(good, "plan", "ann") },
		"another caller":          func() ([]byte, error) { return s.Open(good, "ask", "bob") },
		"less of the binding":     func() ([]byte, error) { return s.Open(good, "ask") },
		"parts that run on":       func() ([]byte, error) { return s.Open(good, "aska", "nn") },
		"another secret":          func() ([]byte, error) { return Random().Open(good, "ask", "ann") },
		"nothing":                 func() ([]byte, error) { return s.Open("", "ask", "ann") },
		"more than that":          func() ([]byte, error) { return s.Open(good+"-TAMPERED", "ask", "ann") },
		"a part of it":            func() ([]byte, error) { return s.Open(good[:len(good)-4], "ask", "ann") },
		"what is no base64":       func() ([]byte, error) { return s.Open("§"+good, "ask", "ann") },
		"another version":         func() ([]byte, error) { return s.Open("B"+good[1:], "ask", "ann") },
		"with a line's end in it": func() ([]byte, error) { return s.Open(good[:8]+"\n"+good[8:], "ask", "ann") },
	} {
		_, err := try()
		require.ErrorIs(t, err, ErrForged, name)
	}
	for i := range good { // each letter matters
		other := byte('A')
		if good[i] == other {
			other = 'B'
		}
		_, err := s.Open(good[:i]+string(other)+good[i+1:], "ask", "ann")
		require.ErrorIs(t, err, ErrForged)
	}
}

func TestSealedValueExpires(t *testing.T) {
	s := sealer(t, fresh)
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	s.now = func() time.Time { return at }
	sealed := s.Seal([]byte("x"), at.Add(time.Second))
	_, err := s.Open(sealed)
	require.NoError(t, err)
	at = at.Add(time.Second)
	_, err = s.Open(sealed)
	require.ErrorIs(t, err, ErrExpired)
}

func TestShortSecretIsRejected(t *testing.T) {
	for _, secrets := range [][]string{{}, {""}, {"short"}, {fresh, "short"}} {
		_, err := New(secrets...)
		require.Error(t, err)
	}
}

func FuzzOpen(f *testing.F) {
	s, err := New(fresh)
	if err != nil {
		f.Fatal(err)
	}
	good := s.Seal([]byte("content"), time.Now().Add(time.Hour), "ask")
	for _, seed := range []string{good, good[:20], "", "AQ", strings.Repeat("A", 100), "\xff\n", good + "A", good + "=="} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, sealed string) {
		if _, err := s.Open(sealed, "ask"); err == nil && sealed != good {
			t.Fatalf("%q opens", sealed)
		}
	})
}
