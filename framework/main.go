package framework

import (
	"context"
	"os"

	"github.com/koan-go/koan/framework/cli"
	"github.com/koan-go/koan/framework/config"
)

// Main runs an app's command line and never returns: serve, run, validate, sdk,
// tools, doctor. It exits with 0 on success, 1 on a failed run, 2 on wrong use
// (CONTRACT section 1).
func Main(app App) { os.Exit(Run(app, os.Args[1:])) }

// Run is Main for a program that has its own exit: it gives the status.
func Run(app App, args []string) int {
	if app.Version == "" {
		app.Version = buildVersion()
	}
	return cli.Main(cli.App{
		Name: app.Name, Version: app.Version, Description: app.Description, Settings: app.Settings(),
		Boot: func(ctx context.Context, src config.Source) (cli.Instance, error) {
			i, err := New(ctx, app, Options{Config: src})
			if err != nil {
				return nil, err
			}
			return i, nil
		},
	}, args)
}
