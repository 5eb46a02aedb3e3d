// Package access says who may call over HTTP, as an app is configured: static
// tokens, access tokens of an authorization server, or both.
//
// What belongs here: the configuration's keys about callers, and the order in which
// credentials are tried. Not here: how a token is proven (packages bearer and
// oauth), and what its holder may do (package auth and the catalog).
package access
