// Package callers proves from the outside what different callers of one server see
// and may do: tokens of a real authorization server, static tokens, exposure modes,
// and a configuration that changes while clients are connected.
package callers
