package manifests

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/koan-go/koan/plugins/internal/wire"
)

var weather = &wire.Manifest{Domain: "weather", Version: "1.2.0", Functions: []*wire.Function{{Name: "look-up", Summary: "Looks it up."}}}

func TestManifestIsThatOfTheFiles(t *testing.T) {
	s := Store{filepath.Join(t.TempDir(), "made", "below")}
	none, err := s.Read("weather", "sha256:1")
	require.NoError(t, err)
	require.Nil(t, none)

	require.NoError(t, s.Write("weather", "sha256:1", weather, []byte("key=a")))
	m, err := s.Read("weather", "sha256:1")
	require.NoError(t, err)
	require.True(t, proto.Equal(weather, m.Manifest))
	require.True(t, m.StartedUnder([]byte("key=a")))
	require.False(t, m.StartedUnder([]byte("key=b")))

	other, err := s.Read("weather", "sha256:2")
	require.NoError(t, err)
	require.Nil(t, other, "its files are not those any more")
}

// A setting may be a password: the file must not tell it, nor that two apps have the same one.
func TestFileTellsNoSetting(t *testing.T) {
	s := Store{t.TempDir()}
	read := func() []byte {
		raw, err := os.ReadFile(s.path("weather"))
		require.NoError(t, err)
		return raw
	}
	require.NoError(t, s.Write("weather", "sha256:1", weather, []byte("hunter2 and more")))
	first := read()
	require.NotContains(t, string(first), "hunter2")
	require.NoError(t, s.Write("weather", "sha256:1", weather, []byte("hunter2 and more")))
	require.Equal(t, first, read(), "nothing has changed, so nothing is written")
	require.NoError(t, s.Write("weather", "sha256:1", weather, []byte("other")))
	require.NoError(t, s.Write("weather", "sha256:1", weather, []byte("hunter2 and more")))
	require.NotEqual(t, first, read(), "another salt")
	info, err := os.Stat(s.path("weather"))
	require.NoError(t, err)
	require.Zero(t, info.Mode().Perm()&0o077)
}

func TestNothingIsKeptWithoutAFolder(t *testing.T) {
	require.NoError(t, Store{}.Write("weather", "sha256:1", weather, nil))
	m, err := Store{}.Read("weather", "sha256:1")
	require.NoError(t, err)
	require.Nil(t, m)
}

func FuzzParse(f *testing.F) {
	s := Store{f.TempDir()}
	require.NoError(f, s.Write("weather", "sha256:1", weather, []byte("a")))
	raw, err := os.ReadFile(s.path("weather"))
	require.NoError(f, err)
	for _, seed := range []string{string(raw), "", "{}", `{"format":1}`, `{"format":2,"manifest":"AA=="}`, `{"format":1,"manifest":"/w=="}`, "null"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, err := parse(raw)
		if m == nil {
			return
		}
		require.NoError(t, err)
		m.StartedUnder([]byte("a"))
		_, err = proto.Marshal(m.Manifest)
		require.NoError(t, err)
	})
}
