// Package oauth authenticates callers over HTTP by access tokens of an OAuth 2.1
// authorization server: JSON Web Tokens (RFC 9068), which are verified here with the
// issuer's published keys. The server is a protected resource (RFC 9728) and accepts only
// tokens that were made for it (RFC 8707).
//
// What belongs here: tokens, the issuer's keys, the metadata that names the issuer, and
// challenges. Not here: what a principal may do, which is in package auth and the
// catalog; and the login of people, which is the issuer's.
package oauth
