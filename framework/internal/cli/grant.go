package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run/approve"
)

// grantFlags are those of `approve` about approvals that last.
type grantFlags struct {
	always, never, caller string
	from                  []string
}

// changeGrant approves all calls of an operation by a caller, or takes that back.
func (c *approvals) changeGrant(ctx context.Context, f grantFlags) error {
	i, stop, err := c.startOnce(ctx)
	if err != nil {
		return err
	}
	defer stop()
	r := approve.GrantRequest{Operation: f.always, Subject: f.caller, Sources: f.from, By: approve.Person()}
	if f.never != "" {
		r.Operation = f.never
		if err := i.Plans().Revoke(ctx, r); err != nil {
			return failed(explain(err))
		}
		fmt.Fprintf(c.app.Stderr, "calls of %s by %s need approval again, where the policy says so\n", r.Operation, r.Subject)
		return nil
	}
	r.Snapshot = toolsOf(ctx, i, r.Operation)
	if err := i.Plans().Grant(ctx, r); err != nil {
		return failed(explain(c.withListingHint(err, r)))
	}
	fmt.Fprintf(c.app.Stderr, "calls of %s by %s are approved, until it changes or `%s`\n", r.Operation, r.Subject, c.typed("approve --never "+catalog.ShellWord(r.Operation)))
	return nil
}

// withListingHint returns err. If it says that an operation or a server does not exist, the hint names
// the command that lists those that do.
func (c *approvals) withListingHint(err error, r approve.GrantRequest) error {
	id, unreadable := catalog.ParseID(r.Operation)
	if fault.CodeOf(err) != fault.NotFound || unreadable != nil {
		return err
	}
	f, server := fault.From(err), catalog.ID{Kind: id.Kind, Owner: id.Owner, Op: catalog.AnyTool}
	switch {
	case id.Kind == catalog.KindUpstream && r.Snapshot.Operation(server) != nil:
		return f.WithHint("The tools of %s are not known, since it cannot be reached: `%s` says why.", id.Owner, c.typed("upstream check"))
	case r.Snapshot.Operation(id) != nil, id.Kind == catalog.KindUpstream && r.Snapshot.Owner(catalog.ID{Kind: id.Kind, Owner: id.Owner}) == nil:
		return f.WithHint("`%s` shows the servers.", c.typed("upstream list"))
	}
	return f.WithHint("`%s` shows what there is; ids are as in upstream::SERVER::TOOL and plugin::NAME.FUNCTION.", c.typed("sdk"))
}

// typed is a command of this app as a person types it.
func (c *approvals) typed(words string) string {
	return c.again(true).Typed(c.app.Command, words)
}

// toolsOf returns the catalog once it has the tools of the server that an operation is of, or
// what there is after a while: they may not have been listed yet.
func toolsOf(ctx context.Context, i Instance, operation string) *catalog.Snapshot {
	id, err := catalog.ParseID(operation)
	if err != nil || id.Kind != catalog.KindUpstream {
		return i.Snapshot()
	}
	unlisted := id
	unlisted.Op = catalog.AnyTool
	const most, every = 15 * time.Second, 50 * time.Millisecond
	for start := time.Now(); time.Since(start) < most && i.Snapshot().Operation(unlisted) != nil; {
		select {
		case <-time.After(every):
		case <-ctx.Done():
			return i.Snapshot()
		}
	}
	return i.Snapshot()
}

// listGrants prints the approvals that last, if there are any.
func (c *approvals) listGrants(ctx context.Context, i Instance) error {
	grants, err := i.Plans().ListGrants(ctx, approve.Person(), i.Snapshot())
	if err != nil {
		return failed(withCauseAndHint(err))
	}
	if len(grants) == 0 {
		return nil
	}
	rows := [][]catalog.Cell{titles("ALWAYS APPROVED", "FOR CALLS BY", "WITH TEXT OF", "SINCE", "BY", "STATE")}
	for _, g := range grants {
		state := "holds"
		if g.Void {
			state = "ended: it has changed"
		}
		source := g.Source
		if source == "" {
			source = "nobody"
		}
		rows = append(rows, []catalog.Cell{{Text: g.Operation}, {Text: g.Subject}, {Text: source}, {Text: g.At.Format(time.RFC3339)}, {Text: g.By}, {Text: state}})
	}
	c.printer().Table(rows)
	return nil
}

func titles(names ...string) (out []catalog.Cell) {
	for _, name := range names {
		out = append(out, catalog.Cell{Text: name, Mood: catalog.Faint})
	}
	return out
}
