package upstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
)

// maxMessage bounds one message of a server, in bytes.
const maxMessage = 16 << 20

// errMessageTooLong ends a connection, since it is not known which call such a message
// belongs to.
var errMessageTooLong = fmt.Errorf("it sent a message of more than %d bytes", maxMessage)

// inherited are the variables of the app's environment that a server gets: those that
// programs need to start, and no secrets. All others must be configured.
var inherited = []string{
	"HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "TEMP", "TMP",
	"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS",
	"XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR",
	"APPDATA", "LOCALAPPDATA", "PROGRAMFILES", "SYSTEMDRIVE", "SYSTEMROOT", "USERNAME", "USERPROFILE", "PATHEXT", "HOMEDRIVE", "HOMEPATH", "COMSPEC",
}

// process is a server that runs as a child and speaks over its standard input and output.
type process struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   *messageReader
	says  *tail
	ended chan struct{} // closed when it has been reaped
	once  sync.Once
}

// noFolder says that a server's working directory is not there.
type noFolder struct{ dir string }

func (e *noFolder) Error() string { return "its cwd " + e.dir + " is not a folder that is there" }

// startProcess starts a server. ancestors is the variable by which it knows from which servers it comes.
func startProcess(r *resolved, ancestors string) (*process, error) {
	if info, err := os.Stat(r.dir); r.dir != "" && (err != nil || !info.IsDir()) {
		return nil, &noFolder{r.dir}
	}
	cmd := exec.Command(r.command[0], r.command[1:]...)
	cmd.Dir = r.dir
	for _, name := range inherited {
		if v, ok := os.LookupEnv(name); ok && !strings.HasPrefix(v, "()") { // a function of the shell
			cmd.Env = append(cmd.Env, name+"="+v)
		}
	}
	for name, v := range r.env {
		cmd.Env = append(cmd.Env, name+"="+v)
	}
	slices.Sort(cmd.Env)
	cmd.Env = append(cmd.Env, ancestorsKey+"="+ancestors) // the last one counts
	ownGroup(cmd)
	p := &process{cmd: cmd, says: &tail{}, ended: make(chan struct{})}
	cmd.Stderr = p.says
	cmd.WaitDelay = 250 * time.Millisecond // for children of its own that keep its standard error
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	// Not StdoutPipe, which Wait closes: the process is to be missed at once, and what it wrote
	// before it ended is to be read.
	out, theirs, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd.Stdout = theirs
	err = cmd.Start()
	_ = theirs.Close()
	if err != nil {
		_ = out.Close()
		return nil, notStarted(r.command[0], err)
	}
	p.in, p.out = in, newMessageReader(out)
	go p.reap()
	go func() {
		<-p.out.done
		_ = out.Close()
		p.terminate()
	}()
	return p, nil
}

// notStarted is why a program cannot be started, without the names of system calls.
func notStarted(program string, err error) error {
	var path *fs.PathError
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return &explained{text: "there is no program " + program + " in PATH", err: err}
	case errors.As(err, &path):
		return &explained{text: program + " cannot be started: " + path.Err.Error(), err: err}
	}
	return err
}

// reap waits for the process. Children of one that was killed, or failed, end with it: they have its
// standard output, and calls would wait for responses that nobody writes.
func (p *process) reap() {
	_ = p.cmd.Wait()
	if !p.cmd.ProcessState.Success() {
		signalGroup(p.cmd.Process, true)
	}
	close(p.ended)
}

// transport returns the process as a transport of the client library.
func (p *process) transport() transport.Interface {
	return transport.NewIO(p.out, p.in, io.NopCloser(strings.NewReader("")))
}

// terminate ends the process: it closes its input, waits, signals it, waits, and kills it.
func (p *process) terminate() {
	p.once.Do(func() {
		const politely, firmly = 2 * time.Second, 2 * time.Second
		_ = p.in.Close()
		select {
		case <-p.ended:
		case <-time.After(politely):
			signalGroup(p.cmd.Process, false)
			select {
			case <-p.ended:
			case <-time.After(firmly):
				signalGroup(p.cmd.Process, true)
			}
		}
	})
	<-p.ended
}

// tail keeps the end of a server's standard error.
type tail struct {
	mu   sync.Mutex
	text []byte
}

func (t *tail) Write(b []byte) (int, error) {
	const most = 4 << 10
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, b...)
	if over := len(t.text) - most; over > 0 {
		t.text = append(t.text[:0], t.text[over:]...)
	}
	return len(b), nil
}

// A line that says why a program ended: of Node.js, Python, Go and others; and of npm, whose
// first line but the code says it.
var (
	reason    = regexp.MustCompile(`(?i)^([\w.]*(error|exception)( \[\w+\])?|panic|fatal( error)?): \S`)
	npmReason = regexp.MustCompile(`(?i)^npm err(or|!) (.+)`)
)

// last returns the line that says why the program ended, as far as that can be seen: else the
// last line that is not blank.
func (t *tail) last() string {
	t.mu.Lock()
	lines := strings.Split(strings.TrimSpace(string(t.text)), "\n")
	t.mu.Unlock()
	best := lines[len(lines)-1]
	for _, line := range slices.Backward(lines) {
		line = strings.TrimSpace(line)
		if reason.MatchString(line) {
			return plainText(line, 300)
		}
		if m := npmReason.FindStringSubmatch(line); m != nil && !strings.HasPrefix(m[2], "code ") {
			best = line
		}
	}
	return plainText(best, 300)
}

// why adds to a failure what the process wrote last, and how it ended.
func (p *process) why(err error) error {
	select {
	case <-p.ended:
	case <-time.After(100 * time.Millisecond): // it may be about to end
	}
	if errors.Is(p.out.failure(), errMessageTooLong) {
		return errMessageTooLong
	}
	var parts []string
	select {
	case <-p.ended:
		parts = append(parts, "it ended with "+p.cmd.ProcessState.String())
	default:
	}
	text := strings.Join(append(parts, p.words()...), "; ")
	switch {
	case text == "":
		return err
	case isCut(err), errors.Is(err, context.Canceled): // what the process says is the reason
		return &explained{text: text, err: err}
	}
	return &explained{text: err.Error() + "; " + text, err: err}
}

// words are what the process wrote last that is no message.
func (p *process) words() []string {
	var out []string
	if last := p.says.last(); last != "" {
		out = append(out, "its last words: "+last)
	}
	if said := p.out.said.Load(); said != nil {
		out = append(out, "its standard output, where only messages belong, has: "+*said)
	}
	return out
}

// late adds to the end of the time for a start what the process wrote.
func (p *process) late(err error) error {
	return &explained{text: strings.Join(append([]string{err.Error()}, p.words()...), "; "), err: err}
}

// explained is an error with another message.
type explained struct {
	text string
	err  error
}

func (e *explained) Error() string { return e.text }

func (e *explained) Unwrap() error { return e.err }
