// An OAuth authorization server for tests: the certified oidc-provider on loopback,
// with JWT access tokens for any resource (RFC 8707), by client credentials.
//
//   node issuer.mjs PORT CLIENTS     CLIENTS is JSON: {"id": {"scope": "a b", "sets": [...]}}
//
// PORT 0 takes a free one. It prints its URL, and ends with its standard input.
import { createServer } from "node:http";
import { generateKeyPairSync } from "node:crypto";
import Provider from "oidc-provider";

const [port, given] = process.argv.slice(2);
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
  })),
  features: {
    devInteractions: { enabled: false },
    clientCredentials: { enabled: true },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => "urn:nobody",
      getResourceServerInfo: (_ctx, resource) => ({
        audience: resource,
        scope: scopes.join(" "),
        accessTokenFormat: "jwt",
        accessTokenTTL: 60,
        jwt: { sign: { alg: "RS256" } },
      }),
    },
  },
  extraTokenClaims: (_ctx, token) => ({ sets: clients[token.clientId]?.sets }),
});
server.on("request", provider.callback());
process.stdin.resume().on("end", () => process.exit(0));
console.log(url);
