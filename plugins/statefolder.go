package plugins

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

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
	if why := stateExcess(dir, &p.configured.isolation); why != "" {
		return errors.New("it " + why + "; it starts once there is room")
	}
	p.stateDir = dir
	if proc.place.jail != nil && proc.place.state != dir {
		return errMoreFolders
	}
	return nil
}

// stateExcess says that the folder of a plugin's state holds more than it may, "" where it does not.
func stateExcess(dir string, i *isolation) string {
	if dir == "" {
		return ""
	}
	if n, most := bytesIn(dir), i.stateBytes(); n > most {
		return fmt.Sprintf("has %d MB in the folder of its state and may have %d (stateMb)", n>>20, most>>20)
	}
	return ""
}

// stateInterval is how often is looked at the folder of a plugin's state, which may have many files.
const stateInterval = 5 * time.Second

// watchState ends the process when it has written more into the folder of its state than that may hold.
func (p *process) watchState(dir string, i *isolation, log *slog.Logger) {
	if dir == "" {
		return
	}
	tick := time.NewTicker(stateInterval)
	defer tick.Stop()
	for {
		select {
		case <-p.child.exited:
			return
		case <-p.gone:
			return
		case <-tick.C:
			if why := stateExcess(dir, i); why != "" {
				log.Error("the plugin " + why + "; it is stopped until there is room")
				p.kill()
				return
			}
		}
	}
}
