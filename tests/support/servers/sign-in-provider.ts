import { createSign, generateKeyPairSync, type KeyObject } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Provider } from "oidc-provider";

export const CLIENT_ID = "gateway";
export const CLIENT_SECRET = "the secret of the gateway at its provider";

type Claims = Readonly<Record<string, unknown>>;

/** A real OpenID Connect provider on loopback, where whoever comes is logged in as `account`. */
export interface SignInProvider {
  readonly issuer: string;
  /** The accounts by subject, with their claims. */
  readonly accounts: Map<string, Claims>;
  account: string;
  /** Changes the JSON that a path answers, to be an attacker; undefined: nothing. */
  tamper: ((path: string, body: Record<string, unknown>) => object) | undefined;
  /** Answers a request in the provider's place when it returns true. */
  instead: ((request: IncomingMessage, response: ServerResponse) => boolean) | undefined;
  /** The parameters of the last authorization request. */
  readonly asked: () => URLSearchParams;
  /** How many codes somebody tried to redeem. */
  readonly tokenRequests: number;
  readonly allowRedirect: (redirectUri: string) => void;
  /** Signs with another key from now on. */
  readonly rotateKey: () => void;
  /** An ID token with these claims, signed with the present key. */
  readonly sign: (claims: object, header?: object) => string;
  readonly stop: () => Promise<void>;
}

interface Key {
  readonly kid: string;
  readonly privateKey: KeyObject;
}

let keys = 0;
const newKey = (): Key => ({
  kid: `key-${++keys}`,
  privateKey: generateKeyPairSync("rsa", { modulusLength: 2_048 }).privateKey,
});

export async function startSignInProvider(): Promise<SignInProvider> {
  let key = newKey();
  let redirectUri = "";
  let provider: Provider | undefined;
  let asked = new URLSearchParams();
  let tokenRequests = 0;
  const server = createServer((request, response) => {
    if (stand.instead?.(request, response) === true) return;
    const { pathname, searchParams } = new URL(request.url ?? "", stand.issuer);
    if (pathname === "/auth") asked = searchParams;
    if (pathname === "/token") tokenRequests += 1;
    tamperWith(response, (body) => stand.tamper?.(pathname, body) ?? body);
    if (pathname.startsWith("/interaction/")) {
      void provider?.interactionFinished(request, response, {
        login: { accountId: stand.account },
      });
    } else provider?.callback()(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const build = () => {
    provider = new Provider(stand.issuer, configurationOf(stand, { key, redirectUri }));
  };
  const stand: SignInProvider = {
    issuer: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    accounts: new Map(),
    account: "",
    tamper: undefined,
    instead: undefined,
    asked: () => asked,
    get tokenRequests() {
      return tokenRequests;
    },
    allowRedirect(uri) {
      redirectUri = uri;
      build();
    },
    rotateKey() {
      key = newKey();
      build();
    },
    sign: (claims, header = {}) => signToken(key, claims, header),
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return stand;
}

function configurationOf(
  stand: SignInProvider,
  { key, redirectUri }: { readonly key: Key; readonly redirectUri: string },
) {
  return {
    clients: [{ client_id: CLIENT_ID, client_secret: CLIENT_SECRET, redirect_uris: [redirectUri] }],
    jwks: {
      keys: [
        { ...key.privateKey.export({ format: "jwk" }), kid: key.kid, use: "sig", alg: "RS256" },
      ],
    },
    cookies: { keys: ["the cookies of the provider"] },
    claims: { openid: ["sub"], profile: ["preferred_username", "groups"], email: ["email"] },
    pkce: { required: () => true },
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
    findAccount: (_: unknown, id: string) => ({
      accountId: id,
      claims: () => Promise.resolve({ ...stand.accounts.get(id), sub: id }),
    }),
    // Nobody is asked for consent.
    async loadExistingGrant({ oidc }: GrantContext) {
      const { client, session, provider } = oidc;
      // The same for every tab, because another one voids the codes of the first.
      const given = session.grantIdFor(client.clientId);
      const known = given === undefined ? undefined : await provider.Grant.find(given);
      if (known !== undefined) return known;
      const fields = { clientId: client.clientId, accountId: session.accountId };
      const grant = new provider.Grant(fields);
      grant.addOIDCScope("openid profile email");
      await grant.save();
      return grant;
    },
  };
}

interface GrantContext {
  readonly oidc: {
    readonly client: { readonly clientId: string };
    readonly session: {
      readonly accountId: string;
      readonly grantIdFor: (clientId: string) => string | undefined;
    };
    readonly provider: Provider;
  };
}

/** Changes the JSON of a response on its way out. */
function tamperWith(
  response: ServerResponse,
  change: (body: Record<string, unknown>) => object,
): void {
  const end = response.end.bind(response) as (body?: unknown) => ServerResponse;
  response.end = ((body?: unknown) => {
    const isJson = String(response.getHeader("content-type")).startsWith("application/json");
    if (!isJson || body === undefined) return end(body);
    const text = JSON.stringify(change(JSON.parse(String(body))));
    response.setHeader("content-length", Buffer.byteLength(text));
    return end(text);
  }) as typeof response.end;
}

function signToken({ kid, privateKey }: Key, claims: object, header: object): string {
  const head = { alg: "RS256", typ: "JWT", kid, ...header };
  const text = [head, claims]
    .map((part) => Buffer.from(JSON.stringify(part)).toString("base64url"))
    .join(".");
  if (head.alg === "none") return `${text}.`;
  return `${text}.${createSign("RSA-SHA256").update(text).sign(privateKey, "base64url")}`;
}

/** The claims of a token, which is not verified. */
export function claimsOf(token: unknown): Record<string, unknown> {
  return JSON.parse(Buffer.from(String(token).split(".")[1] ?? "", "base64url").toString());
}
