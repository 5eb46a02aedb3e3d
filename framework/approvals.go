package framework

import (
	"fmt"
	"strings"
	"time"

	"github.com/koan-go/koan/framework/approval"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/internal/config"
	"github.com/koan-go/koan/framework/run/approve"
)

// The keys of approval.
const (
	keyApprovalMode  = "approval.mode"
	keyApprovalRules = "approval.rules"
	keyTainted       = "approval.tainted"
)

// Values of approval.tainted.
const (
	taintedAsk   = "ask"
	taintedAllow = "allow"
)

// approvalSettings say which effects a person must approve before they are committed.
func approvalSettings() []catalog.Setting {
	return []catalog.Setting{
		{Key: keyApprovalMode, Live: true, Default: string(approval.Never), OneOf: approval.Modes, Help: "which effects of a run a person must approve"},
		{
			Key: keyApprovalRules, Live: true, Default: []map[string]string{},
			Help: "exceptions to approval.mode; the first that matches decides: a list of mappings of `entity`, `operation`, `rows`, `principal`, and `mode`",
			Check: func(v any) error {
				_, err := approval.ParseRules(v.([]map[string]string))
				return err
			},
		},
		{
			Key: keyTainted, Live: true, Default: taintedAllow, OneOf: []string{taintedAsk, taintedAllow},
			Help: "calls with an effect outside whose input has text of a server that is not trusted: `ask` asks a person to approve them",
		},
		{Key: "approval.timeoutMs", Live: true, Default: 300000, Min: 1000, Max: 86400000, Unit: "ms", Help: "how long a call waits for a person's answer"},
		{Key: "approval.planHours", Live: true, Default: 24, Min: 1, Max: 8760, Help: "hours for which a plan waits for somebody to approve it; at most run.keyRetentionHours"},
		{Key: "approval.maxPlanBytes", Live: true, Default: 4 << 20, Min: 65536, Max: 64 << 20, Unit: "bytes", Help: "largest plan: changes, or a sample where they take more, and what was generated and fetched for them"},
	}
}

// approvals returns these settings in the engine's form.
func approvals(c *config.Config) approve.Settings {
	rules, _ := approval.ParseRules(c.Records(keyApprovalRules)) // checked with the configuration
	return approve.Settings{
		Policy: approval.Policy{Mode: approval.Mode(c.String(keyApprovalMode)), Rules: rules, Tainted: c.String(keyTainted) == taintedAsk},
		Wait:   c.Duration("approval.timeoutMs"), Life: time.Duration(c.Int("approval.planHours")) * time.Hour, MaxBytes: c.Int("approval.maxPlanBytes"),
	}
}

// checkApprovals rejects a policy that cannot work: plans must be kept, and what rules
// name must exist.
func (r *reloads) checkApprovals(c *config.Config) error {
	rules, err := approval.ParseRules(c.Records(keyApprovalRules))
	if err != nil {
		return err
	}
	if !r.plans.KeepsPlans() && (c.String(keyApprovalMode) != string(approval.Never) || len(rules) > 0 || c.String(keyTainted) == taintedAsk) {
		return fault.New(fault.CapabilityUnsupported, "approval is configured, but this app has nowhere to keep plans").
			WithHint("Set Ledger of framework.App, or leave approval.mode, approval.rules and approval.tainted out.")
	}
	var wrong config.Problems
	for n, rule := range rules {
		if problem := r.ruleProblem(rule); problem != "" {
			wrong = append(wrong, fmt.Sprintf("%s: %s rule %d: %s", c.Place(keyApprovalRules), keyApprovalRules, n+1, problem))
		}
	}
	if len(wrong) > 0 {
		return wrong
	}
	return nil
}

// ruleProblem returns why a rule matches nothing of the app, "" for a good one. A misspelt
// rule would guard nothing, and nobody would notice. Operations of plugins and servers may
// be added later: those are only logged.
func (r *reloads) ruleProblem(rule approval.Rule) string {
	snapshot := r.snapshots.Snapshot()
	if rule.Entity != "" && snapshot.Resource(rule.Entity) == nil {
		var known []string
		for _, e := range snapshot.Resources() {
			known = append(known, e.Name)
		}
		return fmt.Sprintf("there is no entity %q%s", rule.Entity, fault.DidYouMean(rule.Entity, known))
	}
	kind, _, id := strings.Cut(rule.Operation, "::")
	if !id {
		return ""
	}
	if catalog.Kind(kind) == catalog.KindCode {
		return "scripts are judged by their effects; without `operation`, `always` covers every script too"
	}
	var known []string
	for _, op := range snapshot.Operations() {
		if rule.Names(op.ID.String()) || mayBeNamed(op.ID, rule) {
			return ""
		}
		if string(op.ID.Kind) == kind {
			known = append(known, op.ID.String())
		}
	}
	switch catalog.Kind(kind) {
	case catalog.KindPlugin, catalog.KindUpstream:
		r.setup.log.Warn("a rule of approval.rules names an operation that does not exist", "operation", rule.Operation)
		return ""
	}
	return fmt.Sprintf("there is no operation %q%s", rule.Operation, fault.DidYouMean(rule.Operation, known))
}

// mayBeNamed reports whether a rule may name a tool of a server whose tools are not known yet.
func mayBeNamed(id catalog.ID, r approval.Rule) bool {
	server, ok := strings.CutSuffix(id.String(), "::"+catalog.AnyTool)
	return ok && strings.HasPrefix(r.Operation, server+"::")
}
