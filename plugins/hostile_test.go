package plugins

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/tests/soak"
)

// hostileReasons are what `doctor` says of each hostile plugin that does not start.
var hostileReasons = map[string]string{
	// The start.
	"exits": "not a Koan plugin", "last-words": "its last words: [31mred ]0;title", "greets": "Welcome!", "silent": "timeout while waiting for plugin to start",
	"handshake-2": "ncompatible core API version", "contract-9": "refused: it does not speak the contract version of this app, 1", "netrpc": "not at unix /tmp/s",
	"tcp": "not at tcp 127.0.0.1:22", "elsewhere": "not at unix /run/docker.sock", "few-fields": "Unrecognized remote plugin message", "binary": "Unrecognized remote plugin message",
	"endless-line": " plugin", "no-such-net": "not at carrier-pigeon x", "closes-stdout": "timeout while waiting for plugin to start",
	"floods-stderr": "its last words: noise noise", "a-file": "is not a socket", "a-link": "is not a socket", "leaves-a-child": "not a Koan plugin",
	// Frames.
	"deaf-socket": "describing itself failed", "noise-on-socket": "http2: frame too large",
	// The description.
	"status": "code = DataLoss desc = [2Jno", "never": "describing itself failed", "dies": "describing itself failed",
	"other-domain": `its domain is "echo", but its file is named "h-other-domain"`, "long-domain": `its domain is "ddd`, "contract": "it speaks contract version 7",
	"no-functions": "it has no functions", "1001": "it has 1001 functions; 1000 are allowed", "2-mib": "its description has more than 1048576 bytes", "twice": `the function "call" is declared twice`,
	"proto": `the function name "__proto__" is not lower-case kebab`, "dots": `the function name "../../etc"`, "no-json": "it is not a JSON object", "a-list": `its type is "array"`,
	"remote": `no schema at "http://169.254.169.254/latest"`, "a-file-schema": "file:///etc/passwd", "bad-pattern": `the input schema of "call"`, "long-schema": "262144",
	"deep-schema": "nested more than 200 levels deep", "unfit-example": `the example of "call" does not fit`, "odd-example": `the example of "call" is not JSON`,
	"negative-time": `the timeout of "call" is negative, or more than 24h`, "eternal": `the timeout of "call" is negative, or more than 24h`,
	"our-code": `the fault code "approval_required"`, "any-need": `"*"`, "many-needs": "101", "many-metrics": "it has 51 metrics; 50 are allowed",
	"same-series": `the metric "hits_total"`, "fickle": "it tells other folders at each start",
	// Its settings.
	"configure-status": "it rejected its settings", "configure-never": "it rejected its settings",
}

// TestHostileStarts: what does not start, or describes itself as no plugin may, is named by its reason in a few words,
// and a good plugin beside it starts.
func TestHostileStarts(t *testing.T) {
	soak.Proof(t) // more than a minute of starts
	for kind := range hostileStarts {
		require.Contains(t, hostileReasons, kind)
	}
	for kind := range hostileManifests {
		require.True(t, kind == "escapes" || hostileReasons[kind] != "", kind)
	}
	all := slices.SortedFunc(maps.Keys(hostileReasons), func(a, b string) int { // those that take the whole time together
		return cmp.Or(strings.Compare(hostileReasons[a], hostileReasons[b]), strings.Compare(a, b))
	})
	for kinds := range slices.Chunk(all, 8) { // more would be a test of the machine
		var names []string
		for _, kind := range kinds {
			names = append(names, hostilePrefix+kind)
		}
		host := &testHost{values: values{"plugins.dir": pluginsDir(t, append(names, "echo")...)}, log: &syncBuffer{}}
		b := &bench{t: t, host: host, provider: Provide(Options{StartTimeout: 5 * time.Second}), engine: run.NewEngine(run.Options{})}
		require.NoError(t, b.provider.Start(t.Context(), host))
		require.Eventually(t, func() bool {
			_, err := b.say(echoIn{})
			return err == nil
		}, 20*time.Second, 50*time.Millisecond)
		for _, kind := range kinds {
			var check catalog.Check
			named := func() bool { // it may be among those that nobody waits for
				for _, pl := range b.provider.offering() {
					if pl.name == hostilePrefix+kind {
						check = pl.check()
					}
				}
				return strings.Contains(check.Detail, hostileReasons[kind])
			}
			for end := time.Now().Add(20 * time.Second); !named() && time.Now().Before(end); {
				time.Sleep(100 * time.Millisecond)
			}
			require.Contains(t, check.Detail, hostileReasons[kind], kind)
			require.False(t, check.OK, kind)
			require.Less(t, len(check.Detail), 4<<10, kind)
			require.NotContains(t, check.Detail, "\x1b", kind)
		}
		require.NoError(t, b.provider.Stop(context.Background()))
	}
}

// TestHostileWords: a plugin that starts may say of itself what it likes, and a terminal obeys none of it.
func TestHostileWords(t *testing.T) {
	t.Parallel()
	b := start(t, pluginsDir(t, "h-escapes"), nil)
	check := b.provider.Checks(t.Context())[1]
	require.True(t, check.OK, check.Detail)
	require.Contains(t, check.Detail, "version ]0;x 1,")
	require.Contains(t, check.Detail, ": [2J clear")
}

// hostileOutcomes are what callers get of hostile functions: a fault's code, and a part of its message. The last ones
// cost the process its life.
var hostileOutcomes = []struct {
	do   string
	code fault.Code
	says string
}{
	{"well", "", ""},
	// Frames.
	{"no JSON", fault.ExecutionError, "its output is not JSON"},
	{"unfit", fault.ExecutionError, "its output does not match its schema"},
	{"too large", fault.CallTooLarge, "the output has 5242888 bytes; 4194304 are allowed"},
	{"huge message", fault.CallTooLarge, "the plugin's message is larger than allowed"},
	{"nothing", fault.ExecutionError, "without an output or a fault"},
	{"empty event", fault.ExecutionError, "without an output or a fault"},
	{"status", fault.ExecutionError, "the status Unauthenticated"},
	{"endless part", fault.CallTooLarge, "the output has 1152921504606846976 bytes"},
	{"no part", fault.ExecutionError, "the parts of its output do not fit together"},
	{"late part", fault.ExecutionError, "the parts of its output do not fit together"},
	{"two outputs", "", ""},
	{"asks", fault.ExecutionError, "in a call in which nobody listens"},
	{"progress", "", ""},
	// Faults.
	{"our fault", fault.ExecutionError, "a fault with the code approval_required"},
	{"no fault", fault.ExecutionError, "a fault that cannot be read"},
	{"long fault", fault.NotFound, "mmm"},
	{"deep fault", fault.ExecutionError, "a fault that cannot be read"},
	// What it measures.
	{"strange metric", fault.ExecutionError, "which is not among its metrics"},
	{"no number", fault.ExecutionError, "the metric hits cannot have the value NaN"},
	{"backward span", fault.ExecutionError, "ends before it begins"},
	// Standard output, files, processes and the network.
	{"floods stdout", "", ""},
	{"home", fault.NotFound, "refused: open /root: no such file"},
	{"passwords", fault.NotFound, "refused: open /etc/shadow: no such file"},
	{"own file", fault.NotFound, "refused: "},
	{"traces", fault.NotFound, "operation not permitted"},
	{"mounts", fault.NotFound, "operation not permitted"},
	{"network", fault.NotFound, "network is unreachable"},
	{"fills tmp", fault.NotFound, "no space left on device"},
	{"kills all", "", ""}, // which the first process of its jail does not hear
	{"never", fault.ToolTimeout, "did not finish in 8s"},
	{"forks", fault.PluginUnavailable, "died in the middle of the call"},
	{"dies", fault.PluginUnavailable, "died in the middle of the call"},
}

// TestHostileCalls: whatever a function does, its caller gets a fault that names it, of a bounded length, and the next
// call is made.
func TestHostileCalls(t *testing.T) {
	b := start(t, pluginsDir(t, "h-calls", "echo"), values{"plugins.h-calls.timeoutMs": "8000", "plugins.h-calls.isolation": confined, "plugins.h-calls.memoryMb": "4096"})
	require.Len(t, hostileOutcomes, len(hostileCalls))
	for _, c := range hostileOutcomes {
		t.Run(c.do, func(t *testing.T) {
			_, err := b.invoke(t.Context(), "h-calls", "call", map[string]any{"do": c.do})
			if c.code == "" {
				require.NoError(t, err)
			} else {
				f := fault.From(err)
				require.Equal(t, c.code, f.Code, "%v", err)
				require.Contains(t, f.Message, c.says)
				require.Less(t, len(f.Message), 9<<10)
				details, err := json.Marshal(f.Details)
				require.NoError(t, err)
				require.Less(t, len(details), 64<<10)
			}
			require.Eventually(t, func() bool {
				_, err := b.invoke(t.Context(), "h-calls", "call", map[string]any{"do": "well"})
				return err == nil
			}, 20*time.Second, 50*time.Millisecond)
		})
	}
	require.Contains(t, b.host.log.String(), "processes and may be 256; it is replaced")
	_, err := b.say(echoIn{})
	require.NoError(t, err)
	require.Contains(t, b.provider.Checks(t.Context())[1].Detail, "restarts: 0", "of the plugin beside it")
	require.Less(t, len(b.host.log.String()), 2<<20)
}
