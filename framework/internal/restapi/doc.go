// Package restapi serves the catalog over HTTP for programs and people: entities, actions and
// plugins as REST, every tool in an envelope, the server's health, and the description of it
// all as OpenAPI (CONTRACT section 11).
//
// What belongs here: how requests become calls of operations, and what they return becomes
// responses. Not here: a handler for one entity, a check of rights, or a rule about
// data, which are the operations' own.
package restapi
