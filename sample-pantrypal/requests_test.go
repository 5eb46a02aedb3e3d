package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/koantest"
)

var request = regexp.MustCompile("(?s)## ([0-9]+)\\. ([^\n]+)\n\n```js\n(.*?)\n```\n\nAnswer: `([^\n]*)`\n")

// Everyday requests are answered by one script each, at the first try and rightly. They run
// dry over one database, so that each finds the seeds.
func TestRequests(t *testing.T) {
	t.Parallel()
	const file = "testdata/requests.md"
	page, err := os.ReadFile(file)
	require.NoError(t, err)
	found := request.FindAllStringSubmatch(string(page), -1)
	require.Len(t, found, 47)
	k := open(t)
	k.sample("haul.png")
	for i, m := range found {
		require.Equal(t, fmt.Sprint(i+1), m[1])
		t.Run(m[1], func(t *testing.T) {
			r := k.Try(m[3], koantest.Input{DryRun: true})
			require.True(t, r.Success, "%s\n%s\n%+v", m[2], m[3], r.Error)
			if *update {
				var small bytes.Buffer
				require.NoError(t, json.Compact(&small, r.Result))
				page = bytes.Replace(page, []byte(m[0]), []byte("## "+m[1]+". "+m[2]+"\n\n```js\n"+m[3]+"\n```\n\nAnswer: `"+small.String()+"`\n"), 1)
				return
			}
			require.JSONEq(t, m[4], string(r.Result), m[2])
		})
	}
	if *update {
		require.NoError(t, os.WriteFile(file, page, 0o644))
	}
}
