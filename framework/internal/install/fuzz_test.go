package install

import (
	"bytes"
	"os"
	"testing"
)

// roundTrip adds an entry to a file that can be read, takes all other servers out, and
// undoes both.
func roundTrip(t *testing.T, c client, raw []byte) {
	d, err := c.open(raw)
	if err != nil {
		return
	}
	all := d.servers()
	had := len(all) > 0
	for _, s := range all {
		if s.name == "koan" {
			return
		}
	}
	if !bytes.Equal(d.bytes(), raw) && len(bytes.TrimSpace(raw)) > 0 {
		t.Fatalf("%q is read as %q", raw, d.bytes())
	}
	if err := d.set("koan", []member{{"command", "/bin/koan"}, {"args", []string{"a\"b", "c"}}}); err != nil {
		return // what cannot be written says so
	}
	if err := c.checkRest(raw, d.bytes(), map[string]bool{"koan": true}); err != nil {
		t.Fatalf("%q with koan is %q: %v", raw, d.bytes(), err)
	}
	var pieces []piece
	touched := map[string]bool{"koan": true}
	for _, s := range all {
		if s.fixed == "" {
			pieces = append(pieces, d.take(s.name)...)
			touched[s.name] = true
		}
	}
	if err := c.checkRest(raw, d.bytes(), touched); err != nil {
		t.Fatalf("%q without its servers is %q: %v", raw, d.bytes(), err)
	}
	again, err := c.open(d.bytes())
	if err != nil {
		t.Fatal(err)
	}
	if err := again.put(pieces); err != nil {
		t.Fatal(err)
	}
	again.take("koan")
	if had && !bytes.Equal(again.bytes(), raw) {
		t.Fatalf("%q came back as %q", raw, again.bytes())
	}
}

func FuzzJSON(f *testing.F) {
	for _, id := range []string{"claude-code", "claude-desktop", "cursor", "gemini"} {
		raw, err := os.ReadFile("testdata/" + id + ".json")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Add([]byte(`{"mcpServers":{"a":{} /* x */ , "b" : 1, }}`))
	f.Add([]byte("{\"mcpServers\":{\"a\":{}, // x\n\"b\":{} // y\n} }"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		c, err := find("cursor")
		if err != nil {
			t.Fatal(err)
		}
		roundTrip(t, c, raw)
	})
}

func FuzzTOML(f *testing.F) {
	raw, err := os.ReadFile("testdata/codex.toml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(raw)
	f.Add([]byte("[mcp_servers]\na.command = 'x'\n[mcp_servers.b]\n# c\n[[mcp_servers.b.x]]\n[[mcp_servers.b.x]]"))
	f.Add([]byte("mcp_servers = {a = {}}"))
	f.Add([]byte("x = '''\n# no\n[mcp_servers.y]\n'''\n# yes\n\n[mcp_servers.y]\nz = \"\"\"\n[a]\"\"\"\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		c, err := find("codex")
		if err != nil {
			t.Fatal(err)
		}
		roundTrip(t, c, raw)
	})
}
