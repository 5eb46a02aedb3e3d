// Package upstream makes other MCP servers into providers (CONTRACT section 8, DESIGN
// section 8): their tools are operations that scripts call, like all others.
//
// What belongs here: connecting to servers, listing and calling their tools, and mapping
// their failures to faults. Not here: trust. A server's descriptions, schemas and
// results are untrusted data, which is bounded and checked.
package upstream

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
)

const (
	settingsKey   = "upstreams"
	clientFileKey = "mcp-config"
)

// Provider is the catalog's provider of the tools of other servers.
type Provider struct {
	host    catalog.Host
	servers []*server
	leftOut []Config           // entries of the client's file that are none
	secrets catalog.SecretList // of the configurations of all servers
	tokens  catalog.SecretList // of all who are signed in
	cancel  context.CancelFunc

	mu      sync.Mutex
	offered bool // Start has returned: changes are to be reported
}

var (
	_ catalog.Provider     = (*Provider)(nil)
	_ catalog.Configurable = (*Provider)(nil)
	_ catalog.Checker      = (*Provider)(nil)
	_ catalog.Commander    = (*Provider)(nil)
	_ catalog.SecretHolder = (*Provider)(nil)
)

// Provide makes the provider. It has the servers of the keys upstreams.<id> and of the
// file of mcp-config.
func Provide() *Provider { return &Provider{} }

// Name is "upstreams".
func (*Provider) Name() string { return settingsKey }

// Settings are the servers, and a client's file that has more.
func (*Provider) Settings() []catalog.Setting {
	return []catalog.Setting{
		{Key: settingsKey, Open: true, CheckKey: checkKey, CheckAll: checkTogether, Help: "another MCP server: upstreams.<id>.command or upstreams.<id>.url, and more (docs/howto/upstreams.md)"},
		{Key: clientFileKey, Default: "", Help: "a file of Claude, Cursor or VS Code with `mcpServers`, or Codex's config.toml, whose servers are offered as well"},
	}
}

// configured reads the configuration. The error lists all problems, and is wrong use.
func configured(v catalog.Values) ([]Config, error) {
	out, err := readConfigs(v)
	if err != nil {
		return nil, fault.New(fault.InvalidPayload, err.Error()).WithHint("Correct the file of --%s, or the keys %s.", clientFileKey, settingsKey)
	}
	return out, nil
}

func readConfigs(v catalog.Values) ([]Config, error) {
	keys, wrong := parseKeys(v.Under(settingsKey))
	out, err := withClientFile(v, keys)
	return out, errors.Join(wrong, err)
}

// checkTogether reports what is wrong beside single keys, which checkKey checks.
func checkTogether(v catalog.Values) error {
	keys, _ := parseKeys(v.Under(settingsKey))
	_, err := withClientFile(v, keys)
	return err
}

// withClientFile joins the servers of the keys with those of the client's file, if one is
// named.
func withClientFile(v catalog.Values, keys []Config) ([]Config, error) {
	path := v.String(clientFileKey)
	if path == "" {
		return join(keys, nil)
	}
	file, wrong := readClientFile(path)
	if file == nil {
		return nil, fmt.Errorf("%s: %w", clientFileKey, wrong)
	}
	return join(keys, file)
}

// Start reads the configuration and the cached listings. It does not wait for servers: they are connected
// in the background.
func (p *Provider) Start(ctx context.Context, host catalog.Host) error {
	p.host = host
	all, err := configured(host.Settings())
	if err != nil {
		return err
	}
	configs, leftOut := apart(all)
	p.leftOut = leftOut
	for _, c := range leftOut {
		if c.off != "" {
			host.Log().Info("an entry of the client's file is switched off", "entry", c.label(), "what", c.off)
			continue
		}
		host.Log().Warn("an entry of the client's file is left out", "entry", c.label(), "error", c.wrong, "hint", renameHint)
	}
	kept, users := &cache{dir: cacheDir(host)}, newPeople(host, configs, &p.tokens)
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	p.cancel = cancel
	for _, c := range configs {
		if c.wrong != nil {
			host.Log().Warn("an entry of the client's file is left out", "upstream", c.ID, "error", c.wrong)
		}
		if c.shared != "" {
			host.Log().Info("the name of an entry of the client's file comes to the id of another one", "entry", shownName(c.name), "what", c.shared)
		}
		if len(c.notes) > 0 {
			host.Log().Info("keys of an entry of the client's file are not followed", "upstream", c.ID, "keys", c.notes)
		}
		s := newServer(life, c, host, kept, users, p.changed)
		s.known = &p.secrets
		if r, err := c.resolve(); err == nil { // else its first call says why not
			s.known.Add(r.hidden...)
		}
		l, err := kept.read(&c)
		if err != nil {
			host.Log().Warn("what is kept of an upstream server cannot be read", "upstream", c.ID, "error", err)
		}
		if l != nil {
			s.take(l, false)
		}
		go s.discover()
		p.servers = append(p.servers, s)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.offered = true
	return nil
}

// cacheDir is where listings are kept, "" if they are not.
func cacheDir(host catalog.Host) string {
	if host.Testing() {
		return ""
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		host.Log().Warn("there is no folder to keep the tools of upstream servers in", "error", err)
		return ""
	}
	return filepath.Join(dir, "koan", host.App(), "upstreams")
}

// Secrets implements catalog.SecretHolder.
func (p *Provider) Secrets() []string {
	return slices.Concat(p.secrets.Secrets(), p.tokens.Secrets())
}

func (p *Provider) changed() {
	p.mu.Lock()
	offered := p.offered
	p.mu.Unlock()
	if offered {
		p.host.Changed()
	}
}

// Offer returns the tools of all servers, by their latest listings.
func (p *Provider) Offer() catalog.Offer {
	var o catalog.Offer
	for _, s := range p.servers {
		known := s.current()
		if known == nil {
			o.Operations = append(o.Operations, operations{s}.late())
			o.Owners = append(o.Owners, &catalog.Owner{Kind: catalog.KindUpstream, Name: s.cfg.ID, Description: "The MCP server " + s.cfg.ID + ", whose tools are not known yet.", Trouble: s.trouble})
			continue
		}
		o.Operations = append(o.Operations, known.operations...)
		o.Owners = append(o.Owners, known.owner)
	}
	return o
}

// Stop ends all connections.
func (p *Provider) Stop(context.Context) error {
	if p.cancel == nil {
		return nil
	}
	p.mu.Lock()
	p.offered = false
	p.mu.Unlock()
	var all sync.WaitGroup
	for _, s := range p.servers {
		all.Go(s.close)
	}
	p.cancel()
	all.Wait()
	return nil
}
