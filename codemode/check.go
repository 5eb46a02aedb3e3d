package codemode

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
)

// verdict is the result of koan.code.validate (CONTRACT section 2).
type verdict struct {
	Valid       bool              `json:"valid"`
	Error       string            `json:"error,omitempty"`
	Diagnostics []wire.Diagnostic `json:"diagnostics,omitempty"`
}

// validateInput is the input of koan.code.validate.
type validateInput struct{ code, language string }

func decodeValidate(in catalog.Input) (catalog.Decoded, error) {
	v, err := validateMembers.read(in.JSON)
	return catalog.Decoded{Value: validateInput{v.text("code"), v.text("language")}}, err
}

// validate serves koan.code.validate: it parses and checks in a worker, opens no
// run and counts no call.
func (k koanFace) validate(ctx context.Context, call catalog.Call) (json.RawMessage, error) {
	in := call.Decoded().(validateInput)
	if err := k.scripts.admitCode(in.code); err != nil {
		return wire.Marshal(verdict{Error: fault.From(err).Message})
	}
	in.language = k.scripts.languageFor(in.language, in.code)
	if err := k.scripts.admitLanguage(in.language); err != nil {
		return nil, err
	}
	timed, cancel := context.WithTimeout(ctx, k.scripts.config().wall)
	defer cancel()
	call, _, release := k.scripts.tools.awaitScript(timed, call, in.code, in.language, nil)
	defer release()
	job := k.scripts.job(wire.Validate, in.code)
	job.Principal = call.Principal().Subject
	job.Language, job.CallTool = in.language, k.scripts.offers(faceGateway)
	job.Bindings = k.scripts.bindings(call.View(), in.code, in.language)
	res, err := k.scripts.executor.Execute(timed, job, &checkHost{ctx: ctx})
	switch {
	case err != nil && timed.Err() != nil && ctx.Err() == nil:
		return wire.Marshal(verdict{Error: fmt.Sprintf("the check took longer than %d ms", k.scripts.config().wall.Milliseconds())})
	case err != nil:
		return nil, err
	}
	body, err := wire.Marshal(judge(res))
	return run.RedactBody(ctx, body), err
}

// checkHost lets operations check the inputs with which a script would call them. It calls
// none of them.
type checkHost struct {
	noHost
	ctx    context.Context // of the operation
	checks int
}

// maxChecks bounds the inputs that a worker may have checked for one script.
const maxChecks = 1000

// Call implements wire.Host.
func (h *checkHost) Call(_ context.Context, id string, input json.RawMessage) (json.RawMessage, int64, error) {
	if h.checks++; h.checks > maxChecks {
		return nil, 0, nil
	}
	parsed, err := catalog.ParseID(id)
	if err != nil {
		return nil, 0, nil //nolint:nilerr // of no operation nothing is wrong
	}
	return json.RawMessage("null"), 0, run.CheckInput(h.ctx, parsed, input)
}

// checkHint returns the hint of a fault that ended a check. A check runs nothing, so it is
// the text itself that exceeds a limit, not what the script reads or computes.
func checkHint(f *fault.Fault) string {
	switch f.Code {
	case fault.MemoryExceeded, fault.Timeout:
		return "Shorten the script or nest it less deeply: it is too large or too deep to be parsed. Pass data in args, not in the code."
	}
	return f.Hint
}

// judge makes the verdict from the worker's result. Code that brought the worker to its
// limits is invalid too.
func judge(res *wire.Result) verdict {
	found := res.Diagnostics
	if f := res.Fault; f != nil {
		found = append(found, wire.Diagnostic{Severity: wire.SeverityError, Code: wire.DiagnosticParse, Message: f.Message, Hint: checkHint(f), Line: f.Line, Column: f.Column})
	}
	v := verdict{Valid: true, Diagnostics: found}
	errors := 0
	for _, d := range found {
		if d.Severity != wire.SeverityError {
			continue
		}
		if errors++; errors == 1 {
			v.Valid, v.Error = false, d.Message
			if d.Line > 0 {
				v.Error = fmt.Sprintf("line %d, column %d: %s", d.Line, d.Column, d.Message)
			}
		}
	}
	if errors > 1 {
		v.Error += fmt.Sprintf(" (and %d more)", errors-1)
	}
	return v
}
