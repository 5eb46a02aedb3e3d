// Package mcpserver offers the catalog over the Model Context Protocol, in both
// generations of MCP versions: 2026-07-28, which is stateless, and the
// versions before it, which begin with initialize (CONTRACT section 5).
//
// A session is transport-neutral: it takes one message at a time and writes responses
// to a sink. Each transport has its own sink and framing, and shares everything else.
//
// What belongs here: framing, JSON-RPC, the shape of tools and resources on the
// wire, and the limits of a connection. Not here: how a call is made
// (package run), what is shown to whom (packages exposure and catalog), and any
// knowledge of a provider.
package mcpserver
