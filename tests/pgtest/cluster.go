package pgtest

import (
	"errors"
	"testing"
	"time"

	"github.com/koan-go/koan/tests/needs"
)

// Cluster is a server, and others that follow it by streaming replication. They end with the test.
type Cluster struct{ nodes []*node }

// replicating are the settings of servers that others follow.
var replicating = []string{"wal_level=replica", "max_wal_senders=8", "hot_standby=on", "wal_keep_size=256MB", "max_connections=100"}

// NewCluster starts a server and so many that follow it.
func NewCluster(t testing.TB, followers int) *Cluster {
	t.Helper()
	c := &Cluster{}
	add := func(n *node, err error) {
		t.Helper()
		if errors.Is(err, errMissing) {
			needs.Missing(t, "PostgreSQL")
		}
		if err == nil {
			err = n.start(append(settings[:len(settings):len(settings)], replicating...))
		}
		if err != nil {
			t.Fatalf("PostgreSQL did not start: %v", err)
		}
		t.Cleanup(func() { _ = n.Close() })
		c.nodes = append(c.nodes, n)
	}
	add(newServer())
	for range followers {
		add(newNode("pg_basebackup", "-R", "-c", "fast", "-d", c.nodes[0].url()))
	}
	return c
}

// URL returns that of a server: 0 is the first, the others follow it.
func (c *Cluster) URL(i int) string { return c.nodes[i].url() }

// AnyURL returns the URL of whichever server takes writes.
func (c *Cluster) AnyURL() string {
	url := c.nodes[0].url()
	for _, n := range c.nodes[1:] {
		url += "," + n.folder
	}
	return url + "&target_session_attrs=read-write"
}

// Pause has a server replay nothing of what it receives until Resume.
func (c *Cluster) Pause(t testing.TB, i int) {
	t.Helper()
	Psql(t, c.URL(i), "SELECT pg_wal_replay_pause()")
}

// Resume ends Pause.
func (c *Cluster) Resume(t testing.TB, i int) {
	t.Helper()
	Psql(t, c.URL(i), "SELECT pg_wal_replay_resume()")
}

// Detach has a server receive nothing any more.
func (c *Cluster) Detach(t testing.TB, i int) {
	t.Helper()
	Psql(t, c.URL(i), "ALTER SYSTEM SET primary_conninfo = ''", "SELECT pg_reload_conf()")
	for Value(t, c.URL(i), "SELECT count(*)::text FROM pg_stat_wal_receiver") != "0" {
		time.Sleep(10 * time.Millisecond)
	}
}

// Kill ends a server as a crash would. It does not come back.
func (c *Cluster) Kill(t testing.TB, i int) {
	t.Helper()
	if err := c.nodes[i].Close(); err != nil {
		t.Fatal(err)
	}
}

// Promote has a server take writes from now on.
func (c *Cluster) Promote(t testing.TB, i int) {
	t.Helper()
	Psql(t, c.URL(i), "SELECT pg_promote()")
}
