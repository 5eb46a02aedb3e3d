package upstream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/journal"
	"github.com/koan-go/koan/plugins/internal/reference"
)

// checkPrefix begins the names of the checks of servers.
const checkPrefix = "upstream "

// Checks connects each server, and reports its problems.
func (p *Provider) Checks(ctx context.Context) []catalog.Check {
	return append(inspect(ctx, p.servers), checksOf(p.leftOut)...)
}

// inspect connects servers, all at the same time.
func inspect(ctx context.Context, servers []*server) []catalog.Check {
	out := make([]catalog.Check, len(servers))
	var all sync.WaitGroup
	for i, s := range servers {
		all.Go(func() { out[i] = overview{s}.check(ctx) })
	}
	all.Wait()
	return out
}

// checksOf returns the checks of entries that are left out.
func checksOf(leftOut []Config) []catalog.Check {
	var out []catalog.Check
	for _, c := range leftOut {
		out = append(out, c.leftOutCheck())
	}
	return out
}

// overview is a server as the command line shows it.
type overview struct{ *server }

// check connects a server. What is shown of it has nothing that looks like a secret: the
// server may have written it.
func (s overview) check(ctx context.Context) catalog.Check {
	c := s.connects(ctx)
	var plain *journal.Redactor
	c.Detail, _ = plain.Text(c.Detail)
	c.Hint, _ = plain.Text(c.Hint)
	return c
}

func (s overview) connects(ctx context.Context) catalog.Check {
	c := catalog.Check{Name: checkPrefix + s.cfg.ID}
	if s.cfg.wrong != nil {
		c.Detail, c.Hint = strings.ReplaceAll(s.cfg.wrong.Error(), "\n", "; "), "Correct this entry."
		return c
	}
	conn, err := s.acquire(ctx, localUser)
	if f := fault.From(err); err != nil {
		c.Detail, c.Hint = f.Message, f.Hint
		if why := errors.Unwrap(f); f.Code == fault.ServiceUnavailable && why != nil {
			c.Detail, c.Hint = why.Error(), s.advice(why)
		}
		return c
	}
	o := s.current()
	c.OK = true
	c.Detail = fmt.Sprintf("%s, %s, about %s of tools/list, protocol %s", cmp.Or(strings.TrimSpace(conn.about.Name+" "+conn.about.Version), "no name"), catalog.Counted(o.tools, "tool"), catalog.Counted(s.listTokens(), "token"), conn.about.Protocol)
	if credentials, _, err := s.people.credentials(&s.cfg, localUser); err == nil && credentials != nil {
		c.Detail += ", signed in"
	}
	if n := len(o.reduced); n > 0 {
		c.Detail += fmt.Sprintf("; %s of which not all can be used: %s", catalog.Counted(n, "tool"), cut(strings.Join(o.reduced, ", "), 600))
	}
	s.mu.Lock()
	wrong := s.listing.Wrong
	s.mu.Unlock()
	for _, what := range wrong {
		c.Detail += "; " + what
		c.Hint = "Report it to the server's author."
	}
	if s.cfg.shared != "" {
		c.Detail += "; " + s.cfg.shared
	}
	if len(s.cfg.notes) > 0 {
		c.Detail += "; not followed: " + strings.Join(s.cfg.notes, ", ")
	}
	if len(o.skipped) > 0 {
		c.OK = false
		c.Detail += "; left out: " + strings.Join(o.skipped, "; ")
		c.Hint = "Report it to the server's author."
	}
	if idle := s.cfg.IdlePatterns(o.names); len(idle) > 0 {
		for i, pattern := range idle { // of a client's file
			idle[i] = plainText(pattern, 100)
		}
		c.Detail += "; no tool fits " + strings.Join(idle, ", ")
		c.Hint = strings.TrimSpace(c.Hint + " Correct the patterns: `" + s.people.typed("sdk") + "` names the tools.")
	}
	return c
}

// advice says what to do about a server that cannot be reached.
func (s *faults) advice(why error) string {
	if u := (*reference.Unresolved)(nil); errors.As(why, &u) {
		return u.Advice(s.cfg.Place)
	}
	if errors.As(why, new(*noFolder)) {
		return "Make the folder, or correct the cwd of " + s.cfg.Place + "."
	}
	if errors.As(why, new(*circle)) {
		return "Give the inner app a configuration of its own: --config FILE in the command of " + s.cfg.Place + ", or a cwd. If the entry is this app itself, remove it."
	}
	slow := errors.As(why, new(*slowStart))
	if command, _ := s.cfg.shown(); len(command) > 0 {
		text := "Run the command in a terminal: `" + shellCommand(command) + "`."
		if slow {
			text += fmt.Sprintf(" If it is only slow, as a first start with npx is, set upstreams.%s.startMs.", s.cfg.ID)
		}
		return text
	}
	text := "Check the url and the headers of " + s.cfg.Place + "."
	if slow {
		text += fmt.Sprintf(" A server that needs more time gets it with upstreams.%s.startMs.", s.cfg.ID)
	}
	return text
}

// shellCommand returns a command as one types it into a shell.
func shellCommand(words []string) string {
	var out []string
	for _, w := range words {
		out = append(out, catalog.ShellWord(w))
	}
	return strings.Join(out, " ")
}

// Commands are `upstream list`, `check`, `login` and `logout`.
func (p *Provider) Commands() []*catalog.Command {
	return []*catalog.Command{{
		Name: "upstream", Short: "Show the other MCP servers that scripts reach",
		Sub: append([]*catalog.Command{
			{
				Name: "list", Short: "Show the configured servers, and what is known of their tools",
				Long: "Shows the configured servers and the tools that they listed last. It connects none of them.", Example: "upstream list --mcp-config mcp.json", Run: listServers,
			},
			{
				Name: "check", Short: "Connect each server, and say what is wrong", Example: "upstream check --mcp-config mcp.json",
				Long: "Connects each configured server and lists its tools. The status is 1 where one of them cannot be used.", Run: checkServers,
			},
		}, signInCommands()...),
	}}
}

// standing returns the configured servers, for commands that do not start the app, and the entries
// that are left out.
func standing(ctx context.Context, host catalog.Host) (out []*server, leftOut []Config, err error) {
	all, err := configured(host.Settings())
	if err != nil {
		return nil, nil, err
	}
	configs, leftOut := apart(all)
	kept, users := &cache{dir: cacheDir(host)}, newPeople(host, configs, nil)
	for _, c := range configs {
		s := newServer(ctx, c, host, kept, users, func() {})
		if l, err := kept.read(&c); err == nil && l != nil {
			s.take(l, false)
		}
		out = append(out, s)
	}
	return out, leftOut, nil
}

// noServers is what the commands say of a configuration without servers.
const noServers = "No servers are configured: name a file of Claude, Cursor, VS Code or Codex with --mcp-config FILE, or servers in koan.yaml (upstreams.<id>.command or upstreams.<id>.url).\n"

func listServers(ctx context.Context, host catalog.Host, in *catalog.Invocation) error {
	servers, leftOut, err := standing(ctx, host)
	if err != nil {
		return err
	}
	for _, c := range leftOut {
		if c.off != "" {
			in.Err.Printf("%s.\n", c.off)
			continue
		}
		in.Err.Printf("%s. %s\n", c.wrong, renameHint)
	}
	if len(servers)+len(leftOut) == 0 {
		in.Err.Printf("%s", noServers)
		return nil
	}
	rows := [][]catalog.Cell{{{Text: "SERVER"}, {Text: "REACHED BY"}, {Text: "TOOLS"}, {Text: "SEEN"}, {Text: "SIGN-IN"}}}
	for _, s := range servers {
		command, by := s.cfg.shown()
		if len(command) > 0 {
			by = strings.Join(command, " ")
		}
		tools, seen := "not known yet", "never"
		if s.listing != nil {
			tools, seen = strconv.Itoa(s.offer.tools), s.listing.At.Format("2006-01-02 15:04")
		}
		rows = append(rows, []catalog.Cell{{Text: s.cfg.ID}, {Text: cut(by, 60)}, {Text: tools}, {Text: seen}, overview{s}.signInState(time.Now())})
	}
	in.Out.Table(rows)
	return nil
}

func checkServers(ctx context.Context, host catalog.Host, in *catalog.Invocation) error {
	servers, leftOut, err := standing(ctx, host)
	if err != nil {
		return err
	}
	if len(servers)+len(leftOut) == 0 {
		in.Err.Printf("%s", noServers)
		return nil
	}
	for _, s := range servers {
		s.log = slog.New(slog.DiscardHandler) // the table says the same
	}
	defer func() {
		var all sync.WaitGroup
		for _, s := range servers {
			all.Go(s.close)
		}
		all.Wait()
	}()
	checks := append(inspect(ctx, servers), checksOf(leftOut)...)
	rows := [][]catalog.Cell{}
	for _, c := range checks {
		state := catalog.Cell{Text: "ok", Mood: catalog.Good}
		if !c.OK {
			state = catalog.Cell{Text: "failed", Mood: catalog.Bad}
		}
		rows = append(rows, []catalog.Cell{state, {Text: strings.TrimPrefix(c.Name, checkPrefix)}, {Text: c.Detail}})
		if c.Hint != "" {
			rows = append(rows, []catalog.Cell{{}, {}, {Text: c.Hint, Mood: catalog.Faint}})
		}
	}
	in.Out.Table(rows)
	if err := reportTokens(ctx, servers, in); err != nil {
		return err
	}
	if slices.ContainsFunc(checks, func(c catalog.Check) bool { return !c.OK }) {
		return errors.New("not every server can be used")
	}
	return nil
}
