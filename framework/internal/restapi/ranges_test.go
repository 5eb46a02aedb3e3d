package restapi

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestFileRange(t *testing.T) {
	for header, want := range map[string]string{
		"": "", "bytes=0-1": "bytes=0-1", "Bytes=0-1": "bytes=0-1", "items=0-1": "", "items=-0": "", "seconds=a": "",
		"bytes=-0": "bytes=10-", "bytes=-00, -0": "bytes=10-", "bytes=-0,2-3": "bytes=2-3", "bytes=-01": "bytes=-01", "bytes": "", "some": "",
		"bytes=": "", "bytes=,": "", "bytes=-": "", "bytes=some": "", "bytes=0": "", "bytes=1-x": "", "bytes=x-1": "", "bytes=3-1": "", "bytes=0-1,3-1": "", "bytes=0-1,some": "", "bytes=--1": "", "bytes=+1-2": "",
		"bytes=0 - 1": "", "bytes=0-1-2": "", "bytes=0x1-2": "", "bytes=1.5-2": "", "bytes=１-２": "", "bytes= 0-1 ,, 2-3": "bytes=0-1,2-3", "bytes=3-03": "bytes=3-03",
		"bytes=10-": "bytes=10-", "bytes=99999999999999999999-": "bytes=10-", "bytes=4-99999999999999999999": "bytes=4-", "bytes=-99999999999999999999": "bytes=0-", "bytes=0-1,12-": "bytes=0-1",
	} {
		require.Equal(t, want, fileRange(header, 10), header)
	}
}

// No range of a file is sent as a part of no bytes.
func FuzzFileRange(f *testing.F) {
	for _, seed := range []string{"bytes=0-1", "bytes=-0", "items=1", "bytes=-0,-0,1-", "bytes=9-,-1", "bytes=-1", "BYTES = 1-2", ",", "=-0"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, header string) {
		for _, text := range []string{"0123456789", ""} {
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			if at := fileRange(header, int64(len(text))); at != "" {
				r.Header.Set("Range", at)
			}
			w := httptest.NewRecorder()
			http.ServeContent(w, r, "", time.Time{}, strings.NewReader(text))
			switch w.Code {
			case http.StatusOK:
				require.Equal(t, text, w.Body.String())
			case http.StatusPartialContent:
				require.NotEmpty(t, w.Body.Bytes())
			case http.StatusRequestedRangeNotSatisfiable:
			default:
				t.Fatalf("%q: status %d", header, w.Code)
			}
		}
	})
}
