package plugins

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/journal"
	"github.com/koan-go/koan/plugins/internal/plain"
	"github.com/koan-go/koan/plugins/internal/queue"
	"github.com/koan-go/koan/plugins/internal/wire"
)

const (
	firstDelay  = 200 * time.Millisecond // before the second start after a death
	lastDelay   = 30 * time.Second
	stableAfter = 10 * time.Second // a process that lived that long had nothing wrong with its start
)

// plugin is one plugin and its processes, one after the other.
type plugin struct {
	executable
	configured *configuration
	provider   *Provider
	log        *slog.Logger
	queue      *queue.Queue // of calls
	crashes    crashes
	folders    []string // that it reads by its settings, as its last manifest tells
	stateDir   string   // where it keeps its state, "" if it keeps none
	firstStart

	// Under the provider's lock.
	cancel  context.CancelFunc // ends it; nil before it has begun
	uses    int                // catalogs that offer it
	retired bool               // it ends when none does

	mu  sync.Mutex
	now state
}

// state is the state of a plugin at one moment.
type state struct {
	proc       *process // nil while none runs
	failure    error    // why none runs
	refused    bool     // and none will
	next       time.Time
	changed    chan struct{} // closed when the state is no longer this one
	manifest   *wire.Manifest
	digest     string // of the files of the process that was adopted last
	operations []*catalog.Operation
	restarts   int
	yields     string // what has its name, "" for nothing
}

func newPlugin(e executable, c *configuration, p *Provider) *plugin {
	return &plugin{
		executable: e, configured: c, provider: p, log: p.host.Log().With("plugin", e.name),
		queue: queue.New(cmp.Or(c.MaxParallel, defaultMaxParallel)), firstStart: newFirstStart(), now: state{changed: make(chan struct{}), failure: publicReason("it is starting")},
	}
}

func (p *plugin) state() state {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.now
}

func (p *plugin) update(change func(*state)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(&p.now)
	close(p.now.changed)
	p.now.changed = make(chan struct{})
}

// supervise keeps a process running until ctx ends. slots bounds how many
// plugins start at the same time.
func (p *plugin) supervise(ctx context.Context, slots chan struct{}) {
	tried := sync.OnceFunc(func() { close(p.tried) })
	defer tried()
	defer p.end()
	if slices.Contains(p.provider.offering(), p) && recall(p) {
		tried()
		if p.provider.host.OneShot() { // it may never be used
			p.awaitUse(ctx)
		}
	}
	var delay time.Duration
	for {
		if p.replaced() { // the file is another plugin's
			p.update(func(s *state) {
				s.refused, s.failure = true, publicReason("its file was replaced or removed, and the process of runs that had begun with it has ended")
			})
			return
		}
		proc, err := p.startOne(ctx, slots, func() { tried(); p.end() })
		if err == nil {
			tried()
			p.end()
			if lived := p.watch(ctx, proc); lived > stableAfter || proc.used.Load() { // what it died of is a call: only that one waits
				delay = 0
			}
		} else if !p.failed(ctx, err, delay) {
			return
		}
		tried()
		p.end()
		p.update(func(s *state) { s.next = time.Now().Add(delay) })
		select {
		case <-ctx.Done():
			p.update(func(s *state) { s.refused, s.failure = true, publicReason("the app is stopping") })
			return
		case <-time.After(delay):
		}
		delay = min(max(2*delay, firstDelay), lastDelay)
	}
}

// replaced reports whether the plugin's file was changed or removed.
func (p *plugin) replaced() bool {
	p.provider.mu.Lock()
	defer p.provider.mu.Unlock()
	return p.retired
}

// startOne starts a process in its turn. One that does nothing keeps neither its turn nor the app's
// start waiting, which tried ends.
func (p *plugin) startOne(ctx context.Context, slots chan struct{}, tried func()) (*process, error) {
	select {
	case slots <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	leave := sync.OnceFunc(func() { <-slots })
	defer leave()
	return p.start(ctx, func() {
		p.log.Warn("the plugin takes long to start; nobody waits for it", "path", p.path)
		leave()
		tried()
	})
}

// failed records why a start failed, and reports whether to try again.
func (p *plugin) failed(ctx context.Context, err error, delay time.Duration) bool {
	var r *refusal
	var c *configurationError
	final := errors.As(err, &r) || errors.As(err, &c) && !c.again
	p.update(func(s *state) { s.proc, s.failure, s.refused = nil, err, final })
	if ctx.Err() == nil {
		p.log.Error("the plugin does not start", "path", p.path, "error", err.Error(), "again", !final, "delay", delay)
	}
	return !final
}

// watch waits for the end of a process, or of ctx, and cleans up after it. It
// returns how long the process lived.
func (p *plugin) watch(ctx context.Context, proc *process) time.Duration {
	select {
	case <-proc.gone:
		what := "the plugin died; it is being restarted"
		if proc.hung.Load() {
			what = fmt.Sprintf("the plugin has answered nothing for %s; it is being replaced", p.provider.opts.SilentAfter)
		}
		p.log.Warn(what, "pid", proc.child.ID())
	case <-ctx.Done():
	}
	p.update(func(s *state) {
		s.proc, s.failure, s.restarts = nil, publicReason("it died and is being restarted"), s.restarts+1
	})
	if ctx.Err() == nil {
		proc.kill() // no use asking a process that is as good as dead
	}
	proc.stop()
	return time.Since(proc.started)
}

// start starts a process, reads its manifest and configures it.
func (p *plugin) start(ctx context.Context, idle func()) (*process, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err := checkWritable(p.executable); err != nil {
		return nil, err
	}
	digest, err := p.provider.locks.check(p.executable)
	if err != nil {
		return nil, err
	}
	hashed := sync.OnceValue(digest)
	err = errMoreFolders
	for range 3 { // one whose manifest is another each time never starts
		proc, failed := p.launch(ctx, idle)
		if failed != nil {
			return nil, explain(failed)
		}
		proc.digest = hashed()
		if err = p.admit(ctx, proc); err == nil {
			return proc, nil
		}
		proc.stop()
		if !errors.Is(err, errMoreFolders) {
			break
		}
	}
	return nil, err
}

// errMoreFolders says that a plugin has to be started once more, since only its manifest has told which
// folders it reads and whether it keeps state.
var errMoreFolders = errors.New("it tells other folders at each start")

// explain makes a refusal of the error of a handshake that can never succeed.
func explain(err error) error {
	var c *configurationError
	if errors.As(err, &c) {
		return c
	}
	if strings.Contains(err.Error(), "ncompatible API version") {
		return &refusal{fmt.Sprintf("refused: it does not speak the contract version of this app, %d (%s)", wire.ContractVersion, oneLine(err))}
	}
	return errors.New(oneLine(err))
}

func oneLine(err error) string { return plain.Line(err.Error()) }

func (p *plugin) admit(ctx context.Context, proc *process) error {
	ctx, cancel := context.WithTimeout(ctx, p.provider.opts.StartTimeout)
	defer cancel()
	m, err := p.describe(ctx, proc)
	if err != nil {
		return err
	}
	settings, secrets, err := settingsOf(p, m)
	if err != nil {
		return err
	}
	p.provider.secrets.Add(secrets...)
	missing := prepareState(p, proc, m)
	if missing != nil && !errors.Is(missing, errMoreFolders) {
		return missing
	}
	if more := p.configured.foldersOf(m, settings); proc.place.jail != nil && !slices.Equal(more, p.folders) {
		p.folders = more
		return errMoreFolders
	}
	if missing != nil {
		return missing
	}
	answer, err := proc.conn.Configure(ctx, &wire.ConfigureRequest{Settings: settings, StateDir: p.stateDir})
	if err != nil {
		return fmt.Errorf("it rejected its settings: %s", journal.RedactValues(err.Error(), secrets))
	}
	if len(answer.GetFault()) > 0 {
		f, err := fault.Decode(answer.GetFault())
		if err != nil {
			return err
		}
		return &configurationError{why: journal.RedactValues(fmt.Sprintf("%s.%s: %s", keyOpen, p.name, f.Message), secrets)}
	}
	p.configured.noteGrants(p.name, m, p.log)
	proc.manifest = m
	keep(p, proc, m, settings)
	go proc.watchHealth(p.provider.opts.SilentAfter)
	go proc.watchState(p.stateDir, &p.configured.isolation, p.log)
	p.adopt(proc)
	return nil
}

// describe returns what a process says of the plugin, once that is checked.
func (p *plugin) describe(ctx context.Context, proc *process) (*wire.Manifest, error) {
	m, err := proc.conn.Describe(ctx, &wire.DescribeRequest{App: p.provider.host.App(), AppVersion: p.provider.host.Version()}, grpc.MaxCallRecvMsgSize(2*wire.MaxManifestBytes))
	if status.Code(err) == codes.ResourceExhausted {
		return nil, &refusal{fmt.Sprintf("refused: its description has more than %d bytes", wire.MaxManifestBytes)}
	}
	if err != nil {
		return nil, fmt.Errorf("describing itself failed: %w", err)
	}
	return m, checkManifest(p.name, m)
}

// adopt makes calls go to a process.
func (p *plugin) adopt(proc *process) {
	fresh := false
	p.update(func(s *state) {
		s.proc, s.failure, s.digest = proc, nil, proc.digest
		if s.manifest == nil || !sameManifest(s.manifest, proc.manifest) {
			s.manifest, s.operations, fresh = proc.manifest, operationsOf(p, proc.manifest), true
		}
	})
	p.log.Info("the plugin is running", "version", proc.manifest.GetVersion(), "pid", proc.child.ID(), "startMs", time.Since(proc.started).Milliseconds())
	p.provider.putInPlace(p, fresh)
}

// acquire returns the running process. It waits for one that is being started, up to
// Options.RestartWait.
func (p *plugin) acquire(ctx context.Context) (*process, error) {
	p.want()
	patience := p.provider.opts.RestartWait
	if !p.isOver() { // it is known from an earlier start, and has not been started in this one
		patience = max(patience, p.provider.opts.StartTimeout)
	}
	deadline := time.Now().Add(patience)
	for {
		s := p.state()
		if s.proc != nil {
			if s.proc.ready() {
				return s.proc, nil
			}
			s.proc.discard()
		}
		if s.refused || s.proc == nil && s.next.After(deadline) {
			return nil, p.unavailable(s.failure)
		}
		wait := time.NewTimer(time.Until(deadline))
		select {
		case <-s.changed:
			wait.Stop()
		case <-ctx.Done():
			wait.Stop()
			return nil, ctx.Err()
		case <-wait.C:
			return nil, p.unavailable(s.failure)
		}
	}
}

// publicReason is why a plugin does not run, for its callers. Other reasons have paths of
// the machine and texts of the plugin, which only the log and `doctor` show.
type publicReason string

func (s publicReason) Error() string { return string(s) }

func (p *plugin) unavailable(why error) *fault.Fault {
	said := publicReason("it does not start")
	_ = errors.As(why, &said)
	return fault.Newf(fault.PluginUnavailable, "the plugin %s is not running: %s", p.name, said).Because(why)
}

// kill ends the running process at once.
func (p *plugin) kill() {
	if s := p.state(); s.proc != nil {
		s.proc.kill()
	}
}

// check is the plugin's line of `doctor`.
func (p *plugin) check() catalog.Check {
	s := p.state()
	c := catalog.Check{Name: checkName(p.name)}
	if s.proc == nil || !s.proc.ready() {
		if s.failure == nil {
			s.failure = publicReason("it died and is being restarted")
		}
		c.Detail = fmt.Sprintf("%s: %s", p.path, plain.Line(s.failure.Error()))
		c.Hint = "See its output in the log; rebuild it against this version, or take it out of " + p.provider.dir + "."
		if other := (*mismatch)(nil); errors.As(s.failure, &other) {
			c.Hint = other.hint
		}
		if open := (*openFile)(nil); errors.As(s.failure, &open) {
			c.Hint = open.hint()
		}
		return c
	}
	c.OK = !s.proc.unwell()
	c.Detail = fmt.Sprintf("version %s, contract %d, %s, pid %s, functions: %d, restarts: %d",
		ownerOf(s.manifest).Version, s.manifest.GetContractVersion(), s.proc.place, s.proc.child.ID(), len(s.operations), s.restarts)
	if !c.OK {
		c.Detail += "; it does not answer"
		c.Hint = fmt.Sprintf("It is replaced when it has answered nothing for %s. See its output in the log.", p.provider.opts.SilentAfter)
	}
	if s.yields != "" {
		c.OK = false
		c.Detail += "; it is not offered, since its name is that of " + s.yields
		c.Hint = "Give the plugin another domain and its file that name, or rename the other."
	}
	var all []string
	for _, f := range s.manifest.GetFunctions() {
		all = append(all, f.GetName())
	}
	if idle := p.configured.IdlePatterns(all); len(idle) > 0 {
		c.Detail += "; no function fits " + strings.Join(idle, ", ")
		c.Hint = fmt.Sprintf("Correct the patterns below %s.%s; its functions are %s.", keyOpen, p.name, strings.Join(all, ", "))
	}
	if idle := p.configured.idleGrants(s.manifest); len(idle) > 0 {
		c.OK = false
		c.Detail += "; it does not ask for " + strings.Join(idle, ", ")
		c.Hint = fmt.Sprintf("Take out of %s.%s.grants what the plugin does not ask for.", keyOpen, p.name)
	}
	if unmet := p.configured.unmetNeeds(s.manifest); len(unmet) > 0 {
		c.Detail += "; not granted: " + strings.Join(unmet, ", ")
	}
	if about := ownerOf(s.manifest).Description; about != "" {
		c.Detail += ": " + about
	}
	return c
}

// replacing is the line of `doctor` for a plugin whose file has changed while the plugin
// of the new file, p, does not run.
func (p *plugin) replacing(check catalog.Check) catalog.Check {
	s := p.state()
	check.OK = false
	check.Detail += fmt.Sprintf("; its file or its settings have changed since, and the new version does not run: %s", plain.Line(fmt.Sprint(s.failure)))
	check.Hint = "See its output in the log; rebuild it against this version, or put the earlier file back."
	return check
}
