package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/koan-go/koan/framework/ask"
	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/framework/run/approve"
)

// Values of approval_state (CONTRACT section 7).
const (
	notRequired = "NOT_REQUIRED"
	required    = "REQUIRED"
	approved    = "APPROVED"
	denied      = "DENIED"
)

type approveFlags struct {
	yes, deny, list bool
	grants          grantFlags
}

// decidesPlan reports whether the flags name no other work than a plan.
func (f approveFlags) decidesPlan() bool {
	return !f.list && f.grants.always == "" && f.grants.never == ""
}

// problem returns why flags exclude each other, nil if they do not.
func (f approveFlags) problem() error {
	chosen := 0
	for _, on := range []bool{f.list, f.grants.always != "", f.grants.never != ""} {
		if on {
			chosen++
		}
	}
	switch {
	case f.yes && f.deny:
		return errors.New("--yes and --deny exclude each other")
	case chosen > 1:
		return errors.New("--list, --always and --never exclude each other")
	case chosen > 0 && (f.yes || f.deny):
		return errors.New("--list, --always and --never decide about no plan: name one plan with --yes or --deny")
	case f.grants.always == "" && len(f.grants.from) > 0:
		return errors.New("--from goes with --always")
	}
	return nil
}

func (c *approvals) approve() *cobra.Command {
	var f approveFlags
	cmd := &cobra.Command{
		Use:   "approve PLAN",
		Short: "Show what a run wants to change, and approve or deny it",
		Long: "Shows a plan: a run that was rolled back until somebody approves it. Once approved, it runs again with the values\n" +
			"that were generated and fetched for it, and commits if its changes are those shown; otherwise a new plan replaces\n" +
			"it and needs approval in turn. The result is one line of JSON, as `run` prints it; everything for people goes to\nstandard error.\n\n" +
			"With --always, calls of one plugin's function or server's tool are approved from now on, until it changes or --never\ntakes it back.",
		Example: "  " + c.app.Command + " approve --list\n  " + c.app.Command + " approve 019e1c1a-… --yes\n  " + c.app.Command + " approve --always upstream::github::create_issue",
		Args: func(cmd *cobra.Command, args []string) error {
			if !f.decidesPlan() {
				return exactArgs(0)(cmd, args)
			}
			return exactArgs(1)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, name := range []string{"always", "never", "caller"} {
				if err := rejectEmpty(cmd, name); err != nil {
					return usage(err)
				}
			}
			if err := f.problem(); err != nil {
				return usage(err)
			}
			switch {
			case f.list:
				return c.listPlans(cmd.Context())
			case !f.decidesPlan():
				return c.changeGrant(cmd.Context(), f.grants)
			case !f.yes && !f.deny && !c.canAsk():
				return usage(errors.New("standard input is not a terminal; use --yes or --deny"))
			}
			return c.decide(cmd.Context(), args[0], f)
		},
	}
	cmd.Flags().BoolVar(&f.yes, "yes", false, "approve without asking, if the changes are still those of the plan")
	cmd.Flags().BoolVar(&f.deny, "deny", false, "deny the plan")
	cmd.Flags().BoolVar(&f.list, "list", false, "list the plans that are waiting, and what is always approved")
	cmd.Flags().StringVar(&f.grants.always, "always", "", "approve all calls of an operation, such as upstream::github::create_issue")
	cmd.Flags().StringVar(&f.grants.never, "never", "", "take --always back")
	cmd.Flags().StringVar(&f.grants.caller, "caller", auth.Local().Subject, "with --always and --never: whose calls, by subject")
	cmd.Flags().StringSliceVar(&f.grants.from, "from", nil, "with --always: also calls with text of these servers (approval.tainted)")
	return cmd
}

// canAsk reports whether a question can be answered on standard input.
func (c *invocation) canAsk() bool { return onTerminal(c.app.Stdin) }

func (c *approvals) listPlans(ctx context.Context) error {
	i, stop, err := c.startOnce(ctx)
	if err != nil {
		return err
	}
	defer stop()
	plans, err := i.Plans().WaitingPlans(ctx, approve.Person())
	if err != nil {
		return failed(withCauseAndHint(err))
	}
	if len(plans) == 0 {
		fmt.Fprintln(c.app.Stderr, "no plans are waiting")
		return c.listGrants(ctx, i)
	}
	rows := [][]catalog.Cell{titles("PLAN", "MADE", "BY", "WHAT", "CHANGES")}
	for _, p := range plans {
		rows = append(rows, []catalog.Cell{
			{Text: p.ID}, {Text: p.Created.Format(time.RFC3339)}, {Text: p.Request.Principal.Subject}, {Text: p.Request.Tool}, {Text: p.Summary()},
		})
	}
	c.printer().Table(rows)
	return c.listGrants(ctx, i)
}

func (c *approvals) decide(ctx context.Context, id string, f approveFlags) error {
	i, stop, err := c.startOnce(ctx)
	if err != nil {
		return err
	}
	defer stop()
	who := approve.Person()
	plan, err := i.Plans().FindPlan(ctx, id, who)
	if err != nil {
		return failed(explain(err))
	}
	verdict, start := approve.Verdict{Plan: plan, By: who, Surface: "approve", Snapshot: i.Snapshot()}, time.Now()
	if !f.deny {
		if err := i.Plans().Admit(ctx, verdict); err != nil { // do not ask if it cannot be applied
			return c.printApproved(i, plan, nil, nil, err, time.Since(start))
		}
	}
	switch {
	case plan.State == approve.PlanWaiting:
		c.showPlan(i.Plans(), plan)
	case !f.deny:
		fmt.Fprintf(c.app.Stderr, "This was decided before, and is %s:\n\n", plan.State)
		c.showPlan(i.Plans(), plan)
	}
	here := terminal{in: bufio.NewReader(c.app.Stdin), out: c.app.Stderr, show: func(id string) bool {
		next, err := i.Plans().FindPlan(ctx, id, who)
		if err != nil {
			return false
		}
		plan = next // which the line is about from here on
		c.showPlan(i.Plans(), plan)
		return true
	}}
	yes := f.yes
	if !f.yes && !f.deny {
		ctx = ask.With(ctx, here)
		yes = plan.State != approve.PlanWaiting // it was decided: this shows how it ended
		if !yes {
			if yes, err = here.confirm(); err != nil {
				return failed(err)
			}
		}
	}
	start = time.Now()
	if !yes {
		return c.deny(ctx, i, verdict, start)
	}
	out, outcome, err := i.Plans().Approve(ctx, verdict)
	return c.printApproved(i, plan, out, outcome, err, time.Since(start))
}

// deny drops a plan and prints its line.
func (c *approvals) deny(ctx context.Context, i Instance, v approve.Verdict, start time.Time) error {
	trace, err := i.Plans().Deny(ctx, v)
	if err != nil {
		return failed(explain(err))
	}
	l, err := c.deniedLine(i.Plans(), *v.Plan, trace, time.Since(start))
	if err != nil {
		return failed(err)
	}
	if err := c.printLine(l); err != nil {
		return err
	}
	return failed(nil)
}

// deniedLine is the line of a plan that has just been denied: its run failed, and what it had done
// outside is done.
func (c *approvals) deniedLine(g *approve.Guard, p approve.Plan, trace string, took time.Duration) (*line, error) {
	p.State = approve.PlanDenied
	out, err := json.Marshal(map[string]any{"outsideEffects": append([]run.CallRecord{}, p.Made...)})
	if err != nil {
		return nil, err
	}
	l, err := c.line(codeOf(&p), out, &run.Outcome{Run: p.Run, Trace: trace}, g.Fault(&p), took)
	if err != nil {
		return nil, err
	}
	l.ToolName = p.Request.Tool
	return l, nil
}

// showPlan shows all of a plan on a terminal, and a summary elsewhere.
func (c *approvals) showPlan(g *approve.Guard, p *approve.Plan) {
	if !onTerminal(c.app.Stderr) {
		fmt.Fprint(c.app.Stderr, g.PlanText(p))
		return
	}
	page(c.app.Stderr, g.WholePlanText(p))
	fmt.Fprintf(c.app.Stderr, "\nPlan %s %s.\n", p.ID, p.Summary())
}

// codeOf returns the input of the plan's input digest, as in the line of `run`: the
// script, or the input of a tool.
func codeOf(p *approve.Plan) string {
	var in struct{ Code string }
	if p.Request.Operation == executeID.String() && json.Unmarshal(p.Request.Input, &in) == nil {
		return in.Code
	}
	return string(p.Request.Input)
}

// printApproved prints the line of a plan that was applied, or could not be.
func (c *approvals) printApproved(i Instance, plan *approve.Plan, out json.RawMessage, o *run.Outcome, callErr error, took time.Duration) error {
	out, _ = i.Engine().Redactor().JSON(out)
	if plan.Request.Operation != executeID.String() && callErr == nil { // the result of a tool call
		wrapped, err := json.Marshal(map[string]json.RawMessage{"result": out})
		if err != nil {
			return failed(err)
		}
		out = wrapped
	}
	l, err := c.line(codeOf(plan), out, o, callErr, took)
	if err != nil {
		return failed(err)
	}
	l.ToolName = plan.Request.Tool
	l.omit(runFlags{}.included(plan))
	l.namePlan(plan)
	switch {
	case l.ApprovalState != notRequired:
	case callErr == nil, o != nil && o.Approved:
		l.ApprovalState = approved
	default: // the yes was not taken: the plan is stale, say, or another one by now
		l.ApprovalState = required
	}
	c.printLogs(out, maxLogs)
	text, err := l.text()
	if err != nil {
		return failed(err)
	}
	if len(text) >= maxLine { // the run is committed; who made it can ask for all of it
		fmt.Fprintf(c.app.Stderr, "warn: the result takes %d bytes and is left out; call koan.code.execute with this planId for it\n", len(text))
		l.Result.Data, l.Result.Answer, l.Result.Changes, l.Result.Calls = json.RawMessage("null"), nil, nil, nil
	}
	if err := c.printLine(l); err != nil {
		return err
	}
	if !l.Result.OK {
		return failed(nil)
	}
	return nil
}

func (c *invocation) printLine(l *line) error {
	text, err := l.text()
	if err != nil {
		return failed(err)
	}
	return c.print(text)
}

// terminal is the ask.Client of the local operator.
type terminal struct {
	in   *bufio.Reader
	out  io.Writer
	show func(plan string) bool // shows a plan as long as it is, and reports whether it could
}

var _ ask.Client = terminal{}

// Can implements ask.Client.
func (terminal) Can(q ask.Question) bool { return q.Method == ask.Elicitation }

// Ask implements ask.Client. The only form here is yes or no.
func (t terminal) Ask(_ context.Context, questions ...ask.Question) ([]json.RawMessage, error) {
	out := make([]json.RawMessage, len(questions))
	for n, q := range questions {
		var params struct{ Message string }
		if err := json.Unmarshal(q.Params, &params); err != nil {
			return nil, fault.New(fault.Internal, "").Because(err)
		}
		if plan, ok := approve.PlanAsked(q); !ok || !t.show(plan) {
			fmt.Fprint(t.out, params.Message)
		}
		yes, err := t.confirm()
		if err != nil {
			return nil, fault.New(fault.Cancelled, "nobody answered").Because(err)
		}
		out[n] = json.RawMessage(fmt.Sprintf(`{"action":"accept","content":{"approve":%t}}`, yes))
	}
	return out, nil
}

// confirm asks for yes or no until it is one of them.
func (t terminal) confirm() (bool, error) {
	for {
		fmt.Fprint(t.out, "\nApprove? [yes/no] ")
		text, err := t.in.ReadString('\n')
		switch strings.ToLower(strings.TrimSpace(text)) {
		case "yes", "y":
			return true, nil
		case "no", "n":
			return false, nil
		}
		if err != nil {
			return false, fmt.Errorf("no answer: %w", err)
		}
	}
}
