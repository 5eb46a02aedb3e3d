package catalog

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"sort"
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
	byTool     map[string]*Operation
	resources  []*Resource // by name
	byResource map[string]*Resource
	documents  []*Document
	prompts    []*Prompt

	views sync.Map // view key -> *View
}

// NewSnapshot joins what the providers offer. It ends in an error that names
// every operation, resource or prompt that is invalid or offered twice.
func NewSnapshot(offers ...Offer) (*Snapshot, error) {
	s := &Snapshot{byID: map[ID]*Operation{}, toolNames: map[ID]string{}, byTool: map[string]*Operation{}, byResource: map[string]*Resource{}}
	var problems []string
	for _, o := range offers {
		for _, op := range o.Operations {
			switch {
			case !op.ID.Valid():
				problems = append(problems, fmt.Sprintf("operation id %q is not valid", op.ID))
			case s.byID[op.ID] != nil:
				problems = append(problems, fmt.Sprintf("operation %s is offered twice", op.ID))
			case op.Handler == nil:
				problems = append(problems, fmt.Sprintf("operation %s has no handler", op.ID))
			case !json.Valid(op.Input) || !json.Valid(op.Output):
				problems = append(problems, fmt.Sprintf("operation %s has an input or output schema that is not JSON", op.ID))
			default:
				s.byID[op.ID] = op
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
	taken := map[string]bool{}
	for _, op := range s.operations {
		name := unique(taken, ToolName(op))
		s.toolNames[op.ID] = name
		s.byTool[name] = op
	}
	s.version = s.hash()
	return s, nil
}

// hash is the version: over everything a caller can see, in a fixed order.
func (s *Snapshot) hash() string {
	h := sha256.New()
	enc := json.NewEncoder(h)
	for _, op := range s.operations {
		_ = enc.Encode([]any{op.ID.String(), s.toolNames[op.ID], op.Title, op.Summary, op.Input, op.Output, op.Effects, op.Example, op.Scopes, op.Reach, op.Exposure, op.Default})
	}
	for _, r := range s.resources {
		_ = enc.Encode(r)
	}
	return hex.EncodeToString(h.Sum(nil)[:12])
}

// Version identifies the snapshot by its content.
func (s *Snapshot) Version() string { return s.version }

// Operations are all operations, by ID. Do not change the slice.
func (s *Snapshot) Operations() []*Operation { return s.operations }

// Resources are all entities, by name. Do not change the slice.
func (s *Snapshot) Resources() []*Resource { return s.resources }

// Documents are all documents, in the providers' order.
func (s *Snapshot) Documents() []*Document { return s.documents }

// Resource gives an entity by name, nil if there is none.
func (s *Snapshot) Resource(name string) *Resource { return s.byResource[name] }

// Operation gives an operation by ID, nil if there is none.
func (s *Snapshot) Operation(id ID) *Operation { return s.byID[id] }

// ToolName is the dotted tool name of an operation of this snapshot.
func (s *Snapshot) ToolName(id ID) string { return s.toolNames[id] }

// View sees the snapshot with a principal's rights, through a resolved mode (not
// auto). serverIsAuto tells that the mode was negotiated, so that package
// defaults count. Views are cached: equal rights and mode give the same View.
func (s *Snapshot) View(p auth.Principal, mode exposure.Mode, serverIsAuto bool) *View {
	key := string(mode) + "\x1d" + fmt.Sprint(serverIsAuto) + "\x1d" + p.Key()
	if v, ok := s.views.Load(key); ok {
		return v.(*View)
	}
	v, _ := s.views.LoadOrStore(key, newView(s, p, mode, serverIsAuto, key))
	return v.(*View)
}
