package main

import (
	"flag"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/entities/entschema"
	"github.com/koan-go/koan/tests/scripttest"
)

var update = flag.Bool("update", false, "write what is printed now into the scripts")

func TestMain(m *testing.M) {
	entschema.Load()
	testscript.Main(m, map[string]func(){"koan": main, "weather": serveWeather})
}

// TestScripts runs the scripts of testdata, which may use this checkout as $KOAN_SRC.
func TestScripts(t *testing.T) {
	source, err := filepath.Abs(filepath.Join("..", ".."))
	require.NoError(t, err)
	built := weatherBuilds(t)
	testscript.Run(t, testscript.Params{
		Dir: "testdata", UpdateScripts: *update, RequireUniqueNames: true,
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){"status": scripttest.Status},
		Setup: func(env *testscript.Env) error {
			env.Setenv("KOAN_SRC", source)
			env.Setenv("PLUGINS", built)
			return nil
		},
	})
}
