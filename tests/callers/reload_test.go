package callers

import (
	"bufio"
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/koan-go/koan/tests/needs"
	"github.com/stretchr/testify/require"
)

// soon is how long a change may take to arrive: files are looked at once a second.
const soon = 15 * time.Second

func (s *server) eventually(what func() bool, why string) {
	s.t.Helper()
	require.Eventually(s.t, what, soon, 50*time.Millisecond, "%s\n%s", why, s.stderr)
}

func (s *server) logged(text string) int { return strings.Count(s.stderr.String(), text) }

// TestExposureChangeReachesOpenClients: the official client in the older era,
// a subscription in the newer one, and a client on stdio.
func TestExposureChangeReachesOpenClients(t *testing.T) {
	needs.Node(t)
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "koan.yaml", "exposure: full\ntools: {style: perEntity}\n")
	s := serve(t, dir)

	modules, err := filepath.Abs("../npm")
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), "node", filepath.Join(modules, "watch.mjs"), s.url)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = in.Close(); _ = cmd.Wait() })
	client := bufio.NewReader(out)
	tools := func() (names []string) {
		line, err := client.ReadString('\n')
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal([]byte(line), &names))
		return names
	}
	require.Contains(t, tools(), "event_count")
	stream := listen(t, s.url)

	local := command(t, dir, "serve")
	stdin, err := local.StdinPipe()
	require.NoError(t, err)
	stdout, err := local.StdoutPipe()
	require.NoError(t, err)
	errs := &said{}
	local.Stderr = errs
	require.NoError(t, local.Start())
	t.Cleanup(func() { _ = stdin.Close(); _ = local.Wait() })
	lines := bufio.NewReaderSize(stdout, 1<<20)
	_, err = io.WriteString(stdin, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`+"\n"+`{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"+`{"jsonrpc":"2.0","id":2,"method":"ping"}`+"\n")
	require.NoError(t, err)
	for range 2 {
		_, err := lines.ReadString('\n')
		require.NoError(t, err)
	}

	time.Sleep(1500 * time.Millisecond) // the client's GET stream opens after it is connected
	write(t, dir, "koan.yaml", "exposure: code\ntools: {style: perEntity}\n")
	after := tools()
	require.Contains(t, after, "koan_code_execute")
	require.NotContains(t, after, "event_count")
	require.Contains(t, stream(), "notifications/tools/list_changed")
	line, err := lines.ReadString('\n')
	require.NoError(t, err, "%s", errs)
	require.Contains(t, line, "notifications/tools/list_changed")

	// On stdio too the signal means the configuration, not the end.
	require.NoError(t, local.Process.Signal(syscall.SIGHUP))
	require.Eventually(t, func() bool { return strings.Count(errs.String(), "the configuration was reloaded") >= 2 }, soon, 20*time.Millisecond, "%s", errs)
	_, err = io.WriteString(stdin, `{"jsonrpc":"2.0","id":3,"method":"ping"}`+"\n")
	require.NoError(t, err)
	for !strings.Contains(line, `"id":3`) {
		line, err = lines.ReadString('\n')
		require.NoError(t, err)
	}
}

// listen opens a subscription of the newer era, and returns a function for its next event.
func listen(t *testing.T, url string, header ...string) (next func() string) {
	t.Helper()
	body := `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	require.NoError(t, err)
	for k, v := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "subscriptions/listen"} {
		r.Header.Set(k, v)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	t.Cleanup(func() { _ = resp.Body.Close() })
	events := bufio.NewReader(resp.Body)
	next = func() string {
		for {
			line, err := events.ReadString('\n')
			require.NoError(t, err)
			if data, ok := strings.CutPrefix(line, "data: "); ok {
				return data
			}
		}
	}
	require.Contains(t, next(), "acknowledged")
	return next
}

func TestReload(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tokens := func(names ...string) {
		text := "tokens:\n"
		for _, n := range names {
			text += token(n, "'*'", "default")
		}
		write(t, dir, "tokens.yaml", text)
	}
	tokens("ann", "bob")
	const config = "server: {tokensFile: tokens.yaml}\ntools: {style: perEntity}\n"
	write(t, dir, "koan.yaml", config)
	s := serve(t, dir)
	knows := func(who string) bool { return s.ask(who, "tools/list", nil).status == http.StatusOK }
	require.True(t, knows("ann"))

	t.Run("tokens come and go", func(t *testing.T) {
		told := listen(t, s.url, "Authorization", "Bearer ann")
		tokens("ann", "eve")
		require.Contains(t, told(), "notifications/tools/list_changed", "who may do what is another now")
		s.eventually(func() bool { return knows("eve") }, "a new token")
		require.True(t, knows("ann"))
		require.False(t, knows("bob"), "one that was taken back")
		s.eventually(func() bool { return s.logged("the tokens were reloaded") == 1 }, "what was taken is logged")
		s.eventually(func() bool { return s.logged("the configuration was reloaded") == 1 }, "once")
		require.NotContains(t, s.stderr.String(), "changed=", "no key of the configuration has changed")
	})
	t.Run("what is broken changes nothing, and is said in full", func(t *testing.T) {
		write(t, dir, "koan.yaml", "server: {tokensFile: tokens.yaml, queueMax: many, tolTimeoutMs: 1}\nexposure: loud\n")
		s.eventually(func() bool { return s.logged("the configuration was rejected") >= 3 }, "three lines")
		for _, problem := range []string{"server.queueMax", "server.tolTimeoutMs", "exposure"} {
			require.Contains(t, s.stderr.String(), problem)
		}
		require.True(t, knows("ann"))
		write(t, dir, "koan.yaml", config)
		write(t, dir, "tokens.yaml", "tokens: [{subject: ann, sha256: short}]")
		s.eventually(func() bool { return strings.Contains(s.stderr.String(), "64 hexadecimal digits") }, "a broken file of tokens")
		require.True(t, knows("eve"))
		tokens("ann", "eve")
	})
	t.Run("what is applied is applied together", func(t *testing.T) {
		write(t, dir, "tokens.yaml", "tokens: []")
		write(t, dir, "koan.yaml", config+"exposure: code\n")
		s.eventually(func() bool { return strings.Contains(s.stderr.String(), "it has no tokens") }, "no tokens")
		require.Contains(t, s.ask("ann", "tools/list", nil).raw, "event_count")
		tokens("ann", "eve")
		s.eventually(func() bool { return !strings.Contains(s.ask("ann", "tools/list", nil).raw, "event_count") }, "the new mode")
	})
	t.Run("what needs a restart is named", func(t *testing.T) {
		write(t, dir, "koan.yaml", config+"database: sqlite:///elsewhere\nrun: {maxAttempts: 7}\nlog: {level: debug}\n")
		s.eventually(func() bool { return s.logged("takes effect at the next start") >= 1 }, "a line per key")
		require.Contains(t, s.stderr.String(), "key=run.maxAttempts")
		require.NotContains(t, s.stderr.String(), "key=database", "the environment says where it is")
		require.NotContains(t, s.stderr.String(), "elsewhere")
	})
	t.Run("limits hold at once", func(t *testing.T) {
		write(t, dir, "koan.yaml", "server: {tokensFile: tokens.yaml, requestsPerMinute: 1}\n")
		s.eventually(func() bool { return s.ask("eve", "tools/list", nil).status == http.StatusTooManyRequests }, "the bound")
		write(t, dir, "koan.yaml", config)
		s.eventually(func() bool { return knows("eve") }, "none")
	})
	t.Run("scripts from then on meet the new limits", func(t *testing.T) {
		write(t, dir, "koan.yaml", config+"sandbox: {maxCodeLength: 10}\n")
		s.eventually(func() bool { return s.script("eve", "'longer than that'").fault() == "code_too_long" }, "the limit")
		write(t, dir, "koan.yaml", config)
		s.eventually(func() bool { return s.script("eve", "'longer than that'").fault() == "" }, "none")
	})
	t.Run("so does what a person has to agree to", func(t *testing.T) {
		const store = "SDK.Entities.Trophy.upsert({id: 'p', title: 'x' + Math.random()}); 1"
		require.Empty(t, s.script("eve", store).fault())
		write(t, dir, "koan.yaml", config+"approval: {mode: writes}\n")
		s.eventually(func() bool { return s.script("eve", store).fault() == "approval_required" }, "the rule")
		write(t, dir, "koan.yaml", config+"approval: {rules: [{entity: Trofy, mode: writes}]}\n")
		s.eventually(func() bool { return strings.Contains(s.stderr.String(), `there is no entity \"Trofy\"`) }, "a rule about nothing")
		require.Equal(t, "approval_required", s.script("eve", store).fault(), "the old ones hold")
		write(t, dir, "koan.yaml", config)
		s.eventually(func() bool { return s.script("eve", store).fault() == "" }, "none")
	})
	t.Run("nobody is let in by leaving the file out", func(t *testing.T) {
		write(t, dir, "koan.yaml", "exposure: auto\n")
		s.eventually(func() bool { return strings.Contains(s.stderr.String(), "callers would no longer be authenticated") }, "refused")
		require.Equal(t, http.StatusUnauthorized, s.ask("", "tools/list", nil).status)
		write(t, dir, "koan.yaml", config)
	})
	t.Run("a signal asks for it", func(t *testing.T) {
		time.Sleep(2 * time.Second) // what was written last is read
		before := s.logged("the configuration was reloaded")
		require.NoError(t, s.cmd.Process.Signal(syscall.SIGHUP))
		s.eventually(func() bool { return s.logged("the configuration was reloaded") == before+1 }, "once")
		require.True(t, knows("ann"))
	})
}

// TestRenewedCertificate: connections from then on get it, and a broken one leaves
// the old.
func TestRenewedCertificate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	renew := func(serial int64) {
		cert, key := certificate(t, serial)
		write(t, dir, "key.pem", key)
		write(t, dir, "cert.pem", cert)
	}
	renew(1)
	s := serve(t, dir, "--server.tlsCert", "cert.pem", "--server.tlsKey", "key.pem")
	require.True(t, strings.HasPrefix(s.url, "https://"))
	address := strings.TrimSuffix(strings.TrimPrefix(s.url, "https://"), "/mcp")
	serial := func() int64 {
		c, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}}) //nolint:gosec // of the test
		require.NoError(t, err)
		defer c.Close()
		require.Equal(t, "h2", c.ConnectionState().NegotiatedProtocol)
		return c.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
	}
	require.EqualValues(t, 1, serial())
	renew(2)
	s.eventually(func() bool { return serial() == 2 }, "the new certificate")
	write(t, dir, "cert.pem", "nonsense")
	s.eventually(func() bool { return s.logged("the configuration was rejected") >= 1 }, "a broken certificate")
	require.EqualValues(t, 2, serial())
}

func certificate(t *testing.T, serial int64) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	about := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "localhost"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, about, about, &private.PublicKey, private)
	require.NoError(t, err)
	raw, err := x509.MarshalPKCS8PrivateKey(private)
	require.NoError(t, err)
	var c, k bytes.Buffer
	require.NoError(t, pem.Encode(&c, &pem.Block{Type: "CERTIFICATE", Bytes: der}))
	require.NoError(t, pem.Encode(&k, &pem.Block{Type: "PRIVATE KEY", Bytes: raw}))
	return c.String(), k.String()
}

// TestNamesOfAServer: behind a proxy it is called by the name that clients know, or by
// one that is allowed, also after it was told so.
func TestNamesOfAServer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "koan.yaml", "server: {publicUrl: 'https://tools.example.org/mcp'}\n")
	s := serve(t, dir)
	as := func(host, origin string) int {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`))
		require.NoError(t, err)
		r.Host = host
		r.Header.Set("Content-Type", "application/json")
		if origin != "" {
			r.Header.Set("Origin", origin)
		}
		resp, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		_ = resp.Body.Close()
		return resp.StatusCode
	}
	require.Equal(t, http.StatusOK, as("tools.example.org", ""))
	require.Equal(t, http.StatusOK, as("Tools.example.org:443", ""))
	require.Equal(t, http.StatusOK, as("tools.example.org", "https://tools.example.org"))
	require.Equal(t, http.StatusForbidden, as("tools.example.org", "https://evil.example.org"))
	require.Equal(t, http.StatusForbidden, as("evil.example.org", ""))
	require.Equal(t, http.StatusForbidden, as("more.example.org", ""))
	write(t, dir, "koan.yaml", "server: {publicUrl: 'https://tools.example.org/mcp', allowedHosts: [more.example.org]}\n")
	s.eventually(func() bool { return as("more.example.org", "") == http.StatusOK }, "a name more")
	require.Equal(t, http.StatusOK, as("tools.example.org", ""))
}
