package run_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exposure"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/journal"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/framework/run/record"
)

// TestLogLineOfFailures makes calls that are refused before a run, refused in one, and that fail: the log
// has one line for each, without the values of the input.
func TestLogLineOfFailures(t *testing.T) {
	broken, unavailable := catalog.PluginID("world", "broken"), catalog.PluginID("world", "unavailable")
	for name, c := range map[string]struct {
		id    catalog.ID
		as    []string // scopes
		input string
		level string // "" for no line
		code  fault.Code
	}{
		"success":                     {add, []string{auth.All}, `{"by":1}`, "", ""},
		"unknown operation":           {catalog.EntityID("Counter", "fly"), []string{auth.All}, `{}`, "INFO", fault.ToolNotFound},
		"missing scope":               {add, nil, `{"by":1}`, "INFO", fault.Forbidden},
		"wrong input":                 {add, []string{auth.All}, `{"by":"hush-4711"}`, "INFO", fault.InvalidPayload},
		"a failure of another server": {unavailable, []string{auth.All}, `{}`, "WARN", fault.UpstreamError},
		"a defect":                    {broken, []string{auth.All}, `{}`, "ERROR", fault.Internal},
		"panic":                       {catalog.PluginID("world", "panic"), []string{auth.All}, `{}`, "ERROR", fault.Internal},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			log := slog.New(slog.NewTextHandler(&out, nil))
			h := newHouse(t, run.Options{Log: log})
			h.engine.Join(record.New(record.Options{}).Add(journal.Log{Logger: log}))
			for id, err := range map[catalog.ID]error{broken: errors.New("bolt loose"), unavailable: fault.New(fault.UpstreamError, "hush-4711")} {
				h.add(t, &catalog.Operation{
					ID:       id,
					Contract: catalog.Contract{Input: json.RawMessage(`{}`), Output: json.RawMessage(`{}`)},
					Listing:  catalog.Listing{Reach: catalog.Everywhere},
					Work: catalog.Work{
						Handler: func(context.Context, catalog.Call) (json.RawMessage, error) {
							return nil, err
						},
					},
				})
			}
			p := auth.Principal{Subject: "alice", Scopes: c.as, Sets: []string{auth.All}}
			_, o, err := h.engine.Invoke(t.Context(), run.Request{
				View: h.view.Snapshot().View(p, exposure.Full, false), Principal: p, ID: c.id, Input: json.RawMessage(c.input),
			})
			require.Equal(t, c.code, fault.CodeOf(err))
			if c.level == "" {
				require.Empty(t, out.String())
				return
			}
			require.Equal(t, 1, strings.Count(out.String(), "level="), out.String())
			for _, part := range []string{"level=" + c.level, "code=" + string(c.code), "operation=" + c.id.String(), "subject=alice", "run=" + o.Run} {
				require.Contains(t, out.String(), part)
			}
			require.NotContains(t, out.String(), "hush-4711")
		})
	}
}
