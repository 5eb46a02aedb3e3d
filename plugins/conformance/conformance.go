// Package conformance starts a plugin's executable as an app does, and checks it against the plugin protocol
// (docs/reference/plugin-protocol.md): `koan plugin check` and the tests of the kits.
//
// What belongs here: what an author can learn about a plugin without an app. Not here: a rule
// that apps do not have. They are those of package plugins, which this one asks.
package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"
	"time"

	"google.golang.org/grpc"

	"github.com/koan-go/koan/plugins"
	"github.com/koan-go/koan/plugins/internal/wire"
)

// Options say how a plugin is checked. The zero value checks it without settings, and calls read-only functions
// that have an example.
type Options struct {
	// Keys are those below plugins.<domain> of an app's configuration: "settings.city", "hosts", "isolation".
	Keys map[string]string
	// Inputs are inputs to call functions with, by the functions' names, besides their examples. What is named here
	// is called whatever its effects are.
	Inputs map[string]json.RawMessage
	// StartTimeout bounds the start; 0 is 10 s.
	StartTimeout time.Duration
	// CallTimeout bounds each call; 0 is 30 s.
	CallTimeout time.Duration
	// Log gets what an app's log would have; it may be nil.
	Log slog.Handler
}

// Finding is the result of one check.
type Finding struct {
	Name   string `json:"name"` // of the check, in lower case: "handshake"
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`         // what was seen
	Hint   string `json:"hint,omitempty"` // what to do about it; also where OK, as advice
}

// Passed reports whether all findings are OK.
func Passed(all []Finding) bool {
	for _, f := range all {
		if !f.OK {
			return false
		}
	}
	return len(all) > 0
}

// Check starts the plugin at a path, which names its executable or its folder, checks it, and ends it. A check that
// depends on one that has failed is left out. It ends early with ctx.
func Check(ctx context.Context, path string, o Options) []Finding {
	if o.CallTimeout == 0 {
		o.CallTimeout = 30 * time.Second
	}
	c := &checker{session: session{opts: o}, log: &recorder{to: o.Log, counts: &counts{entries: map[slog.Level]int{}, plain: map[string]int{}}}}
	c.run(ctx, path)
	return c.findings
}

// checker is one check of one plugin.
type checker struct {
	report
	session
	log *recorder
}

// session is the process that is checked, and what was seen of it.
type session struct {
	opts      Options
	single    *plugins.Single
	manifest  *wire.Manifest
	collected collected
}

// report is what was found.
type report struct{ findings []Finding }

func (r *report) ok(name, format string, args ...any) {
	r.findings = append(r.findings, Finding{Name: name, OK: true, Detail: fmt.Sprintf(format, args...)})
}

func (r *report) fail(name, hint, format string, args ...any) {
	r.findings = append(r.findings, Finding{Name: name, Detail: fmt.Sprintf(format, args...), Hint: hint})
}

// judge is ok without problems, and else fails with all of them.
func (r *report) judge(name, hint string, problems []string, format string, args ...any) {
	if len(problems) == 0 {
		r.ok(name, format, args...)
		return
	}
	r.fail(name, hint, "%s", strings.Join(problems, "; "))
}

func (c *checker) run(ctx context.Context, path string) {
	if !c.start(ctx, path) {
		return
	}
	defer c.end()
	if !c.describe(ctx) || !c.admit(ctx) {
		return
	}
	c.health(ctx)
	c.calls(ctx)
}

// start starts the process and makes the handshake.
func (c *checker) start(ctx context.Context, path string) bool {
	began := time.Now()
	single, err := plugins.StartSingle(ctx, path, plugins.SingleOptions{
		Keys: c.opts.Keys, Log: slog.New(c.log), App: "koan", Version: "check", StartTimeout: c.opts.StartTimeout,
	})
	if err != nil {
		c.fail("handshake", handshakeHint(err), "%s", err)
		return false
	}
	c.single = single
	c.ok("handshake", "in %d ms; the process is %s", time.Since(began).Milliseconds(), single.Isolation())
	return true
}

// handshakeHint is what to do about a start that has failed.
func handshakeHint(err error) string {
	switch text := err.Error(); {
	case errors.Is(err, fs.ErrNotExist):
		return "Name the plugin that was built, such as bin/plugins/NAME: `make build`, or `go build -o bin/plugins/NAME ./plugins/NAME`."
	case strings.Contains(text, "contract version"):
		return fmt.Sprintf("Answer with the contract version that is in PLUGIN_PROTOCOL_VERSIONS: %d.", wire.ContractVersion)
	case strings.Contains(text, "Unrecognized remote plugin message"), strings.Contains(text, "not understood"):
		return "Print nothing to standard output before the handshake line, which is 1|1|unix|PATH|grpc."
	case strings.Contains(text, "timeout while"):
		return "Print the handshake line and its newline, and flush it, as soon as the socket listens."
	case strings.Contains(text, "listens in the folder"):
		return "Listen at a Unix socket in the folder that PLUGIN_UNIX_SOCKET_DIR names."
	case strings.Contains(text, "kebab"), strings.Contains(text, "reserved"), strings.Contains(text, "executable"), strings.Contains(text, "regular file"):
		return "Name an executable file, or its folder, by the plugin's domain in lower-case kebab."
	}
	return "Its last words are in the message; see the reference of the protocol for what it has to print."
}

// describe asks the plugin for its manifest, twice: that has no effects, and the answers are the same.
func (c *checker) describe(ctx context.Context) bool {
	first, err := c.describeOnce(ctx)
	if err != nil {
		c.fail("describe", "Serve koan.plugin.v1.Plugin/Describe; a manifest has at most 1 MiB.", "%s", err)
		return false
	}
	c.manifest = first
	second, err := c.describeOnce(ctx)
	switch {
	case err != nil:
		c.fail("describe", "Describe may be asked more than once.", "the second time: %s", err)
		return false
	case !sameManifest(first, second):
		c.fail("describe", "Return the same manifest each time.", "two manifests of one process differ")
	default:
		c.ok("describe", "version %q, functions: %d", first.GetVersion(), len(first.GetFunctions()))
	}
	if v := first.GetContractVersion(); v != wire.ContractVersion {
		c.fail("contract version", "Set contract_version to that of plugin.proto which the code is made from.", "the manifest says %d; this is %d", v, wire.ContractVersion)
	} else {
		c.ok("contract version", "%d", v)
	}
	if d := first.GetDomain(); d != c.single.Name() {
		c.fail("domain", "Name the file as the domain, or change the domain.", "the domain is %q, and the file is named %q", d, c.single.Name())
	} else {
		c.ok("domain", "%s", d)
	}
	return true
}

func (s *session) describeOnce(ctx context.Context) (*wire.Manifest, error) {
	ctx, cancel := context.WithTimeout(ctx, s.opts.CallTimeout)
	defer cancel()
	return s.client().Describe(ctx, &wire.DescribeRequest{App: "koan", AppVersion: "check"}, grpc.MaxCallRecvMsgSize(2*wire.MaxManifestBytes))
}

// client is the plugin's service.
func (s *session) client() wire.PluginClient { return wire.NewPluginClient(s.single.Conn()) }

// admit has the plugin checked and configured as an app does.
func (c *checker) admit(ctx context.Context) bool {
	err := c.single.Admit(ctx)
	switch {
	case errors.Is(err, plugins.ErrRefused):
		c.fail("manifest", "An app refuses the plugin; correct what the message names.", "%s", err)
		return false
	case err != nil:
		c.ok("manifest", "an app takes it")
		c.fail("settings", "Give the settings that the plugin needs, or have its Configure take its defaults.", "%s", err)
		return false
	}
	c.ok("manifest", "an app takes it")
	c.adviseOnManifest()
	c.ok("settings", "%d declared; Configure has taken them", len(c.manifest.GetSettings()))
	return true
}

// end ends the process, and looks at what it has printed.
func (c *checker) end() {
	began := time.Now()
	how, inTime := c.single.Stop()
	const hint = "End on plugin.GRPCController/Shutdown, or on SIGTERM where the process does not serve that, within 3 s."
	switch {
	case !inTime:
		c.fail("end", hint, "it had to be killed")
	case how != "" && how != "exit status 0":
		c.findings = append(c.findings, Finding{Name: "end", OK: true, Detail: fmt.Sprintf("in %d ms, with %s", time.Since(began).Milliseconds(), how), Hint: "A plugin that was asked to end exits with status 0."})
	default:
		c.ok("end", "in %d ms", time.Since(began).Milliseconds())
	}
	c.output()
}
