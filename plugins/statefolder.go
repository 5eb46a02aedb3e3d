package plugins

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/plugins/internal/userdata"
	"github.com/koan-go/koan/plugins/internal/wire"
)

// keyStateDir is the setting of the folder below which plugins keep their state.
const keyStateDir = "plugins.stateDir"

// stateFolder returns the folder in which a plugin keeps what is to stay, and makes it: below plugins.stateDir,
// else beside the app's data, else, where that is in a server of databases, in the user's folder of data.
func stateFolder(p *Provider, plugin string) (string, error) {
	dir, err := stateRoot(p.host, p.opts.Beside)
	if err == nil {
		dir = filepath.Join(dir, plugin)
		err = os.MkdirAll(dir, 0o700)
	}
	if err != nil {
		return "", fmt.Errorf("it keeps state, and there is no folder for that (%s): %w", keyStateDir, err)
	}
	return dir, nil
}

func stateRoot(host catalog.Host, beside func() string) (string, error) {
	if dir := host.Settings().String(keyStateDir); dir != "" {
		return filepath.Abs(dir)
	}
	if beside != nil {
		if dir := beside(); dir != "" {
			return filepath.Abs(filepath.Join(dir, "plugins"))
		}
	}
	home, err := userdata.Home()
	return filepath.Join(home, host.App(), "plugins"), err
}

// prepareState makes the folder of the state of a plugin that keeps some. It returns errMoreFolders if the
// process cannot write to it yet, since its jail was built without it.
func prepareState(p *plugin, proc *process, m *wire.Manifest) error {
	if !m.GetKeepsState() {
		p.stateDir = ""
		return nil
	}
	dir, err := stateFolder(p.provider, p.name)
	if err != nil {
		return err
	}
	p.stateDir = dir
	if proc.place.jail != nil && proc.place.state != dir {
		return errMoreFolders
	}
	return nil
}
