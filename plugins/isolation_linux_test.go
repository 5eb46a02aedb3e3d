package plugins

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/plugins/internal/jail"
	"github.com/koan-go/koan/plugins/internal/lock"
)

func TestPluginsAreConfined(t *testing.T) {
	t.Parallel()
	secret := filepath.Join(t.TempDir(), "data.db")
	require.NoError(t, os.WriteFile(secret, []byte("everything"), 0o644))
	b := start(t, pluginsDir(t, "echo"), nil)
	for _, path := range []string{secret, "/etc/passwd", "/proc/" + strconv.Itoa(os.Getpid()) + "/environ"} {
		_, err := b.say(echoIn{Do: "read", Text: path})
		require.Equal(t, fault.ExecutionError, fault.CodeOf(err), path)
	}
	require.Contains(t, b.provider.Checks(t.Context())[1].Detail, ", confined, pid ")

	trusting := start(t, pluginsDir(t, "echo"), values{"plugins.echo.isolation": "trusted"})
	out, err := trusting.say(echoIn{Do: "read", Text: secret})
	require.NoError(t, err)
	require.Equal(t, "everything", out.Text)
	require.Contains(t, trusting.provider.Checks(t.Context())[1].Detail, ", trusted, pid ")
}

func TestConfinedPluginsReachTheirHosts(t *testing.T) {
	t.Parallel()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte("sunny")) }))
	defer web.Close()
	host := web.Listener.Addr().String()
	b := start(t, pluginsDir(t, "echo"), nil)
	out, err := b.say(echoIn{Do: "get", Text: web.URL})
	require.NoError(t, err)
	require.NotContains(t, out.Text, "sunny")

	b = start(t, pluginsDir(t, "echo"), values{"plugins.echo.hosts": "[" + host + "]"})
	out, err = b.say(echoIn{Do: "get", Text: web.URL})
	require.NoError(t, err)
	require.Equal(t, "200 sunny <nil>", out.Text)
	out, err = b.say(echoIn{Do: "get", Text: "http://weather.example"})
	require.NoError(t, err)
	require.Equal(t, "403 weather.example:80 is not in plugins.echo.hosts of the app's configuration\n <nil>", out.Text)
}

func TestConfinedPluginsReadWhatTheyMay(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "photo"), []byte("milk"), 0o644))
	here, err := os.Getwd()
	require.NoError(t, err)
	relative, err := filepath.Rel(here, folder)
	require.NoError(t, err)
	b := start(t, pluginsDir(t, "echo"), values{"plugins.echo.read": "[" + relative + "]"})
	for _, path := range []string{filepath.Join(folder, "photo"), filepath.Join(relative, "photo")} {
		out, err := b.say(echoIn{Do: "read", Text: path})
		require.NoError(t, err)
		require.Equal(t, "milk", out.Text)
	}
}

func TestAPluginThatHoldsTooMuchIsReplaced(t *testing.T) {
	t.Parallel()
	for _, isolation := range []string{"confined", "trusted"} {
		b := start(t, pluginsDir(t, "echo"), values{"plugins.echo.isolation": isolation, "plugins.echo.memoryMb": "400"}) // the race detector takes a part of it
		first, err := b.say(echoIn{})
		require.NoError(t, err)
		_, err = b.say(echoIn{Do: "hoard", Text: "stay", Size: 450 << 20})
		require.Equal(t, fault.PluginUnavailable, fault.CodeOf(err))
		require.Regexp(t, `the plugin echo died in the middle of the call: it was ended because it holds \d+ MB and may hold 400 \(memoryMb\)`, err.Error())
		require.Contains(t, fault.From(err).Hint, "plugins.echo.memoryMb")
		require.Eventually(t, func() bool {
			out, err := b.say(echoIn{})
			return err == nil && out.Pid != first.Pid
		}, 20*time.Second, 50*time.Millisecond)
		require.Contains(t, b.host.log.String(), "MB and may hold 400 (memoryMb)")
	}
}

func TestAPluginThatFillsTheDiskIsReplaced(t *testing.T) {
	t.Parallel()
	b := start(t, pluginsDir(t, "echo"), nil)
	first, err := b.say(echoIn{})
	require.NoError(t, err)
	_, err = b.say(echoIn{Do: "fill", Size: 2 << 20})
	if err != nil {
		require.Equal(t, fault.PluginUnavailable, fault.CodeOf(err))
	}
	require.Eventually(t, func() bool {
		out, err := b.say(echoIn{})
		return err == nil && out.Pid != first.Pid
	}, 20*time.Second, 50*time.Millisecond)
	require.Contains(t, b.host.log.String(), "MB into the folder of its socket; it is replaced")
}

func TestAConfinedPluginListensWhereItMay(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	p := &place{jail: &jail.Jail{}, shared: folder}
	l, err := net.Listen("unix", filepath.Join(folder, "s"))
	require.NoError(t, err)
	defer l.Close()
	require.NoError(t, os.Symlink(filepath.Join(folder, "s"), filepath.Join(folder, "link")))
	require.NoError(t, p.checkAddress("unix", filepath.Join(folder, "s")))
	require.NoError(t, (&place{}).checkAddress("tcp", "127.0.0.1:1"))
	for network, addresses := range map[string][]string{"tcp": {"127.0.0.1:1"}, "unix": {"/run/docker.sock", filepath.Join(folder, "link"), filepath.Join(folder, "missing"), filepath.Join(folder, "..", "s")}} {
		for _, addr := range addresses {
			require.Error(t, p.checkAddress(network, addr), addr)
		}
	}
}

func TestWrongIsolationIsRefused(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{
		"isolation=none":              "plugins.echo.isolation must be confined or trusted",
		"memoryMb=0":                  "plugins.echo.memoryMb must be a whole number from 1 to 1048576 (MB)",
		"hosts=api.weather.example":   `plugins.echo.hosts must be a list of host:port: "api.weather.example" is not host:port, such as api.weather.example:443`,
		"read=/no/such/folder":        "plugins.echo.read: lstat /no: no such file or directory",
		"grants=[Todo.patch]":         `plugins.echo.grants must be ids of operations, such as koan::Todo.patch, or patterns such as upstream::mail::*, not "Todo.patch"`,
		"grants=code::koan.execute":   `not "code::koan.execute"`,
		"hosts=[https://weather:443]": `"https://weather:443" is not host:port`,
	} {
		name, value, _ := strings.Cut(key, "=") // at the first one
		host := &testHost{values: values{"plugins.dir": pluginsDir(t, "echo"), "plugins.echo." + name: value}, log: &syncBuffer{}}
		p := Provide(Options{})
		require.ErrorContains(t, p.Start(t.Context(), host), want)
		require.NoError(t, p.Stop(t.Context()))
	}
}

// The start that asks first may end before there is an answer: that says nothing about the machine.
func TestJailsAreFoundWhoeverAsks(t *testing.T) {
	t.Parallel()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	var on jails
	require.NoError(t, on.check(ended))
}

// Where the system has no jails, a plugin that must have one does not start, and one of which nothing is said
// starts with a warning.
func TestASystemWithoutJails(t *testing.T) {
	t.Parallel()
	b := start(t, pluginsDir(t), nil)
	var without jails
	without.once.Do(func() { without.missing = os.ErrPermission })
	c := newConfiguration("x", &lock.File{})
	pl := newPlugin(executable{name: "echo"}, c, b.provider)
	p, err := newPlace(t.Context(), pl, t.TempDir(), &without)
	require.NoError(t, err)
	require.Equal(t, "not confined (permission denied)", p.String())
	require.Contains(t, b.host.log.String(), "the plugin is not confined")
	c.isolation.Mode = confined
	_, err = newPlace(t.Context(), pl, t.TempDir(), &without)
	require.ErrorContains(t, err, "plugins.echo.isolation: plugins cannot be confined on this system: permission denied")
}
