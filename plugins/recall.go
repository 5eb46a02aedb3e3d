package plugins

import (
	"encoding/json"
	"path/filepath"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/plugins/internal/manifests"
	"github.com/koan-go/koan/plugins/internal/wire"
)

// keepManifests returns where manifests are kept: beside the plugins' state, and nowhere in tests.
func keepManifests(host catalog.Host, beside func() string) manifests.Store {
	if host.Testing() {
		return manifests.Store{}
	}
	dir, err := stateRoot(host, beside)
	if err != nil {
		host.Log().Warn("there is no folder to keep the descriptions of plugins in, so that each start waits for them", "error", err)
		return manifests.Store{}
	}
	return manifests.Store{Dir: filepath.Join(dir, ".manifests")} // no plugin has that name
}

// recall offers what the plugin said of itself when these files were last started with these settings, and reports
// whether it did. The process is started all the same, and what it says then counts. Whatever is wrong, the start
// finds and names it.
func recall(p *plugin) bool {
	if checkWritable(p.executable) != nil {
		return false
	}
	digest, err := p.provider.locks.check(p.executable)
	if err != nil {
		return false
	}
	of := digest()
	m, err := p.provider.kept.Read(p.name, of)
	if err != nil {
		p.log.Warn("what is kept of the plugin cannot be read", "error", err)
	}
	if m == nil || checkManifest(p.name, m.Manifest) != nil {
		return false
	}
	settings, secrets, err := settingsOf(p, m.Manifest)
	if err != nil || !m.StartedUnder(conditions(p, settings)) {
		return false
	}
	if m.GetKeepsState() {
		if p.stateDir, err = stateFolder(p.provider, p.name); err != nil {
			return false
		}
	}
	p.provider.secrets.Add(secrets...)
	p.folders = p.configured.foldersOf(m.Manifest, settings)
	p.update(func(s *state) {
		s.manifest, s.operations, s.digest = m.Manifest, operationsOf(p, m.Manifest), of
	})
	return true
}

// keep remembers what the plugin of a process has said, once it has taken its settings.
func keep(p *plugin, proc *process, m *wire.Manifest, settings map[string]string) {
	if err := p.provider.kept.Write(p.name, proc.digest, m, conditions(p, settings)); err != nil {
		p.log.Warn("the plugin's description cannot be kept; the next start waits for it", "error", err)
	}
}

// conditions are what a plugin may have gone by when it described itself and took its settings.
func conditions(p *plugin, settings map[string]string) []byte {
	raw, _ := json.Marshal([]any{p.provider.host.Version(), wire.ContractVersion, settings}) // texts and numbers always encode
	return raw
}

// settingsOf returns the settings of a plugin as it gets them, and which texts in them are secret.
func settingsOf(p *plugin, m *wire.Manifest) (settings map[string]string, secrets []string, err error) {
	written, err := checkSettings(p.name, m, p.configured.given)
	if err != nil {
		return nil, nil, err
	}
	return resolveSettings(p.name, m, written)
}
