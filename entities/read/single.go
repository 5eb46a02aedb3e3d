package read

// Single tells whether reading takes one statement, so that it needs no
// transaction to see one snapshot.
func (g *Get) Single() bool { return len(g.reads.relations) == 0 }

// Single tells the same of a collection.
func (c *Collection) Single() bool { return !c.Count && len(c.reads.relations) == 0 }
