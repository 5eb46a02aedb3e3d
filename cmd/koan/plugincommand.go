package main

import (
	"github.com/spf13/cobra"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/plugins/manage"
)

// pluginCommand is what a person does with plugins beside a running app. It reads the configuration that lies in
// the app's folder, and is not the app: what it does not know there it leaves alone.
func pluginCommand(status *int) *cobra.Command {
	return &cobra.Command{
		Use:                "plugin COMMAND",
		Short:              "Write, check, run, add and upgrade plugins",
		DisableFlagParsing: true,
		RunE: func(_ *cobra.Command, args []string) error {
			app := framework.App{Name: "koan", Providers: []framework.Provider{&manage.Provider{}}}
			*status = framework.Run(app, append([]string{"plugin"}, args...))
			return nil
		},
	}
}
