//go:build linux

package jail

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "probe" {
		if err := probes[os.Args[2]](os.Args[3:]); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// probes are what a program in a jail tries.
var probes = map[string]func(args []string) error{
	"read": func(args []string) error { b, err := os.ReadFile(args[0]); fmt.Print(string(b)); return err },
	"read-open": func(args []string) error {
		n, err := strconv.Atoi(args[0])
		if err != nil {
			return err
		}
		b, err := io.ReadAll(os.NewFile(uintptr(n), "open"))
		fmt.Print(string(b))
		return err
	},
	"list":  func(args []string) error { e, err := os.ReadDir(args[0]); fmt.Print(e); return err },
	"write": func(args []string) error { return os.WriteFile(args[0], []byte("written"), 0o600) },
	"run": func(args []string) error {
		out, err := exec.Command(args[0], args[1:]...).CombinedOutput()
		fmt.Print(string(out))
		return err
	},
	"dial": func(args []string) error {
		c, err := net.DialTimeout(args[0], args[1], 3*time.Second)
		if err == nil {
			err = c.Close()
		}
		return err
	},
	"signal": func(args []string) error {
		pid, err := strconv.Atoi(args[0])
		if err == nil {
			err = syscall.Kill(pid, 0)
		}
		return err
	},
	"call": func(args []string) error { // a system call that is refused
		nr, err := strconv.Atoi(args[0])
		if err != nil {
			return err
		}
		if _, _, errno := unix.RawSyscall(uintptr(nr), 0, 0, 0); errno != 0 {
			return errno
		}
		return nil
	},
	"ids": func([]string) error {
		status, err := os.ReadFile("/proc/self/status")
		for line := range strings.Lines(string(status)) {
			if strings.HasPrefix(line, "Cap") || strings.HasPrefix(line, "NoNewPrivs") {
				fmt.Print(line)
			}
		}
		return err
	},
	"get": func(args []string) error {
		proxy, err := url.Parse(os.Getenv("PROXY"))
		if err != nil {
			return err
		}
		client := http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(proxy)}}
		r, err := client.Get(args[0])
		if err != nil {
			return err
		}
		defer r.Body.Close()
		_, err = io.Copy(os.Stdout, r.Body)
		return err
	},
	"exit": func(args []string) error { n, _ := strconv.Atoi(args[0]); os.Exit(n); return nil },
	"orphan": func([]string) error { // a process in a session of its own that outlives its parent
		c := exec.Command("/bin/sleep", "1000")
		c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := c.Start(); err != nil {
			return err
		}
		fmt.Print("started")
		time.Sleep(time.Hour)
		return nil
	},
}

// of returns a jail of this test's program, with a folder to write to.
func of(t *testing.T, args ...string) *Jail {
	t.Helper()
	exe, err := os.Executable()
	require.NoError(t, err)
	program := filepath.Join(t.TempDir(), "program")
	require.NoError(t, os.Symlink(exe, program)) // as in a folder of plugins: what it is called may matter
	return &Jail{Program: program, Args: append([]string{"probe"}, args...), Dir: "/", TempMb: 8, Root: t.TempDir(), Write: []string{t.TempDir()}}
}

// run runs a jail's program, and returns what it printed.
func run(t *testing.T, j *Jail, env ...string) (string, error) {
	t.Helper()
	cmd, err := j.Command()
	require.NoError(t, err)
	cmd.Env = append(cmd.Env, env...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	require.NotContains(t, out.String(), FailurePrefix)
	return out.String(), err
}

func TestAProgramFindsNothingOfTheMachine(t *testing.T) {
	t.Parallel()
	secret := filepath.Join(t.TempDir(), "hidden")
	require.NoError(t, os.WriteFile(secret, []byte("secret"), 0o644))
	web, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer web.Close()
	open, err := unix.Open(secret, unix.O_RDONLY, 0) // as libraries in C may open files
	require.NoError(t, err)
	defer unix.Close(open)
	j := of(t)
	for name, args := range map[string][]string{
		"a file of the app":            {"read", secret},
		"a file that the app has open": {"read-open", strconv.Itoa(open)},
		"the folder of the program":    {"list", filepath.Dir(secret)},
		"the host's environment":       {"read", "/proc/" + strconv.Itoa(os.Getppid()) + "/environ"},
		"the environment of the app":   {"read", "/proc/" + strconv.Itoa(os.Getpid()) + "/environ"},
		"the users of the system":      {"read", "/etc/passwd"},
		"a system's secret":            {"read", "/etc/shadow"},
		"its own program, to write":    {"write", j.Program},
		"the system, to write":         {"write", "/usr/x"},
		"the root, to write":           {"write", "/x"},
		"a name of the kernel":         {"write", "/proc/sys/kernel/core_pattern"},
		"the app's port":               {"dial", "tcp", web.Addr().String()},
		"the network":                  {"dial", "tcp", "1.1.1.1:53"},
		"the network by datagrams":     {"run", "/bin/sh", "-c", "echo x > /dev/udp/1.1.1.1/53"},
		"the app":                      {"signal", strconv.Itoa(os.Getpid())},
		"more file systems":            {"call", strconv.Itoa(unix.SYS_MOUNT)},
		"more namespaces":              {"run", "/usr/bin/unshare", "-Ur", "true"},
		"the kernel's programs":        {"call", strconv.Itoa(unix.SYS_BPF)},
		"other programs' memory":       {"call", strconv.Itoa(unix.SYS_PTRACE)},
		"the machine's disks":          {"list", "/dev/disk"},
		"the process that confines it": {"signal", "-1"},
	} {
		t.Run(name, func(t *testing.T) {
			one := *j
			one.Root, one.Args = t.TempDir(), append([]string{"probe"}, args...)
			out, err := run(t, &one)
			require.Error(t, err, out)
			require.NotContains(t, out, "secret")
		})
	}
	left, err := os.ReadDir(j.Root)
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestAProgramHasWhatItIsGiven(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "data"), []byte("given"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "private"), []byte("given"), 0o600))
	j := of(t)
	j.Read = []string{folder}
	state, temporary := j.Write[0], filepath.Join("/tmp", rand.Text())
	for name, c := range map[string]struct {
		args []string
		out  string
	}{
		"a folder to read":      {[]string{"read", filepath.Join(folder, "data")}, "given"},
		"a folder to write":     {[]string{"write", filepath.Join(state, "x")}, ""},
		"a temporary folder":    {[]string{"write", temporary}, ""},
		"a shell and programs":  {[]string{"run", "/bin/sh", "-c", "ls /usr/bin/env"}, "/usr/bin/env\n"},
		"a name for itself":     {[]string{"read", "/etc/hosts"}, "127.0.0.1 localhost\n::1 localhost\n"},
		"a private file":        {[]string{"read", filepath.Join(folder, "private")}, "given"},
		"devices":               {[]string{"run", "/bin/sh", "-c", "head -c 3 /dev/zero | wc -c"}, "3\n"},
		"no privileges":         {[]string{"ids"}, "CapInh:\t0000000000000000\nCapPrm:\t0000000000000000\nCapEff:\t0000000000000000\nCapBnd:\t0000000000000000\nCapAmb:\t0000000000000000\nNoNewPrivs:\t1\n"},
		"processes of its own":  {[]string{"run", "/bin/sh", "-c", "ls /proc | grep -c '^[0-9]'"}, "5\n"},
		"an environment of its": {[]string{"run", "/usr/bin/env"}, "A=b\n"},
	} {
		t.Run(name, func(t *testing.T) {
			one := *j
			one.Root, one.Args = t.TempDir(), append([]string{"probe"}, c.args...)
			out, err := run(t, &one, "A=b")
			require.NoError(t, err, out)
			require.Equal(t, c.out, out)
		})
	}
	text, err := os.ReadFile(filepath.Join(state, "x"))
	require.NoError(t, err)
	require.Equal(t, "written", string(text))
	require.NoFileExists(t, temporary)
}

// A folder that the jail itself lies in may be shown, too. What is in it has the rights that it has outside.
func TestTheFolderAroundTheJail(t *testing.T) {
	t.Parallel()
	exe, err := os.Executable()
	require.NoError(t, err)
	own := t.TempDir()
	require.NoError(t, os.Chmod(filepath.Dir(own), 0o755))
	name := filepath.Join(own, "photo")
	require.NoError(t, os.WriteFile(name, []byte("milk"), 0o644))
	j := of(t)
	j.Program = filepath.Join(t.TempDir(), "program")
	require.NoError(t, os.Link(exe, j.Program))
	j.Read = []string{filepath.Clean(os.TempDir())}
	written := filepath.Join(j.Write[0], "x")
	j.Args = append(j.Args, "run", "/bin/sh", "-c", "cat "+name+" && echo more > "+written)
	out, err := run(t, j)
	require.NoError(t, err, out)
	require.Equal(t, "milk", out)
	require.FileExists(t, written)
}

func TestCheck(t *testing.T) {
	t.Parallel()
	require.NoError(t, Check(t.Context(), t.TempDir()))
	require.Error(t, Check(t.Context(), "/nowhere"))
}

func TestTheEndOfAProgramIsTheEndOfItsJail(t *testing.T) {
	t.Parallel()
	_, err := run(t, of(t, "exit", "7"))
	var ended *exec.ExitError
	require.ErrorAs(t, err, &ended)
	require.Equal(t, 7, ended.ExitCode())

	j := of(t, "orphan")
	cmd, err := j.Command()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	said := make([]byte, 7)
	_, err = io.ReadFull(out, said)
	require.NoError(t, err)
	inside := descendants(cmd.Process.Pid)
	require.Len(t, inside, 2, "the program and its orphan")
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	for _, pid := range inside {
		require.Eventually(t, func() bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }, 10*time.Second, 10*time.Millisecond)
	}
}

// descendants lists the processes below one.
func descendants(pid int) (out []int) {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, task := range tasks {
		text, _ := os.ReadFile(task)
		for _, f := range strings.Fields(string(text)) {
			child, _ := strconv.Atoi(f)
			out = append(append(out, child), descendants(child)...)
		}
	}
	return out
}

func TestAProgramReachesTheProxyAlone(t *testing.T) {
	t.Parallel()
	j := of(t, "get", "http://weather.example/today")
	j.Proxy = filepath.Join(j.Write[0], "proxy")
	l, err := net.Listen("unix", j.Proxy)
	require.NoError(t, err)
	require.NoError(t, os.Chmod(j.Proxy, 0o777))
	proxy := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "sunny at ", r.URL) })}
	go proxy.Serve(l)
	defer proxy.Close()
	out, err := run(t, j, "PROXY="+ProxyURL)
	require.NoError(t, err, out)
	require.Equal(t, "sunny at http://weather.example/today", out)
}
