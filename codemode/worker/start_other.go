//go:build !linux

package worker

const launcherMarker = "--koan-codemode-launcher=1"

func serveLauncher([]string) int { return exitBroken }
