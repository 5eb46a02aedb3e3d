package plugins

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// openFile is the error of a file or folder of a plugin that everybody may write to: whoever has an account on the
// machine could run as the app what they like.
type openFile struct{ path string }

func (o *openFile) Error() string {
	return fmt.Sprintf("it is not started: everybody may write to %s", o.path)
}

func (o *openFile) hint() string {
	return fmt.Sprintf("Look at what is there, and take that right away: chmod go-w %s", o.path)
}

// checkWritable returns an error for a plugin if everybody may write to its executable, or to a folder that has it.
func checkWritable(e executable) error {
	if runtime.GOOS == "windows" { // its modes do not say
		return nil
	}
	places := []string{e.path, filepath.Dir(e.path)}
	if e.folder != "" {
		places = append(places, filepath.Dir(e.folder))
	}
	if real, err := filepath.EvalSymlinks(e.path); err == nil && real != e.path {
		places = append(places, filepath.Dir(real))
	}
	for _, path := range places {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		if info.Mode().Perm()&0o002 != 0 {
			return &openFile{path}
		}
	}
	return nil
}
