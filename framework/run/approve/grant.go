package approve

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/koan-go/koan/framework/ask"
	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exact"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/journal"
)

// Grant is an approval that lasts: for calls of one operation by one caller, until somebody
// takes it back or the operation changes.
type Grant struct {
	Subject   string // of the caller
	Operation string // catalog ID
	// Source is the server whose text the calls may carry; "" is for calls that carry none.
	Source      string
	Declaration map[string]string // digests of what the operation was, by part
	By          string            // subject of who gave it
	At          time.Time
	Void        bool // the operation is no longer what it was
}

// Grants keeps grants, beside plans.
type Grants interface {
	// KeepGrants keeps grants, in place of earlier ones for the same calls.
	KeepGrants(ctx context.Context, given []Grant) error
	// Grants returns the grants of a subject for an operation, also void ones.
	Grants(ctx context.Context, subject, operation string) ([]Grant, error)
	// AllGrants returns those of all subjects for all operations, in a fixed order.
	AllGrants(ctx context.Context) ([]Grant, error)
	// VoidGrant marks a grant as void, unless a later one has replaced it.
	VoidGrant(ctx context.Context, g Grant) error
	// DropGrants removes the grants of a subject for an operation, and returns how many
	// there were.
	DropGrants(ctx context.Context, subject, operation string) (int, error)
}

// Lasts is for how long an approval is given.
type Lasts string

// The terms: for one call; for all calls of the tool while the client stays connected; until
// it is taken back.
const (
	Once    Lasts = "once"
	Session Lasts = "session"
	Always  Lasts = "always"
)

// mayLast reports whether an operation's calls can be approved for longer than one call:
// those of functions and tools. Changes of rows are judged by what they are, and AnyTool
// calls whatever its input names.
func mayLast(id catalog.ID) bool {
	return id.Kind == catalog.KindPlugin || id.Kind == catalog.KindUpstream && id.Op != catalog.AnyTool
}

// declarationOf returns the digests of what a grant depends on, by part.
func declarationOf(op *catalog.Operation) map[string]string {
	effects, _ := json.Marshal(op.Effects) // booleans
	title, _ := json.Marshal(op.Title)
	description, _ := json.Marshal(op.Summary)
	parts := map[string]json.RawMessage{"title": title, "description": description, "inputSchema": op.Input, "effects": effects}
	maps.Copy(parts, op.Declared)
	out := make(map[string]string, len(parts))
	for name, raw := range parts {
		if canonical, err := exact.Canonical(raw); err == nil {
			raw = canonical
		}
		out[name] = journal.Digest(raw)
	}
	return out
}

// declared returns the digest of what a server's tool is, "" of other operations: those change
// with the app alone.
func declared(op *catalog.Operation) string {
	if op.ID.Kind != catalog.KindUpstream {
		return ""
	}
	parts, _ := json.Marshal(declarationOf(op)) // texts
	return journal.Digest(parts)
}

// changedParts returns the names of the parts that are not what they were.
func changedParts(was, is map[string]string) []string {
	all := maps.Clone(was)
	maps.Copy(all, is)
	return slices.DeleteFunc(slices.Sorted(maps.Keys(all)), func(part string) bool { return was[part] == is[part] })
}

// VoidedGrant is what a person reads of a grant that ended because its operation changed.
type VoidedGrant struct {
	At      time.Time `json:"at"`
	Changed []string  `json:"changed"` // parts
}

// coverage is what grants say to a call.
type coverage struct {
	covered bool   // no question is needed
	by      string // who gave the grants
	voided  *VoidedGrant
}

// granted looks for grants that cover a call. sources are the servers whose text it carries.
func (g *Guard) granted(ctx context.Context, subject string, op *catalog.Operation, sources []string) (coverage, error) {
	if !mayLast(op.ID) {
		return coverage{}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, plansTimeout)
	defer cancel()
	kept, err := g.grants.Grants(ctx, subject, op.ID.String())
	if err != nil {
		return coverage{}, plansFault(err)
	}
	is := declarationOf(op)
	var s coverage
	valid := map[string]string{}
	for _, k := range kept {
		changed := changedParts(k.Declaration, is)
		if len(changed) > 0 && !k.Void {
			if err := g.grants.VoidGrant(ctx, k); err != nil {
				return coverage{}, plansFault(err)
			}
			k.Void = true
		}
		switch {
		case !k.Void:
			valid[k.Source] = k.By
		case slices.Contains(sources, k.Source):
			s.voided = &VoidedGrant{At: k.At, Changed: changed}
		}
	}
	session := sessionGrantsOf(ctx)
	s.covered = true
	for _, source := range sources {
		by, ok := valid[source]
		if !ok {
			by, ok = session.find(subject, op.ID, source, is)
		}
		if !ok {
			s.covered = false
			return s, nil
		}
		s.by = cmp.Or(s.by, by)
	}
	return s, nil
}

// sessionGrants are the grants of one session, which end with it.
type sessionGrants struct {
	mu    sync.Mutex
	given map[sessionGrant]Grant
}

type sessionGrant struct{ subject, operation, source string }

// maxSessionGrants bounds those of one session.
const maxSessionGrants = 10_000

type sessionGrantsKey struct{}

// sessionGrantsOf returns the grants of the caller's session, nil if it has none.
func sessionGrantsOf(ctx context.Context) *sessionGrants {
	s := ask.SessionOf(ctx)
	if s == nil {
		return nil
	}
	return s.Value(sessionGrantsKey{}, func() any { return &sessionGrants{given: map[sessionGrant]Grant{}} }).(*sessionGrants)
}

func (s *sessionGrants) find(subject string, id catalog.ID, source string, is map[string]string) (by string, ok bool) {
	if s == nil {
		return "", false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key := sessionGrant{subject, id.String(), source}
	g, ok := s.given[key]
	if ok && len(changedParts(g.Declaration, is)) > 0 {
		delete(s.given, key)
		ok = false
	}
	return g.By, ok
}

func (s *sessionGrants) keep(given []Grant) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.given)+len(given) > maxSessionGrants {
		return fault.Newf(fault.RateLimited, "%d approvals hold for this session, which is the limit", len(s.given)).WithHint("Approve with `always`, or connect again.")
	}
	for _, g := range given {
		s.given[sessionGrant{g.Subject, g.Operation, g.Source}] = g
	}
	return nil
}

// grantsFor makes the grants for calls of an operation: those without a stranger's text, and
// those with text of the sources.
func grantsFor(op *catalog.Operation, subject string, sources []string, by string) []Grant {
	declaration, now := declarationOf(op), time.Now().UTC().Truncate(time.Millisecond)
	var out []Grant
	for _, source := range slices.Compact(slices.Sorted(slices.Values(append([]string{""}, sources...)))) {
		out = append(out, Grant{Subject: subject, Operation: op.ID.String(), Source: source, Declaration: declaration, By: by, At: now})
	}
	return out
}

// GrantRequest asks for grants for one operation, or for their end.
type GrantRequest struct {
	Operation string // catalog ID
	Subject   string // of the caller
	Sources   []string
	By        auth.Principal
	Snapshot  *catalog.Snapshot
}

// Grant approves all calls of an operation by a caller, from now on.
func (g *Guard) Grant(ctx context.Context, r GrantRequest) error {
	id, err := g.admitGrant(r)
	if err != nil {
		return err
	}
	if !mayLast(id) {
		return fault.Newf(fault.InvalidPayload, "calls of %s cannot be approved for good: only a plugin's functions and a server's tools can", id).
			WithHint("Changes of entities are judged by the rows that they change; approval.rules says which need approval.")
	}
	op := r.Snapshot.Operation(id)
	if op == nil {
		var known []string
		for _, other := range r.Snapshot.Operations() {
			if other.ID.Kind == id.Kind {
				known = append(known, other.ID.String())
			}
		}
		return fault.Newf(fault.NotFound, "there is no operation %s%s", id, fault.DidYouMean(id.String(), known))
	}
	for _, source := range r.Sources {
		if r.Snapshot.Owner(catalog.ID{Kind: catalog.KindUpstream, Owner: source}) == nil && r.Snapshot.Owner(catalog.ID{Kind: catalog.KindPlugin, Owner: source}) == nil {
			return fault.Newf(fault.NotFound, "there is no server or plugin %q", source)
		}
	}
	return plansFault(g.grants.KeepGrants(ctx, grantsFor(op, r.Subject, r.Sources, r.By.Subject)))
}

// Revoke takes back what was granted to a caller for an operation, which need not exist any
// more. It ends in not_found where nothing was.
func (g *Guard) Revoke(ctx context.Context, r GrantRequest) error {
	id, err := g.admitGrant(r)
	if err != nil {
		return err
	}
	n, err := g.grants.DropGrants(ctx, r.Subject, id.String())
	if err == nil && n == 0 {
		err = fault.Newf(fault.NotFound, "calls of %s by %q are not approved for good", id, r.Subject).WithHint("`%s` shows what is.", g.command("--list", r.By))
	}
	return plansFault(err)
}

func (g *Guard) admitGrant(r GrantRequest) (catalog.ID, error) {
	if err := g.admitReader(r.By); err != nil {
		return catalog.ID{}, err
	}
	if !g.KeepsPlans() {
		return catalog.ID{}, fault.New(fault.CapabilityUnsupported, "this app has nowhere to keep approvals")
	}
	return catalog.ParseID(r.Operation)
}

// admitReader refuses whoever may not see other callers' approvals.
func (g *Guard) admitReader(by auth.Principal) error {
	if mayApprove(by) {
		return nil
	}
	return fault.Newf(fault.Forbidden, "the scope %q is missing", Scope).WithDetails(map[string]any{"scope": Scope})
}

// ListGrants returns all grants to a principal who may decide about plans. Those whose
// operation is no longer what it was are void; operations that are not in the catalog now
// may come back.
func (g *Guard) ListGrants(ctx context.Context, by auth.Principal, now *catalog.Snapshot) ([]Grant, error) {
	if err := g.admitReader(by); err != nil {
		return nil, err
	}
	if !g.KeepsPlans() {
		return nil, nil
	}
	all, err := g.grants.AllGrants(ctx)
	for i := range all {
		id, bad := catalog.ParseID(all[i].Operation)
		if op := now.Operation(id); bad == nil && op != nil && len(changedParts(all[i].Declaration, declarationOf(op))) > 0 {
			all[i].Void = true
		}
	}
	return all, plansFault(err)
}

// grant keeps what an answer says about later calls.
func (d *decision) grant(ctx context.Context, p *Plan, lasts Lasts) error {
	if p.Call == nil || lasts != Session && lasts != Always {
		return nil
	}
	id, err := catalog.ParseID(p.Call.Operation)
	if err != nil {
		return fault.New(fault.Internal, "").Because(err)
	}
	op := d.run.Request().View.Snapshot().Operation(id)
	if op == nil || !mayLast(id) {
		return fault.New(fault.Internal, "").Because(errors.New("approve: a lasting approval of a call that must be asked about each time"))
	}
	if op.Current != nil {
		if op, err = op.Current(ctx, d.run.Principal()); err != nil || declared(op) != p.Call.Declared {
			return nil //nolint:nilerr // the call finds out: the person has read of another tool
		}
	}
	given := grantsFor(op, d.subject, p.Call.sources(), d.approver().Subject)
	if lasts == Always {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), plansTimeout)
		defer cancel()
		return plansFault(d.guard.grants.KeepGrants(ctx, given))
	}
	session := sessionGrantsOf(ctx)
	if session == nil { // the client has no session, and was not offered this
		return nil
	}
	return session.keep(given)
}

// terms are how long an approval of a plan can last.
func (d *decision) terms(ctx context.Context, p *Plan) []Lasts {
	if p.Call == nil {
		return nil
	}
	if id, err := catalog.ParseID(p.Call.Operation); err != nil || !mayLast(id) || p.Call.Strict {
		return nil
	}
	if ask.SessionOf(ctx) == nil {
		return []Lasts{Once, Always}
	}
	return []Lasts{Once, Session, Always}
}

// formFor is what a person answers about a plan with.
func (g *Guard) formFor(terms []Lasts) json.RawMessage {
	if len(terms) == 0 {
		return form
	}
	names, _ := json.Marshal(terms) // texts
	return fmt.Appendf(nil, `{"type":"object","properties":{"approve":{"type":"boolean","title":"Approve","description":"Yes makes this call, no ends the run.","default":false},`+
		`"lasts":{"type":"string","title":"For how long","description":"once: this call alone. always: all calls of this tool, until it changes or you take it back (%s).%s","enum":%s,"default":"once"}},"required":["approve"]}`,
		g.command("--never OPERATION", auth.Principal{}), sessionHelp(terms), names)
}

func sessionHelp(terms []Lasts) string {
	if !slices.Contains(terms, Session) {
		return ""
	}
	return " session: all calls of this tool while this client stays connected."
}

// text says of a grant why it holds no longer.
func (v *VoidedGrant) text() string {
	what := "it has"
	if len(v.Changed) > 0 {
		what = "its " + strings.Join(v.Changed, ", ") + " has"
	}
	if len(v.Changed) > 1 {
		what = "its " + strings.Join(v.Changed, ", ") + " have"
	}
	return fmt.Sprintf("All calls of this tool were approved on %s, but %s changed since: that approval has ended.", v.At.Format(time.DateOnly), what)
}
