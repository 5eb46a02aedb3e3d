package upstream_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/koantest"
)

// A run that certainly needs a plan makes no more calls once what it has read is too much for one.
func TestPlansThatAreTooLargeAreRefusedAtOnce(t *testing.T) {
	t.Parallel()
	const reads = `let n = 0; for (let i = 0; i < 5; i++) { SDK.Servers.x.work({}); n++ } n`
	for mode, calls := range map[string]int{"always": 1, "destructive": 5} {
		t.Run(mode, func(t *testing.T) {
			settings := settingsOf(t, []row{{id: "x", mode: "sends many lines", settings: map[string]string{"effects.work": "read"}}})
			kit := koantest.New(t, framework.App{Name: "large", Ledger: true}, append(settings,
				koantest.Setting{Key: "database", Value: "sqlite://" + t.TempDir()}, koantest.Setting{Key: "approval.mode", Value: mode}, koantest.Setting{Key: "approval.maxPlanBytes", Value: "65536"})...)
			got := kit.Try(reads, koantest.Input{Include: []string{"calls"}})
			made := 0
			for _, c := range got.Calls {
				if c.OK {
					made++
				}
			}
			require.Equal(t, calls, made)
			require.Equal(t, mode == "destructive", got.Success, got.Error)
			if !got.Success {
				require.Equal(t, fault.ResultTooLarge, got.Error.Code)
				require.Contains(t, got.Error.Message, "without its changes the plan takes at least")
			}
		})
	}
}
