package shim

// Remark says something about a schema, or about a field of one, for people.
type Remark struct{ Name, Text string }
