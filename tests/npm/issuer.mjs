// An OAuth authorization server for tests: the certified oidc-provider on loopback,
// with JWT access tokens for any resource (RFC 8707), by client credentials.
//
//   node issuer.mjs PORT CLIENTS [PEOPLE]
//
// CLIENTS is JSON: {"id": {"scope": "a b", "sets": [...]}}; one with "redirect", an address on loopback
// with any port, is public, and people sign in by it. With PEOPLE, which is JSON too
// ({"ttl": seconds of an access token, "age": how old it is at first}), people sign in with any name and any password,
// by clients that register themselves; refresh tokens are good for one use, and GET /grants
// counts what was granted and refused. PORT 0 takes a free one. It prints its URL, and ends
// with its standard input.
import { createServer } from "node:http";
import { generateKeyPairSync } from "node:crypto";
import Provider from "oidc-provider";

const [port, given, people] = process.argv.slice(2);
const { ttl = 60, age = 0 } = JSON.parse(people ?? "{}");
const clients = JSON.parse(given);
const scopes = [...new Set(Object.values(clients).flatMap((c) => c.scope.split(" ")))];
const server = createServer();
await new Promise((ready) => server.listen(Number(port), "127.0.0.1", ready));
const url = `http://127.0.0.1:${server.address().port}`;
const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
const provider = new Provider(url, {
  jwks: { keys: [{ ...privateKey.export({ format: "jwk" }), use: "sig", alg: "RS256", kid: String(Date.now()) }] },
  scopes: ["openid", ...scopes],
  clients: Object.entries(clients).map(([id, c]) => ({
    client_id: id,
    client_secret: id,
    grant_types: ["client_credentials"],
    redirect_uris: [],
    response_types: [],
    scope: c.scope,
    ...(c.redirect && {
      client_secret: undefined,
      token_endpoint_auth_method: "none",
      application_type: "native", // any port
      grant_types: ["authorization_code", "refresh_token"],
      redirect_uris: [c.redirect],
      response_types: ["code"],
    }),
  })),
  features: {
    devInteractions: { enabled: !!people },
    registration: { enabled: !!people },
    revocation: { enabled: !!people },
    clientCredentials: { enabled: true },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => "urn:nobody",
      getResourceServerInfo: (_ctx, resource) => ({
        audience: resource,
        scope: scopes.join(" "),
        accessTokenFormat: "jwt",
        accessTokenTTL: ttl,
        jwt: { sign: { alg: "RS256" } },
      }),
    },
  },
  formats: {
    customizers: {
      jwt: (_ctx, _token, { payload }) => {
        payload.iat -= age;
        payload.exp -= age;
      },
    },
  },
  extraTokenClaims: (_ctx, token) => ({ sets: clients[token.clientId]?.sets ?? (token.accountId && ["default"]) }),
  ...(people && {
    findAccount: (_ctx, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
    issueRefreshToken: (_ctx, client) => client.grantTypeAllowed("refresh_token"),
    rotateRefreshToken: true,
  }),
});
const grants = {};
const count = (what) => (grants[what] = (grants[what] ?? 0) + 1);
provider.on("grant.success", (ctx) => count(ctx.oidc.params.grant_type));
provider.on("grant.error", (_ctx, e) => count(e.error));
provider.on("registration_create.success", () => count("registration"));
provider.on("grant.revoked", () => count("revoked"));
const answer = provider.callback();
server.on("request", (req, res) => (people && req.url === "/grants" ? res.end(JSON.stringify(grants)) : answer(req, res)));
process.stdin.resume().on("end", () => process.exit(0));
console.log(url);
