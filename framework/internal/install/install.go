package install

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/koan-go/koan/framework/fault"
)

// Options are those of one installation.
type Options struct {
	Client  string
	Entry   Entry
	Dir     string // the project's folder, for its own file; "" is the user's file
	Gateway bool   // move the client's own servers behind the app
	Remove  bool
	Print   bool // show the change and write nothing
	Machine Machine
	Now     time.Time
	// Check reports why the app would not read servers, given as a file of --mcp-config.
	Check func(servers []byte) error
	// Agree is asked before anything is written; nil writes.
	Agree func() (bool, error)
}

// plan is a change to a client's file.
type plan struct {
	Options
	client
	file  *file
	now   []byte
	moved []string
	stays []stay
	needs []string // variables that the entry names
	// notYet is the client's folder, if it is not there: the client has never run, or is not installed.
	notYet string
	gone   bool // the file goes, since an installation has made it for its entry alone

	// With Gateway, and with Remove where servers were moved:
	store     *store
	storeFile *file
	shared    bool     // the store's servers were moved out of another file, which still is there
	edited    []string // servers that were changed in the store
}

// Run shows a change to a client's file, asks, keeps a copy of the file and writes it.
func Run(o Options, out io.Writer) error {
	p, err := newPlan(o)
	if err != nil {
		return err
	}
	if o.Remove {
		err = p.remove()
	} else {
		err = p.add()
	}
	if err != nil {
		return err
	}
	touched := map[string]bool{o.Entry.Name: true}
	for _, name := range p.moved {
		touched[name] = true
	}
	if bytes.Equal(p.now, p.file.was) {
		p.report(out)
		p.reportUnchanged(out)
		return nil
	}
	if err := p.checkRest(p.file.was, p.now, touched); err != nil {
		return fault.Newf(fault.Internal, "%s was left as it is", p.file.path).WithHint("Add what --print shows by hand, and report this with the file's structure.").Because(err)
	}
	p.report(out)
	if err := p.show(out); err != nil || o.Print {
		return err
	}
	if err := p.file.writable(); err != nil {
		return err
	}
	if o.Agree != nil {
		yes, err := o.Agree()
		if err != nil {
			return err
		}
		if !yes {
			fmt.Fprintln(out, "Nothing was written.")
			return nil
		}
	}
	return p.write(out)
}

func newPlan(o Options) (*plan, error) {
	c, err := find(o.Client)
	if err != nil {
		return nil, err
	}
	p := &plan{Options: o, client: c}
	path := c.file(o.Machine)
	mode := os.FileMode(0o600)
	if o.Dir != "" {
		if c.project == "" {
			return nil, fault.Newf(fault.CapabilityUnsupported, "%s has no file in a project", c.title).WithHint("Install without --project.")
		}
		if o.Gateway {
			return nil, fault.New(fault.InvalidPayload, "--gateway moves your own servers; a project's file is shared with others").WithHint("Use --gateway without --project.")
		}
		path, mode = filepath.Join(o.Dir, filepath.FromSlash(c.project)), 0o644
	}
	if p.file, err = look(path, mode); err != nil {
		return nil, err
	}
	if folder := c.folder(o.Machine); p.file.fresh && o.Dir == "" && !o.Remove {
		if info, err := os.Stat(folder); err != nil || !info.IsDir() {
			p.notYet = folder
		}
	}
	return p, nil
}

// open reads the client's file.
func (p *plan) open() (document, error) {
	d, err := p.client.open(p.file.was)
	if err != nil {
		return nil, damaged(p.file.path, err)
	}
	return d, nil
}

// add plans an entry, and with Gateway the move of the other servers.
func (p *plan) add() error {
	d, err := p.open()
	if err != nil {
		return err
	}
	if err := p.checkName(d); err != nil {
		return err
	}
	if err := p.findStore(d); err != nil {
		return err
	}
	entry := p.Entry
	if p.Gateway {
		if name := p.otherGateway(d); name != "" {
			return p.behind(name)
		}
		if p.shared {
			return fault.Newf(fault.Conflict, "%q starts with servers of another file, in %s", entry.Name, p.storeFile.path).
				WithHint("Return them first: install %s --remove --name %s.", p.id, entry.Name).WithRetry(fault.Fix)
		}
		if p.store == nil {
			p.store = &store{Servers: map[string]json.RawMessage{}, Koan: moves{Format: storeFormat, Client: p.id, File: p.file.path, Entry: entry.Name}}
		}
		entry.Args = append(append([]string{}, entry.Args...), "--mcp-config", p.storeFile.path)
		entry.Env = union(entry.Env, Variables(string(p.storeFile.was)))
		if err := p.place(d, entry); err != nil { // first, so that it stands behind all others
			return err
		}
		p.moved, p.stays = p.gather(d, p.store, entry.Name, p.Check)
		if len(p.store.Servers) == 0 {
			return p.nothingToMove()
		}
		entry.Env = union(entry.Env, Variables(encode(p.store.Servers, "", "")))
	} else if p.store != nil { // they stay behind it
		if entry.URL != "" {
			return p.behind(entry.Name)
		}
		entry.Args = append(append([]string{}, entry.Args...), "--mcp-config", p.storeFile.path)
		entry.Env = union(entry.Env, Variables(string(p.storeFile.was)))
	}
	if err := p.place(d, entry); err != nil {
		return err
	}
	p.now = d.bytes()
	return nil
}

// checkName rejects a name under which the file has a server of somebody else's: one with
// another program.
func (p *plan) checkName(d document) error {
	for _, one := range d.servers() {
		command, _ := one.value["command"].(string)
		if one.name != p.Entry.Name || command == "" || p.starts(one) {
			continue
		}
		if p.Remove {
			return fault.Newf(fault.Conflict, "%q in %s is not taken out, since it does not start this program: %s", one.name, p.file.path, command).
				WithHint("Name the entry to take out with --name, or take this one out by hand.").WithRetry(fault.Fix)
		}
		return fault.Newf(fault.Conflict, "%s has a server %q already, with another command: %s", p.file.path, one.name, command).
			WithHint("Choose another name with --name, or rename or remove that server.").WithRetry(fault.Fix)
	}
	return nil
}

// starts reports whether a server starts this program, wherever it lies.
func (p *plan) starts(s server) bool {
	command, _ := s.value["command"].(string)
	return command != "" && filepath.Base(command) == filepath.Base(p.Entry.Command)
}

// behind is the fault of servers that another entry is in front of, or that the entry would
// leave behind.
func (p *plan) behind(name string) error {
	return fault.Newf(fault.Conflict, "the servers of %s are behind %q already", p.title, name).
		WithHint("Return them first: install %s --remove --name %s.", p.id, name).WithRetry(fault.Fix)
}

func (p *plan) place(d document, e Entry) error {
	if p.needs = e.Env; e.Token != "" {
		p.needs = []string{e.Token}
	}
	members, err := p.entry(e)
	if err != nil {
		return err
	}
	if err := d.set(e.Name, members); err != nil {
		return damaged(p.file.path, err)
	}
	return nil
}

func (p *plan) nothingToMove() error {
	if len(p.stays) == 0 {
		return fault.Newf(fault.NotFound, "%s has no servers that could be moved", p.file.path).WithHint("Install without --gateway, and name servers with --mcp-config or upstreams.<id>.")
	}
	var why strings.Builder
	for _, s := range p.stays {
		fmt.Fprintf(&why, "\n  %s: %v", s.name, s.why)
	}
	return fault.Newf(fault.CapabilityUnsupported, "none of the servers in %s can be moved:%s", p.file.path, why.String()).
		WithHint("Change what is named, or give the servers with --mcp-config or upstreams.<id>.")
}

// remove plans to take the entry back, and with it the move of other servers.
func (p *plan) remove() error {
	d, err := p.open()
	if err != nil {
		return err
	}
	if err := p.checkName(d); err != nil {
		return err
	}
	if err := p.findStore(d); err != nil {
		return err
	}
	before := d.bytes()
	if p.store != nil {
		if err := p.store.back(d); err != nil {
			return err
		}
		for _, one := range p.store.Koan.Moved {
			if !slices.Contains(p.moved, one.Name) { // which may be several pieces
				p.moved = append(p.moved, one.Name)
			}
		}
		p.edited = p.store.differs(p.client)
	}
	d.take(p.Entry.Name)
	p.now = d.bytes()
	if bytes.Equal(p.now, before) {
		p.now = p.file.was // an empty file stays empty
		return nil
	}
	return p.clean(d)
}

// report says what becomes of the servers.
func (p *plan) report(out io.Writer) {
	if p.file.real != p.file.path {
		fmt.Fprintf(out, "%s is a link: %s is what is changed.\n", p.file.path, p.file.real)
	}
	if p.notYet != "" {
		fmt.Fprintf(out, "There is no %s yet: %s has not run here, or is not installed. It will find the entry there.\n", p.notYet, p.client.title)
	}
	for _, s := range p.stays {
		fmt.Fprintf(out, "%s stays where it is: %v.\n", s.name, s.why)
	}
	if len(p.edited) > 0 && !p.shared {
		fmt.Fprintf(out, "Servers that were added or changed in %s are not returned, but kept in its copy: %s.\n", p.storeFile.path, strings.Join(p.edited, ", "))
	}
}

func (p *plan) reportUnchanged(out io.Writer) {
	if p.Remove {
		fmt.Fprintf(out, "Nothing to remove: %s has no %q.\n", p.file.path, p.Entry.Name)
		return
	}
	fmt.Fprintf(out, "Nothing to change: %s has %q as it should be.\n", p.file.path, p.Entry.Name)
}

// show prints the change, without the secrets of servers.
func (p *plan) show(out io.Writer) error {
	from := p.file.path
	if p.file.fresh {
		from = "/dev/null"
	}
	to := p.file.path
	if p.gone {
		to = "/dev/null"
	}
	text := diff.Diff(from, p.file.was, to, p.now)
	_, text, _ = bytes.Cut(text, []byte("\n")) // "diff a b", which nothing reads
	v := newMask(p.client, p.file.was, p.now)
	for _, line := range strings.SplitAfter(string(text), "\n") {
		if !strings.HasPrefix(line, "@@") {
			line = short(v.line(line))
		}
		if _, err := io.WriteString(out, line); err != nil {
			return err
		}
	}
	if p.Print || p.Agree != nil {
		p.reportMoved(out, "Would move to", "Would return from")
	}
	return nil
}

// reportMoved says which servers go into the store, or come back from it.
func (p *plan) reportMoved(out io.Writer, to, from string) {
	if p.store == nil || len(p.moved) == 0 {
		return
	}
	if p.Remove {
		to = from
	}
	fmt.Fprintf(out, "\n%s %s: %s.\n", to, p.storeFile.path, strings.Join(p.moved, ", "))
}

// short cuts a line of a file in which a client keeps more than its configuration.
func short(line string) string {
	const most = 240
	if len(line) <= most {
		return line
	}
	return strings.ToValidUTF8(line[:most], "") + " …\n"
}

// write makes the change. The store comes first when servers move into it, and goes last
// when they return, so that a server is never nowhere.
func (p *plan) write(out io.Writer) error {
	copied, err := p.file.keepCopy(p.Now)
	if err != nil {
		return err
	}
	if err := p.file.unchanged(); err != nil {
		_ = os.Remove(copied)
		return err
	}
	if p.Gateway && !p.Remove {
		if err := os.MkdirAll(filepath.Dir(p.storeFile.path), 0o700); err != nil {
			return cannot("write", p.storeFile.path, err)
		}
		if err := p.storeFile.write(p.store.encode()); err != nil {
			return err
		}
	}
	write := func() error { return p.file.write(p.now) }
	if p.gone {
		write = p.file.removeFile
	}
	if err := write(); err != nil {
		if p.Gateway && !p.Remove {
			err = p.undoStore(err)
		}
		return err
	}
	p.reportMoved(out, "Moved to", "Returned from")
	done := "Wrote"
	if p.gone {
		done = "Deleted, since it was made for this entry alone:"
	}
	fmt.Fprintf(out, "\n%s %s.\n", done, p.file.path)
	if copied != "" {
		fmt.Fprintf(out, "The file as it was: %s\n", copied)
	}
	if p.Remove && p.store != nil && !p.shared {
		kept, err := p.storeFile.keepCopy(p.Now)
		if err != nil {
			return err
		}
		if err := p.storeFile.removeFile(); err != nil {
			return err
		}
		fmt.Fprintf(out, "The file with the servers that were returned: %s\n", kept)
	}
	switch {
	case len(p.needs) == 0 || p.Remove:
	case p.passes == "" && p.reference == "":
		fmt.Fprintf(out, "%s passes no variables on: write %s with their values into the entry's env.\n", p.title, strings.Join(p.needs, ", "))
	default:
		fmt.Fprintf(out, "%s must have these variables in its environment: %s.\n", p.title, strings.Join(p.needs, ", "))
	}
	fmt.Fprintf(out, "Restart %s, or reload its servers, to take it up.\n", p.title)
	return nil
}

// undoStore leaves the store as it was, since the client's file was not changed.
func (p *plan) undoStore(because error) error {
	if p.storeFile.fresh {
		_ = os.Remove(p.storeFile.real)
		return because
	}
	was := *p.storeFile
	was.was = p.store.encode()
	if err := was.write(p.storeFile.was); err != nil {
		return fmt.Errorf("%w; and %s has servers that are still in %s", because, p.storeFile.path, p.file.path)
	}
	return because
}

// union returns the names of both, sorted.
func union(a, b []string) []string {
	out := append(slices.Clone(a), b...)
	slices.Sort(out)
	return slices.Compact(out)
}
