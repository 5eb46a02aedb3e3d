// Package userdata knows where a user's programs keep their data.
//
// What belongs here: the folder by the XDG specification. Not here: what is kept there.
package userdata

import (
	"os"
	"path/filepath"
)

// Home returns $XDG_DATA_HOME, or its default.
func Home() (string, error) {
	if data := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(data) { // what is relative is to be ignored
		return data, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(home, ".local", "share"), nil
}
