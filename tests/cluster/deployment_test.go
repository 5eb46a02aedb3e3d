package cluster

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/koan-go/koan/tests/needs"
	"github.com/koan-go/koan/tests/pgtest"
	"github.com/koan-go/koan/tests/s3test"
)

// page is the how-to whose files the deployment is made of.
const page = "../../docs/howto/cluster.md"

// deployment is what the how-to describes, on one machine: each of its addresses is a port.
type deployment struct {
	t      *testing.T
	folder string
	ports  map[string]int // by address of the how-to
	nodes  [3]*process    // Patroni, and PostgreSQL under it
	apps   [3]*process
	bucket *s3test.Server
	async  bool // commits are acknowledged that no other server has
}

// deploy starts all of it.
func deploy(t *testing.T, async bool) *deployment {
	for _, program := range []string{"patroni", "etcd", "haproxy"} {
		needs.Program(t, program)
	}
	folder, err := os.MkdirTemp("", "koan-cluster-")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	d := &deployment{t: t, folder: folder, ports: map[string]int{}, bucket: s3test.Start(t), async: async}
	d.startEtcd()
	for i := range d.nodes {
		d.configureNode(i)
		d.startNode(i)
	}
	require.Eventually(t, func() bool { return len(d.members()) == 3 && d.streaming() }, 2*time.Minute, 200*time.Millisecond, "PostgreSQL does not start: %s", d.log("pg1"))
	leader := d.superuser(d.leader(), "postgres")
	pgtest.Psql(t, leader, strings.Split(strings.TrimSpace(d.fence("sql")), "\n")...)
	config := filepath.Join(folder, "haproxy.cfg")
	require.NoError(t, os.WriteFile(config, []byte(d.local(d.fence("text\nglobal"))+"\n"), 0o600))
	d.start("haproxy", nil, "haproxy", "-db", "-f", config)
	d.waitForBalancer()
	for i := range d.apps {
		d.startApp(i)
	}
	for i := range d.apps {
		d.waitForApp(i)
	}
	require.Eventually(t, func() bool {
		c, err := http.Get(d.url() + "/readyz")
		return err == nil && c.Body.Close() == nil && c.StatusCode == http.StatusOK
	}, time.Minute, 100*time.Millisecond)
	return d
}

// waitForBalancer waits until it knows which server is the primary: before its first checks it takes all for one.
func (d *deployment) waitForBalancer() {
	d.t.Helper()
	db, err := sql.Open("pgx", fmt.Sprintf("postgres://todo:SECRET@127.0.0.1:%d/todo", d.port("127.0.0.1:5000")))
	require.NoError(d.t, err)
	defer db.Close()
	db.SetMaxIdleConns(0) // each question by a connection of its own
	require.Eventually(d.t, func() bool {
		for range 6 {
			var standby bool
			if db.QueryRow("SELECT pg_is_in_recovery()").Scan(&standby) != nil || standby {
				return false
			}
		}
		return true
	}, time.Minute, 100*time.Millisecond, "the balancer does not serve: %s", d.log("haproxy"))
}

// fence returns the block of the page that begins with some text behind its fence.
func (d *deployment) fence(begins string) string {
	d.t.Helper()
	raw, err := os.ReadFile(page)
	require.NoError(d.t, err)
	_, block, found := strings.Cut(string(raw), "\n```"+begins)
	require.True(d.t, found, "%s has no block %q", page, begins)
	block, _, _ = strings.Cut(block, "\n```")
	_, first, _ := strings.Cut(begins, "\n")
	return first + block
}

// addresses are those of the how-to: of machines, and of HAProxy.
var addresses = regexp.MustCompile(`(10\.0\.0\.1[123]|127\.0\.0\.1|0\.0\.0\.0):\d+`)

// checks are HAProxy's, which have a port beside the address.
var checks = regexp.MustCompile(`(10\.0\.0\.1[123]):5432 check port 8008`)

// local returns a file of the how-to with this machine's ports in it.
func (d *deployment) local(text string) string {
	text = checks.ReplaceAllStringFunc(text, func(m string) string {
		host, _, _ := strings.Cut(m, ":")
		return fmt.Sprintf("127.0.0.1:%d check port %d", d.port(host+":5432"), d.port(host+":8008"))
	})
	text = addresses.ReplaceAllStringFunc(text, func(address string) string {
		for known, port := range d.ports {
			if address == "127.0.0.1:"+strconv.Itoa(port) && known != address {
				return address // one that is local already
			}
		}
		return "127.0.0.1:" + strconv.Itoa(d.port(address))
	})
	return strings.ReplaceAll(text, "10.0.0.0/24", "127.0.0.0/8")
}

// port returns the port here of an address of the how-to.
func (d *deployment) port(address string) int {
	if port, ok := d.ports[address]; ok {
		return port
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(d.t, err)
	defer l.Close()
	d.ports[address] = l.Addr().(*net.TCPAddr).Port
	return d.ports[address]
}

// machine is the address of a machine, from 0.
func machine(i int) string { return fmt.Sprintf("10.0.0.%d", 11+i) }

// url is that of the app, by the balancer.
func (d *deployment) url() string { return "http://127.0.0.1:" + strconv.Itoa(d.port("0.0.0.0:8080")) }

// process is one that ends with its test, with all that it has started.
type process struct {
	cmd   *exec.Cmd
	alive io.Closer
}

// watch starts a program, again each time it ends where the third argument is not empty, as systemd would. It ends it
// once its own input ends, which is when the test's process does. What PostgreSQL's file of its process says is
// ended, too.
const watch = `data=$1 log=$2 again=$3; shift 3
trap '' INT TERM HUP
(
  while :; do
    "$@" &
    echo $! >"$log.pid"
    wait $!
    [ -n "$again" ] || exit
    sleep 1
  done
) >>"$log" 2>&1 </dev/null &
read -r end
kill -KILL $! "$(cat "$log.pid")"
[ -f "$data/postmaster.pid" ] && kill -QUIT "$(head -n 1 "$data/postmaster.pid")"
wait`

// start starts a program, as somebody else where lent says so.
func (d *deployment) start(name string, lent *syscall.SysProcAttr, program string, args ...string) *process {
	return d.supervise(name, "", lent, append([]string{program}, args...))
}

// supervise starts a program that is started again where again is not empty.
func (d *deployment) supervise(name, again string, lent *syscall.SysProcAttr, program []string) *process {
	d.t.Helper()
	cmd := exec.Command("/bin/sh", append([]string{"-c", watch, "sh", filepath.Join(d.folder, name, "data"), d.logFile(name), again}, program...)...)
	cmd.Dir, cmd.SysProcAttr = d.folder, lent
	cmd.Env = append(os.Environ(), as+"=1")
	if lent == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	}
	alive, err := cmd.StdinPipe()
	require.NoError(d.t, err)
	require.NoError(d.t, cmd.Start())
	p := &process{cmd, alive}
	d.t.Cleanup(p.kill)
	return p
}

// kill ends a process at once.
func (p *process) kill() {
	_ = p.alive.Close()
	_ = p.cmd.Wait()
}

func (d *deployment) logFile(name string) string { return filepath.Join(d.folder, name+".log") }

// log is the end of a program's log.
func (d *deployment) log(name string) string {
	raw, _ := os.ReadFile(d.logFile(name))
	return string(raw[max(0, len(raw)-4000):])
}

func (d *deployment) startEtcd() {
	var members []string
	for i := range d.nodes {
		members = append(members, fmt.Sprintf("etcd%d=http://127.0.0.1:%d", i, d.port(machine(i)+":2380")))
	}
	for i := range d.nodes {
		name := fmt.Sprintf("etcd%d", i)
		client, peer := fmt.Sprintf("http://127.0.0.1:%d", d.port(machine(i)+":2379")), strings.TrimPrefix(members[i], name+"=")
		d.start(name, nil, "etcd", "--name", name, "--data-dir", filepath.Join(d.folder, name), "--log-level", "error",
			"--listen-client-urls", client, "--advertise-client-urls", client, "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
			"--initial-cluster", strings.Join(members, ","), "--initial-cluster-state", "new")
	}
}

// configureNode writes Patroni's file of a machine: that of the page with the machine's own name and
// addresses.
func (d *deployment) configureNode(i int) {
	own := filepath.Join(d.folder, fmt.Sprintf("pg%d", i+1))
	require.NoError(d.t, os.MkdirAll(own, 0o755))
	text := d.fence("yaml\nscope: todo")
	text = regexp.MustCompile(`10\.0\.0\.11:(8008|5432)`).ReplaceAllString(text, machine(i)+":$1")
	text = strings.Replace(text, "name: pg1", fmt.Sprintf("name: pg%d", i+1), 1)
	var config map[string]any
	require.NoError(d.t, yaml.Unmarshal([]byte(d.local(text)), &config))
	at := config["postgresql"].(map[string]any)
	at["data_dir"], at["bin_dir"] = filepath.Join(own, "data"), d.binaries()
	at["pgpass"] = filepath.Join(own, "pgpass")
	at["parameters"] = map[string]any{"unix_socket_directories": own, "fsync": "off", "max_locks_per_transaction": 512, "shared_buffers": "32MB"}
	if d.async {
		config["bootstrap"].(map[string]any)["dcs"].(map[string]any)["synchronous_mode"] = false
	}
	raw, err := yaml.Marshal(config)
	require.NoError(d.t, err)
	require.NoError(d.t, os.WriteFile(filepath.Join(own, "patroni.yml"), raw, 0o644))
}

// binaries is where PostgreSQL's programs are.
func (d *deployment) binaries() string {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	if len(found) == 0 {
		needs.Missing(d.t, "PostgreSQL of Debian")
	}
	return found[len(found)-1]
}

func (d *deployment) startNode(i int) {
	name := fmt.Sprintf("pg%d", i+1)
	own := filepath.Join(d.folder, name)
	require.NoError(d.t, os.Chmod(d.folder, 0o777)) //nolint:gosec // somebody else writes a log there
	lent, err := pgtest.Lend(own)
	require.NoError(d.t, err)
	d.nodes[i] = d.start(name, lent, "patroni", filepath.Join(own, "patroni.yml"))
}

// crash ends a machine's PostgreSQL as a crash would. Patroni stays.
func (d *deployment) crash(i int) {
	d.t.Helper()
	raw, err := os.ReadFile(filepath.Join(d.folder, fmt.Sprintf("pg%d", i+1), "data", "postmaster.pid"))
	if err != nil {
		return // it is down already
	}
	pid, err := strconv.Atoi(strings.TrimSpace(strings.SplitN(string(raw), "\n", 2)[0]))
	require.NoError(d.t, err)
	_ = syscall.Kill(pid, syscall.SIGKILL)
}

// member is what Patroni says of a machine.
type member struct {
	Name, Role, State string
	Timeline          int
	Lag               any
}

// members asks Patroni who is there.
func (d *deployment) members() []member {
	for i := range d.nodes {
		ctx, stop := context.WithTimeout(context.Background(), 2*time.Second)
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://127.0.0.1:%d/cluster", d.port(machine(i)+":8008")), nil)
		require.NoError(d.t, err)
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			stop()
			continue
		}
		var cluster struct{ Members []member }
		err = json.NewDecoder(resp.Body).Decode(&cluster)
		_ = resp.Body.Close()
		stop()
		if err == nil && len(cluster.Members) > 0 {
			return cluster.Members
		}
	}
	return nil
}

// streaming reports whether there is a primary that all others follow, one of them synchronously.
func (d *deployment) streaming() bool {
	leader, sync := -1, d.async
	for _, m := range d.members() {
		sync = sync || m.Role == "sync_standby"
		switch {
		case m.Role == "leader" && m.State == "running":
			leader = number(m.Name)
		case m.State != "running" && m.State != "streaming":
			return false
		}
	}
	if leader < 0 || !sync {
		return false
	}
	for i := range d.nodes {
		role := "replica"
		if i == leader {
			role = "primary"
		}
		if !d.is(i, role) {
			return false
		}
	}
	return true
}

// number is a machine's, from 0, by its name.
func number(name string) int {
	n, _ := strconv.Atoi(strings.TrimPrefix(name, "pg"))
	return n - 1
}

// is asks Patroni, as HAProxy does, whether a machine is the primary, or a replica.
func (d *deployment) is(i int, role string) bool {
	ctx, stop := context.WithTimeout(context.Background(), time.Second)
	defer stop()
	r, err := http.NewRequestWithContext(ctx, http.MethodOptions, fmt.Sprintf("http://127.0.0.1:%d/%s", d.port(machine(i)+":8008"), role), nil)
	require.NoError(d.t, err)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return false
	}
	_ = resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// leader is the machine that takes writes, -1 while there is none.
func (d *deployment) leader() int {
	for i := range d.nodes {
		if d.is(i, "primary") {
			return i
		}
	}
	return -1
}

// timeline is that of the machine that takes writes, 0 while there is none.
func (d *deployment) timeline() int {
	leader := d.leader()
	for _, m := range d.members() {
		if number(m.Name) == leader {
			return m.Timeline
		}
	}
	return 0
}

// superuser is the URL of a database of a machine's.
func (d *deployment) superuser(i int, database string) string {
	return fmt.Sprintf("postgres://postgres:SUPERUSER@127.0.0.1:%d/%s", d.port(machine(i)+":5432"), database)
}

// switchover has another machine take writes, as an operator would.
func (d *deployment) switchover() {
	d.t.Helper()
	from := d.leader()
	require.GreaterOrEqual(d.t, from, 0)
	body := fmt.Sprintf(`{"leader":"pg%d"}`, from+1)
	resp, err := http.Post(fmt.Sprintf("http://127.0.0.1:%d/switchover", d.port(machine(from)+":8008")), "application/json", strings.NewReader(body))
	require.NoError(d.t, err)
	defer resp.Body.Close()
	said, _ := io.ReadAll(resp.Body)
	require.Less(d.t, resp.StatusCode, 300, "%s", said)
}

// startApp starts the app of a machine, with the page's koan.yaml.
func (d *deployment) startApp(i int) {
	d.t.Helper()
	own := filepath.Join(d.folder, fmt.Sprintf("app%d", i+1))
	require.NoError(d.t, os.MkdirAll(own, 0o755))
	text := d.local(d.fence("yaml\ndatabase:"))
	text = strings.Replace(text, "https://s3.example.org", "http://"+d.bucket.Address, 1)
	text = strings.Replace(text, "todo-files", s3test.Bucket, 1)
	text += "\nfiles.s3.region: eu-central-1\nfiles.s3.accessKey: " + s3test.AccessKey + "\nfiles.s3.secretKey: " + s3test.SecretKey + "\nexposure: full\n"
	require.NoError(d.t, os.WriteFile(filepath.Join(own, "koan.yaml"), []byte(text), 0o600))
	self, err := os.Executable()
	require.NoError(d.t, err)
	d.apps[i] = d.supervise(fmt.Sprintf("app%d", i+1), "again", nil, []string{self, "serve", "--config", filepath.Join(own, "koan.yaml"), "--http", "127.0.0.1:" + strconv.Itoa(d.port(machine(i)+":8081"))})
}

// waitForApp waits until an app takes calls.
func (d *deployment) waitForApp(i int) {
	d.t.Helper()
	var said string
	for began := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		resp, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/readyz", d.port(machine(i)+":8081")))
		if err == nil {
			raw, _ := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if said = string(raw); resp.StatusCode == http.StatusOK {
				return
			}
		}
		if time.Since(began) > 3*time.Minute {
			name := fmt.Sprintf("app%d", i+1)
			require.Fail(d.t, "the app does not start", "%v %s %s", err, said, d.stacks(name))
		}
	}
}

// stacks ends an app, and returns what its goroutines were at.
func (d *deployment) stacks(name string) string {
	raw, err := os.ReadFile(d.logFile(name) + ".pid")
	require.NoError(d.t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(raw)))
	require.NoError(d.t, err)
	_ = syscall.Kill(pid, syscall.SIGQUIT)
	time.Sleep(time.Second)
	said, _ := os.ReadFile(d.logFile(name))
	return string(said[max(0, len(said)-40_000):])
}

// execute has the app carry out a script once, under a key. acknowledged is false where its caller cannot know
// yet whether it was.
func (d *deployment) execute(key, code string, args any) (acknowledged bool, result any, why string) {
	body, err := json.Marshal(map[string]any{"code": code, "args": args, "idempotencyKey": key})
	require.NoError(d.t, err)
	ctx, stop := context.WithTimeout(context.Background(), 30*time.Second)
	defer stop()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, d.url()+"/tools/koan.code.execute", bytes.NewReader(body))
	require.NoError(d.t, err)
	r.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return false, nil, err.Error()
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	var answer struct {
		OK     bool
		Result struct{ Result any }
	}
	if err != nil || json.Unmarshal(raw, &answer) != nil || !answer.OK {
		return false, nil, fmt.Sprintf("%d: %s", resp.StatusCode, raw)
	}
	return true, answer.Result.Result, ""
}
