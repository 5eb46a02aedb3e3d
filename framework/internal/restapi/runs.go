package restapi

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/journal"
	"github.com/koan-go/koan/framework/run/replay"
)

// Bounds of a page of runs.
const (
	runsPage = 50
	maxRuns  = 200
)

// noJournal is the fault of routes about runs in an app that keeps none.
func noJournal() *fault.Fault {
	return fault.New(fault.CapabilityUnsupported, "this app keeps no journal of its runs").WithHint("Set journal.enabled to true, which it is by default. An app without entities keeps none, unless framework.App says Ledger.")
}

// serveRuns serves GET /api/console/runs: the journal's list.
func (h consoleRoutes) serveRuns(w http.ResponseWriter, r *http.Request) {
	if !h.allows(w, r, http.MethodGet) {
		return
	}
	if h.opts.Console.Journal == nil {
		h.reject(w, r, noJournal())
		return
	}
	q, err := runsQuery(r)
	if err != nil {
		h.rejectAs(w, r, asRejection(err))
		return
	}
	q.Knows = h.view(auth.From(r.Context())).Knows
	page, err := h.opts.Console.Journal.Runs(r.Context(), q)
	if err != nil {
		h.reject(w, r, fault.From(err))
		return
	}
	h.respondJSON(w, r, map[string]any{"runs": page.Runs, "next": textOrNull(page.Next)})
}

// runsQuery reads the query parameters of a list of runs.
func runsQuery(r *http.Request) (journal.Query, error) {
	given, err := decodeQuery(r.URL.RawQuery, []string{"before", "changed", "limit", "outcome", "q", "reads"})
	if err != nil {
		return journal.Query{}, err
	}
	q := journal.Query{Before: textOf(given["before"]), Outcome: textOf(given["outcome"]), Text: textOf(given["q"]), Most: runsPage}
	var wrong []fault.Detail
	if limit, ok := given["limit"]; ok {
		if q.Most, err = strconv.Atoi(textOf(limit)); err != nil || q.Most < 1 || q.Most > maxRuns {
			wrong = append(wrong, fault.Detail{Path: "/limit", Message: "limit must be a number from 1 to " + strconv.Itoa(maxRuns)})
		}
	}
	reads := true
	for name, into := range map[string]*bool{"changed": &q.Changed, "reads": &reads} {
		if raw, ok := given[name]; ok {
			if *into, err = strconv.ParseBool(textOf(raw)); err != nil {
				wrong = append(wrong, fault.Detail{Path: "/" + name, Message: name + " must be true or false"})
			}
		}
	}
	q.NoReads = !reads
	if len(wrong) > 0 {
		slices.SortFunc(wrong, func(a, b fault.Detail) int { return strings.Compare(a.Path, b.Path) })
		return q, fault.Invalid(wrong...)
	}
	return q, nil
}

// textOf is the text of a query parameter.
func textOf(raw json.RawMessage) (s string) {
	_ = json.Unmarshal(raw, &s) // parameters of plain text are strings
	return s
}

func textOrNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// serveRun serves GET /api/console/runs/ID: the report of a run, as koan://runs/{id} has it.
func (h consoleRoutes) serveRun(w http.ResponseWriter, r *http.Request) {
	if !h.allows(w, r, http.MethodGet) {
		return
	}
	v := h.view(auth.From(r.Context()))
	report := v.Snapshot().Document(catalog.RunReportURI)
	if report == nil {
		h.reject(w, r, noJournal())
		return
	}
	out, err := report.Read(r.Context(), v, r.PathValue("id"))
	if err != nil {
		h.reject(w, r, fault.From(err))
		return
	}
	h.write(w, http.StatusOK, jsonType, out)
}

// Replayer replays a run for a caller: see run/replay.
type Replayer func(ctx context.Context, by auth.Principal, run string, data bool) (*replay.Replayed, error)

// serveReplay serves POST /api/console/runs/ID/replay.
func (h consoleRoutes) serveReplay(w http.ResponseWriter, r *http.Request) {
	if !h.allows(w, r, http.MethodPost) {
		return
	}
	_, given, err := h.members(w, r, jsonType)
	var data bool
	if err == nil {
		for name, raw := range given {
			if name != "data" || json.Unmarshal(raw, &data) != nil {
				err = fault.Invalid(fault.Detail{Path: "/" + fault.Step(name), Message: "the body has one member, data: true or false"})
			}
		}
	}
	if err != nil {
		h.rejectAs(w, r, asRejection(err))
		return
	}
	h.limited(w, r, func(ctx context.Context) (any, error) {
		return h.opts.Console.Replay(ctx, auth.From(ctx), r.PathValue("id"), data)
	})
}
