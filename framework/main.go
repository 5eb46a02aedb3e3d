package framework

import (
	"cmp"
	"context"
	"os"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/internal/cli"
	"github.com/koan-go/koan/framework/internal/config"
	"github.com/koan-go/koan/plugins/upstream"
)

// Main runs an app's command line and never returns: serve, run, validate, sdk, tools,
// doctor, and the commands of providers. It exits with 0 on success, 1 on a failed run, 2
// on wrong use (CONTRACT section 1).
func Main(app App) { os.Exit(Run(app, os.Args[1:])) }

// Run is Main for a program that exits by itself: it returns the status.
func Run(app App, args []string) int {
	app = app.assemble()
	return cli.Main(cli.App{
		Name: app.Name, Command: cmp.Or(app.Command, app.Name), Version: app.Version, Description: app.Description, Settings: app.Settings(),
		Boot: func(ctx context.Context, src config.Source, how cli.Start) (cli.Instance, error) {
			i, err := New(ctx, app, Options{Config: Source(src), OneShot: how.OneShot, again: how.Again})
			if err != nil {
				return nil, err
			}
			return surfaces{i}, nil
		},
		Diagnose: func(ctx context.Context, src config.Source) ([]catalog.Check, error) {
			return diagnose(ctx, app, Options{Config: Source(src)})
		},
		Commands:  app.commands(),
		Configure: app.configure,
		Install:   cli.Install{Entry: app.Install.Name, ServeArgs: app.Install.Args, OwnEnv: app.Install.Env}, CheckServers: upstream.CheckClientFile,
	}, args)
}

// commands are the providers' own.
func (a App) commands() []*catalog.Command {
	var out []*catalog.Command
	for _, p := range a.parts {
		if c, ok := p.(catalog.Commander); ok {
			out = append(out, c.Commands()...)
		}
	}
	return out
}

// configure returns the host of commands that do not start the app. It has the
// configuration only.
func (a App) configure(src config.Source) (catalog.Host, error) {
	i, err := configured(a, Options{Config: Source(src)})
	if err != nil {
		return nil, err
	}
	return i.host("command"), nil
}
