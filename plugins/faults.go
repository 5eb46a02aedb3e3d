package plugins

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
)

// pluginCodes are the codes that a plugin may use, which are about a call. The others are
// about runs, scripts, protocols and the app, of which a plugin knows nothing.
var pluginCodes = []fault.Code{
	fault.InvalidPayload, fault.NotFound, fault.Conflict, fault.ReadOnly, fault.UnknownSet, fault.Forbidden, fault.Unauthorized, fault.RateLimited,
	fault.ServiceUnavailable, fault.UpstreamError, fault.ExecutionError, fault.CallTooLarge, fault.ResultTooLarge, fault.CapabilityUnsupported,
	fault.SetBusy, fault.InProgress, fault.OutcomeUnknown, fault.DryRunBlocked,
}

// Bounds of the texts in a plugin's fault, in bytes.
const (
	maxFaultText    = 8 << 10
	maxFaultDetails = 64 << 10
)

// receivedFault is the fault that a plugin sent. One that is malformed, or that a plugin
// may not send, is a failure of the plugin.
func (p *plugin) receivedFault(op *catalog.Operation, raw []byte) error {
	var sent struct{ Code fault.Code }
	if err := json.Unmarshal(raw, &sent); err != nil {
		return p.pluginFailure(op, "it sent a fault that cannot be read").Because(err)
	}
	own := slices.Contains(p.state().manifest.GetFaultCodes(), string(sent.Code))
	switch {
	case own:
	case sent.Code == fault.Internal:
		return p.pluginFailure(op, "its log says why")
	case sent.Code == fault.Timeout, sent.Code == fault.Cancelled: // of the plugin's own: the call was not cancelled
		return p.pluginFailure(op, "something that it waited for did not answer in time")
	case !slices.Contains(pluginCodes, sent.Code):
		code := bounded(string(sent.Code), 64)
		p.log.Warn("the plugin sent a fault with a code that is not a plugin's", "function", op.ID.Op, "code", code)
		return p.pluginFailure(op, "it sent a fault with the code "+code).WithDetails(map[string]any{"code": code})
	}
	decode := fault.Decode
	if own {
		decode = decodeOwn
	}
	f, err := decode(raw)
	if err != nil {
		return p.pluginFailure(op, "it sent a fault that cannot be read").Because(err)
	}
	f.Message, f.Hint, f.Path = bounded(f.Message, maxFaultText), bounded(f.Hint, maxFaultText), bounded(f.Path, maxFaultText)
	if details, err := json.Marshal(f.Details); err != nil || len(details) > maxFaultDetails {
		f.Details = nil
	}
	if !slices.Contains([]fault.Retry{fault.Safe, fault.Fix, fault.Never}, f.Retry) {
		entry, _ := fault.Lookup(f.Code)
		f.Retry = entry.Retry
	}
	f.Line, f.Column, f.Source = 0, 0, "" // of a script, which the plugin does not know
	return f
}

// ownHint is the hint of a plugin's own fault that has none: that of execution_error is about failures.
const ownHint = "The message is the plugin's own: correct the call, or do without it."

// decodeOwn reads a fault whose code the plugin declares as its own: it is execution_error, with the
// code in its details.
func decodeOwn(raw json.RawMessage) (*fault.Fault, error) {
	var f fault.Fault
	if err := json.Unmarshal(raw, &f); err != nil {
		return nil, err
	}
	details := map[string]any{"code": string(f.Code)}
	if raw, err := json.Marshal(f.Details); err == nil && f.Details != nil && len(raw) <= maxFaultDetails {
		details["details"] = f.Details
	}
	if f.Hint == "" && f.Retry != fault.Safe {
		f.Hint = ownHint
	}
	out := fault.New(fault.ExecutionError, f.Message).WithHint("%s", f.Hint).WithPath(f.Path).WithDetails(details).WithRetry(fault.Fix)
	if f.Retry != "" {
		out = out.WithRetry(f.Retry)
	}
	return out, nil
}

// pluginFailure is the fault of a call that failed through the plugin's fault. An effect
// outside may have happened.
func (p *plugin) pluginFailure(op *catalog.Operation, why string) *fault.Fault {
	f := fault.Newf(fault.ExecutionError, "the plugin %s failed in %s: %s", p.name, op.ID.Op, why).
		WithHint("Try again; if it keeps failing, see the log of the plugin %s, and report it to its author.", p.name)
	if op.Effects.RepeatsOutside() {
		f.Retry = fault.Never
		f = f.WithHint("The call may have taken effect: check outside before calling again. See the log of the plugin %s, and report it to its author.", p.name)
	}
	return f
}

// bounded is a text of at most n bytes, in valid UTF-8.
func bounded(s string, n int) string {
	return fault.Clip(strings.ToValidUTF8(s, "?"), n)
}

// died is the fault of a call in the middle of which the process of a plugin has died.
func (v *vitals) died(name string) *fault.Fault {
	why, ended := v.took.Load().(string)
	if !ended {
		return fault.Newf(fault.PluginUnavailable, "the plugin %s died in the middle of the call", name).
			WithHint("Call again: the plugin is being restarted. If it dies again on the same input, see the log and `doctor`.")
	}
	return fault.Newf(fault.PluginUnavailable, "the plugin %s died in the middle of the call: it was ended because it %s", name, why).WithRetry(fault.Fix).
		WithHint("Pass less at a time. The plugin is being restarted; the operator may let it hold more (plugins.%s.memoryMb).", name)
}
