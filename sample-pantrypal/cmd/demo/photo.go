package main

import (
	"fmt"
	"image"
	_ "image/jpeg" // what the vision plugin reads
	_ "image/png"
	"os"
	"path/filepath"

	_ "golang.org/x/image/webp"
)

// findPhoto returns a photo's absolute path, or says why it cannot be one. It looks
// at the head of the file only: what is broken further on, the plugin finds.
func findPhoto(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(abs)
	switch {
	case os.IsNotExist(err):
		return "", fmt.Errorf("there is no photo at %s", path)
	case err != nil:
		return "", fmt.Errorf("the photo cannot be read: %w", err)
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("%s is not a file", path)
	}
	f, err := os.Open(abs)
	if err != nil {
		return "", fmt.Errorf("the photo cannot be read: %w", err)
	}
	defer f.Close()
	if _, _, err := image.DecodeConfig(f); err != nil {
		return "", fmt.Errorf("%s is not a JPEG, PNG or WebP picture that can be read: %w", path, err)
	}
	return abs, nil
}
