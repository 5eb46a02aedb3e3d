package rest

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
)

var shellBlock = regexp.MustCompile("(?ms)^```sh\n(.*?)^```$")

// The commands of the documentation work as they are typed.
func TestCommandsOfTheDocumentation(t *testing.T) {
	t.Parallel()
	for page, least := range map[string]int{"../../docs/howto/rest.md": 5, "../../README.md": 1} {
		s := serve(t, pantryPal(), framework.HTTPOptions{})
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		var script strings.Builder
		script.WriteString("set -eu -o pipefail\n")
		blocks, lines := 0, 0
		for _, block := range shellBlock.FindAllStringSubmatch(string(text), -1) {
			if !strings.Contains(block[1], "curl ") || !strings.Contains(block[1], "127.0.0.1:8080") {
				continue
			}
			blocks++
			for _, line := range strings.Split(strings.TrimSpace(block[1]), "\n") {
				if strings.HasPrefix(line, "bin/") { // starts the server
					continue
				}
				script.WriteString("echo; echo '=== '\n" + line + "\n")
				lines++
			}
		}
		require.GreaterOrEqual(t, blocks, least)
		out, err := exec.Command("bash", "-c", strings.ReplaceAll(script.String(), "http://127.0.0.1:8080", s.url)).CombinedOutput()
		require.NoError(t, err, "%s", out)
		parts := strings.Split(string(out), "=== ")[1:]
		require.Len(t, parts, lines)
		require.NotContains(t, string(out), "urn:koan:fault", "%s", out)
		if page == "../../README.md" {
			require.Contains(t, parts[0], `"ok":true`)
			require.Regexp(t, `^\{"items":\[(\{"id":"[^"]+","name":"[^"]+","bestBefore":"\d{4}-\d\d-\d\d"\},?){3}\]`, strings.TrimSpace(parts[1]), "what expires first has a name and a date")
		}
		if page == "../../docs/howto/rest.md" {
			for _, text := range []string{`"name":"Sunday"`, `"name":"Monday"`, `"rows":[`, "event: progress", `"ready":true`, "Correct the named fields (PantryItem has no field \\\"nmae\\\"; did you mean \\\"name\\\"?)."} {
				require.Contains(t, string(out), text)
			}
		}
	}
}
