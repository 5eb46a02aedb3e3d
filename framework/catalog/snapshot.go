package catalog

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/exposure"
)

// Snapshot is the whole catalog at one moment. It is immutable.
type Snapshot struct {
	version    string
	operations []*Operation // by ID
	byID       map[ID]*Operation
	toolNames  map[ID]string
	byTool     map[string]ID // by the name with "_" for "."
	resources  []*Resource   // by name
	byResource map[string]*Resource
	documents  []*Document
	prompts    []*Prompt
	owners     map[ID]*Owner // by an ID without its Op
	lease      lease
	untrusted  bool

	scopes map[string]bool // that something here needs

	seeing sync.RWMutex
	views  map[string]*View // by view key
}

// maxViews bounds the views that a snapshot caches. There may be as many different rights
// as there are tenants; a view that is made again is equal.
const maxViews = 1000

// NewSnapshot joins the offers of the providers. Its error lists every operation,
// resource and prompt that is invalid or offered twice.
func NewSnapshot(offers ...Offer) (*Snapshot, error) {
	s := &Snapshot{byID: map[ID]*Operation{}, toolNames: map[ID]string{}, byTool: map[string]ID{}, byResource: map[string]*Resource{}, owners: map[ID]*Owner{}, scopes: map[string]bool{}, views: map[string]*View{}}
	var problems []string
	for _, o := range offers {
		for _, op := range o.Operations {
			switch {
			case !op.ID.Valid():
				problems = append(problems, fmt.Sprintf("operation id %q is not valid", op.ID))
			case s.byID[op.ID] != nil:
				problems = append(problems, fmt.Sprintf("operation %s is offered twice", op.ID))
			case op.Handler == nil && op.Resolve == nil:
				problems = append(problems, fmt.Sprintf("operation %s has no handler", op.ID))
			case !json.Valid(op.Input) || !json.Valid(op.Output):
				problems = append(problems, fmt.Sprintf("operation %s has an input or output schema that is not JSON", op.ID))
			default:
				s.byID[op.ID] = op
				s.untrusted = s.untrusted || op.Untrusted
				s.operations = append(s.operations, op)
			}
		}
		for _, r := range o.Resources {
			if s.byResource[r.Name] != nil {
				problems = append(problems, fmt.Sprintf("entity %s is offered twice", r.Name))
				continue
			}
			s.byResource[r.Name] = r
			s.resources = append(s.resources, r)
		}
		for _, owner := range o.Owners {
			s.owners[ID{Kind: owner.Kind, Owner: owner.Name}] = owner
		}
		if o.Closed != nil {
			s.lease.closers = append(s.lease.closers, o.Closed)
		}
		s.documents = append(s.documents, o.Documents...)
		for _, p := range o.Prompts {
			if slices.ContainsFunc(s.prompts, func(other *Prompt) bool { return other.Name == p.Name }) {
				problems = append(problems, fmt.Sprintf("prompt %s is offered twice", p.Name))
				continue
			}
			s.prompts = append(s.prompts, p)
		}
	}
	if len(problems) > 0 {
		return nil, fmt.Errorf("catalog: %s", strings.Join(problems, "; "))
	}
	sort.Slice(s.operations, func(i, j int) bool { return s.operations[i].ID.String() < s.operations[j].ID.String() })
	sort.Slice(s.resources, func(i, j int) bool { return s.resources[i].Name < s.resources[j].Name })
	s.nameTools()
	s.version = s.hash(func(ID) bool { return true })
	s.collectScopes()
	return s, nil
}

// nameTools names the tools of all operations, and those for several operations. The
// latter come first, so that no entity's name changes theirs.
func (s *Snapshot) nameTools() {
	taken := map[string]bool{}
	name := func(id ID, tool string) {
		tool = unique(taken, tool)
		s.toolNames[id] = tool
		s.byTool[Underscored(tool)] = id
	}
	for _, id := range []ID{ToolsID(DescribeOp), ToolsID("call")} {
		name(id, id.Owner+"."+id.Op)
	}
	prefix := s.sharedPrefix()
	for _, op := range s.genericOps() {
		name(Generic(op), prefix+genericOwner+"."+op)
	}
	for _, op := range s.operations {
		if s.toolNames[op.ID] == "" {
			name(op.ID, ToolName(op))
		}
	}
}

// genericOps returns the ops that some entity has, and DescribeOp.
func (s *Snapshot) genericOps() []string {
	ops := []string{DescribeOp}
	for _, op := range s.operations {
		if op.Resource != "" && op.ID.Kind == KindEntity && !slices.Contains(ops, op.ID.Op) {
			ops = append(ops, op.ID.Op)
		}
	}
	slices.Sort(ops)
	return ops
}

// sharedPrefix returns the tool prefix of all entities with its dot, if they share one.
func (s *Snapshot) sharedPrefix() string {
	if len(s.resources) == 0 {
		return ""
	}
	prefix := s.resources[0].ToolPrefix
	if prefix == "" || slices.ContainsFunc(s.resources, func(r *Resource) bool { return r.ToolPrefix != prefix }) {
		return ""
	}
	return prefix + "."
}

func (s *Snapshot) collectScopes() {
	for _, op := range s.operations {
		for _, scope := range op.Needs() {
			s.scopes[scope] = true
		}
	}
	for _, r := range s.resources {
		for _, f := range r.Fields {
			for _, scope := range f.ReadScopes {
				s.scopes[scope] = true
			}
		}
	}
}

// Scopes returns the scopes that operations and fields of the catalog need, sorted.
func (s *Snapshot) Scopes() []string { return slices.Sorted(maps.Keys(s.scopes)) }

// VersionWithout identifies the snapshot by its content without that of some servers.
func (s *Snapshot) VersionWithout(servers []string) string {
	return s.hash(func(id ID) bool { return id.Kind != KindUpstream || !slices.Contains(servers, id.Owner) })
}

// hash is the version: over everything a caller can see, in a fixed order, of the operations
// and owners for which keep returns true.
func (s *Snapshot) hash(keep func(ID) bool) string {
	h := sha256.New()
	enc := json.NewEncoder(h)
	for _, op := range s.operations {
		if !keep(op.ID) {
			continue
		}
		_ = enc.Encode([]any{op.ID.String(), s.toolNames[op.ID], op.Title, op.Summary, op.Input, op.Output, op.Effects, op.Example, op.Scopes, op.Reach, op.Exposure, op.Default, op.Declared})
	}
	for _, r := range s.resources {
		_ = enc.Encode(r)
	}
	for _, id := range slices.SortedFunc(maps.Keys(s.owners), func(a, b ID) int { return strings.Compare(a.String(), b.String()) }) {
		if keep(id) {
			_ = enc.Encode(s.owners[id])
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:12])
}

// Version identifies the snapshot by its content.
func (s *Snapshot) Version() string { return s.version }

// Operations are all operations, by ID. Do not change the slice.
func (s *Snapshot) Operations() []*Operation { return s.operations }

// ActsOutside reports whether a script can have an effect outside this system through an operation.
func (s *Snapshot) ActsOutside() bool {
	return slices.ContainsFunc(s.operations, func(op *Operation) bool { return op.ID.Kind != KindCode && op.Effects.ActsOutside() })
}

// Resources are all entities, by name. Do not change the slice.
func (s *Snapshot) Resources() []*Resource { return s.resources }

// Untrusted reports whether an operation returns text of a server that nobody vouches for.
func (s *Snapshot) Untrusted() bool { return s.untrusted }

// Document returns the document of a URI or template, nil where there is none.
func (s *Snapshot) Document(uri string) *Document {
	for _, d := range s.documents {
		if d.URI == uri {
			return d
		}
	}
	return nil
}

// Documents are all documents, in the providers' order.
func (s *Snapshot) Documents() []*Document { return s.documents }

// Resource returns an entity by name, nil if there is none.
func (s *Snapshot) Resource(name string) *Resource { return s.byResource[name] }

// Operation returns an operation by ID, nil if there is none.
func (s *Snapshot) Operation(id ID) *Operation { return s.byID[id] }

// Owner describes the owner of an operation, nil if there is no description.
func (s *Snapshot) Owner(id ID) *Owner { return s.owners[ID{Kind: id.Kind, Owner: id.Owner}] }

// ToolName returns the dotted tool name of an operation of this snapshot, or of a tool
// for several (Generic, ToolsID). A tool of a server may have become known later.
func (s *Snapshot) ToolName(id ID) string {
	name, ok := s.toolNames[id]
	if !ok && id.Kind == KindUpstream {
		return ToolName(&Operation{ID: id})
	}
	return name
}

// ToolID returns the ID behind a tool name in either spelling: dotted, or with "_" for
// ".".
func (s *Snapshot) ToolID(tool string) (ID, bool) {
	id, ok := s.byTool[Underscored(tool)]
	return id, ok
}

// View returns the snapshot as a principal sees it in a resolved mode (not auto).
// serverIsAuto says that the mode was negotiated, so that package defaults count. Views
// are cached: for equal rights and mode it returns the same View.
func (s *Snapshot) View(p auth.Principal, mode exposure.Mode, serverIsAuto bool) *View {
	// Scopes that a token has for other servers make no other view.
	if foreign := func(scope string) bool { return scope != auth.All && !s.scopes[scope] }; slices.ContainsFunc(p.Scopes, foreign) {
		p.Scopes = slices.DeleteFunc(slices.Clone(p.Scopes), foreign)
	}
	key := string(mode) + "\x1d" + strconv.FormatBool(serverIsAuto) + "\x1d" + p.Key()
	s.seeing.RLock()
	v := s.views[key]
	s.seeing.RUnlock()
	if v != nil {
		return v
	}
	made := newView(s, p, mode, serverIsAuto, key)
	s.seeing.Lock()
	defer s.seeing.Unlock()
	if v := s.views[key]; v != nil {
		return v
	}
	if len(s.views) >= maxViews {
		clear(s.views)
	}
	s.views[key] = made
	return made
}
