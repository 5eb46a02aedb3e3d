package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/fault"
)

// A photo that was uploaded is read as one in the folder is.
func TestUploadedPhoto(t *testing.T) {
	t.Parallel()
	k := open(t)
	files, err := k.Instance().Files(auth.Local(), "create")
	require.NoError(t, err)
	upload := func(name string) string {
		raw, err := os.ReadFile(filepath.Join("testdata", name))
		require.NoError(t, err)
		f, err := files.Put(t.Context(), framework.Upload{Name: name, Set: "default", Owner: auth.Local().Subject, Body: bytes.NewReader(raw)})
		require.NoError(t, err)
		return f.ID
	}
	var out struct {
		PhotoID string
		Again   bool
		Lots    []struct{ Name string }
		Open    []struct{ Code string }
	}
	k.Action("haul", map[string]any{"file": upload("haul.png")}, &out)
	require.NotEmpty(t, out.Lots)
	require.Equal(t, "2000000000992", out.Open[0].Code)
	first := out.PhotoID
	k.Action("haul", map[string]any{"photo": k.sample("haul.png")}, &out)
	require.True(t, out.Again, "it is the same photo")
	require.Equal(t, first, out.PhotoID)

	_, err = k.TryAction("haul", map[string]any{"file": upload("broken.png")})
	require.Equal(t, fault.InvalidPayload, fault.CodeOf(err), "%v", err)
	_, err = k.TryAction("haul", map[string]any{"file": "file_00000000000000000000000000000000"})
	require.Equal(t, fault.NotFound, fault.CodeOf(err), "%v", err)
	text := value[int](k, `SDK.Vision.detect({base64: {$file: "`+upload("haul.png")+`"}}).detections.length`)
	require.Equal(t, text, value[int](k, `SDK.Vision.detect({file: {$file: "`+upload("haul.png")+`"}}).detections.length`), "its content in base64 is the same")
}
