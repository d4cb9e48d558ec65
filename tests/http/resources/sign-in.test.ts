import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { Browser, load, type Shown } from "../../support/clients/browser.ts";
import {
  callHttp,
  type HttpAnswer,
  logIn,
  newAddress,
} from "../../support/clients/http-session.ts";
import { uploadText } from "../../support/clients/license-upload.ts";
import {
  CLIENT_ID,
  CLIENT_SECRET,
  claimsOf,
  type SignInProvider,
  startSignInProvider,
} from "../../support/servers/sign-in-provider.ts";
import {
  startGateway,
  startRefused,
  type TestGateway,
} from "../../support/servers/start-gateway.ts";
import { licenseText, vendor } from "../../support/stages/access/test-license.ts";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 120_000 });
/** More than these tests make. */
const USERS_MAX = 100;
const PASSWORD = "the administrator's own password";

let provider: SignInProvider;
let gateway: TestGateway;
let admin: string;
let people = 0;

beforeAll(async () => {
  provider = await startSignInProvider();
  gateway = await startGateway({
    ADMIN_PASSWORD: PASSWORD,
    OIDC_ISSUER: provider.issuer,
    OIDC_CLIENT_ID: CLIENT_ID,
    OIDC_CLIENT_SECRET: CLIENT_SECRET,
    OIDC_ADMIN_CLAIM: "groups",
    OIDC_ADMIN_VALUES: "gateway-admins",
    OIDC_ALLOWED_VALUES: "staff",
    LICENSE_PUBLIC_KEY: vendor.publicKey,
    // Many sign-ins of these tests fail, and each browser has an address of its own.
    TRUST_PROXY: "1",
  });
  provider.allowRedirect(`${gateway.url}/api/auth/oidc/callback`);
  admin = await logIn(gateway.url, "admin", PASSWORD);
  await uploadText(gateway.port, admin, licenseText({ max_users: USERS_MAX }));
});
afterAll(async () => {
  await gateway.stop();
  await provider.stop();
});

let browser: Browser;
let name: string;
beforeEach(() => {
  browser = new Browser(newAddress());
  provider.tamper = undefined;
  provider.instead = undefined;
  name = `person-${++people}`;
  provider.account = `account of ${name}`;
  setClaims({ preferred_username: name, groups: ["staff"] });
});

const setClaims = (claims: object) => void provider.accounts.set(provider.account, { ...claims });
const LOGIN = "/api/auth/oidc/login";
const signIn = (path = `${LOGIN}?return_to=/api/auth/me`) => browser.open(gateway.url + path);
const call = (method: string, path: string, body?: unknown, token = admin): Promise<HttpAnswer> =>
  callHttp(gateway.url, { method, path, token, ...(body !== undefined && { body }) });
const session = () => browser.cookie(gateway.url, "gateway_session") ?? "";
const me = async () => (await call("GET", "/api/auth/me", undefined, session())).body;

async function lastAudit() {
  const { body } = await call("GET", "/api/admin/audit?action=user.&limit=1");
  return body.data[0];
}
const userNamed = (username: string) => userNamedBy(admin, username);
async function userNamedBy(token: string, username: string) {
  const { body } = await call("GET", `/api/admin/users?search=${username}`, undefined, token);
  return body.data.find((user: { username: string }) => user.username === username);
}

/** Logs in with a first password, and links another account of the provider. Returns the session's token. */
async function linkOwn(username: string, password: string): Promise<string> {
  const first = await logIn(gateway.url, username, password);
  const passwords = { current_password: password, new_password: PASSWORD };
  const { token } = (await call("POST", "/api/auth/password", passwords, first)).body;
  provider.account = `another account of ${username}`;
  setClaims({ preferred_username: "somebody-else", groups: ["staff"] });
  const begun = await call("POST", "/api/auth/oidc/link", { return_to: "/api/auth/me" }, token);
  expect(begun.status).toBe(200);
  browser.setCookie(gateway.url, begun.headers.get("set-cookie") ?? "");
  browser.setCookie(gateway.url, `gateway_session=${token}; Path=/; SameSite=Strict`);
  await browser.open(begun.body.url, gateway.url);
  return token;
}

/** A page that refuses, with nothing made and an entry in the audit log. */
async function expectRefused(shown: Shown, reason: string, status = 403): Promise<void> {
  expect([shown.status, shown.text]).toEqual([status, expect.stringContaining("not signed in")]);
  expect(shown.headers.get("content-type")).toBe("text/html; charset=utf-8");
  expect(shown.headers.get("content-security-policy")).toContain("default-src 'none'");
  expect(shown.headers.get("cache-control")).toBe("no-store");
  expect(shown.text).not.toContain("<script");
  expect(session()).toBe("");
  expect(await lastAudit()).toMatchObject({
    action: "user.login_refused",
    via: "service",
    address: browser.address,
    details: { method: "oidc", reason },
  });
}

describe("a person who signs in at the provider", () => {
  it("is a new user at the first time, and the same user at each further one", async () => {
    const shown = await signIn();
    expect([shown.status, JSON.parse(shown.text)]).toEqual([
      200,
      expect.objectContaining({ username: name, role: "user", must_change_password: false }),
    ]);
    const asked = provider.asked();
    expect(asked.get("code_challenge_method")).toBe("S256");
    for (const parameter of ["state", "nonce", "code_challenge"]) {
      expect(asked.get(parameter)?.length).toBeGreaterThan(40);
    }
    const { id } = await me();
    // Neither the name nor the mail identifies anybody.
    setClaims({ preferred_username: `renamed-${name}`, groups: ["staff"] });
    browser = new Browser(newAddress());
    await signIn();
    expect(await me()).toMatchObject({ id, username: name });
    expect(await lastAudit()).toMatchObject({
      action: "user.login",
      via: "session",
      details: { method: "oidc" },
      target: { id },
    });
    expect((await call("POST", "/api/auth/logout", undefined, session())).status).toBe(204);
  });

  it("becomes an administrator without the keys that a service token's holder has", async () => {
    await signIn();
    const { id } = await me();
    const scopes = { name: "keys", scopes: ["keys:write"] };
    const { token } = (await call("POST", "/api/service-tokens", scopes)).body;
    const asked = { name: "of a program", owner_id: id };
    const { key } = (await call("POST", "/v1/api-keys", asked, token)).body;
    const next = (await call("POST", "/v1/api-keys", { name: "of its key" }, key)).body.key;
    const use = async () =>
      Promise.all(
        [key, next].map(async (one) => (await call("GET", "/v1/api-keys", undefined, one)).status),
      );
    expect(await use()).toEqual([200, 200]);
    setClaims({ preferred_username: name, groups: ["gateway-admins"] });
    await signIn();
    expect(await me()).toMatchObject({ role: "admin" });
    expect(await use()).toEqual([401, 401]);
  });

  it.each([
    ["an administrator promotes is unlinked", 0],
    ["the provider promotes, by the same account, stays linked", 1],
  ] as const)("whom a service token's holder linked, and whom %s", async (_, linked) => {
    const scopes = { name: "users", scopes: ["users:write"] };
    const { token } = (await call("POST", "/api/service-tokens", scopes)).body;
    const made = (await call("POST", "/api/admin/users", { username: name }, token)).body;
    const held = await linkOwn(name, made.password);
    const before = `/api/admin/users/${made.id}/identities`;
    expect((await call("GET", before)).body.data).toHaveLength(1);
    const { key } = (await call("POST", "/v1/api-keys", { name: "of the session" }, held)).body;
    if (linked === 0) await call("PATCH", `/api/admin/users/${made.id}`, { role: "admin" });
    setClaims({ preferred_username: "somebody-else", groups: ["gateway-admins"] });
    browser = new Browser(newAddress());
    await signIn();
    expect((await me()).id === made.id).toBe(linked === 1);
    expect((await call("GET", before)).body.data).toHaveLength(linked);
    expect((await call("GET", "/api/auth/me", undefined, held)).status).toBe(401);
    expect((await call("GET", "/v1/api-keys", undefined, key)).status).toBe(401);
    const audit = await call("GET", `/api/admin/audit?action=user.update&target_id=${made.id}`);
    const { details } = audit.body.data[0];
    expect([details.password, details.unlinked_accounts]).toEqual([
      "void",
      linked === 0 ? 1 : undefined,
    ]);
  });

  it("keeps the account that an administrator linked, whoever set the password", async () => {
    const scopes = { name: "users", scopes: ["users:write"] };
    const { token } = (await call("POST", "/api/service-tokens", scopes)).body;
    const { id } = (await call("POST", "/api/admin/users", { username: name }, token)).body;
    const path = `/api/admin/users/${id}/identities`;
    await call("POST", path, { subject: provider.account });
    await call("PATCH", `/api/admin/users/${id}`, { role: "admin" });
    expect((await call("GET", path)).body.data).toHaveLength(1);
  });

  it("has the role of the groups, at once in every session", async () => {
    await signIn();
    const earlier = session();
    setClaims({ preferred_username: name, groups: ["gateway-admins"] });
    await signIn();
    expect(await me()).toMatchObject({ role: "admin" });
    expect((await call("GET", "/api/admin/users", undefined, earlier)).status).toBe(200);
    setClaims({ preferred_username: name, groups: ["staff", "others"] });
    await signIn();
    expect(await me()).toMatchObject({ role: "user" });
    expect((await call("GET", "/api/admin/users", undefined, earlier)).status).toBe(403);
  });

  it("is refused once removed from the groups, and no longer an administrator anywhere", async () => {
    setClaims({ preferred_username: name, groups: ["gateway-admins"] });
    await signIn();
    const earlier = session();
    const { id } = await me();
    const made = await call("POST", "/v1/api-keys", { name: "of mine" }, earlier);
    const service = { name: "of mine", scopes: ["users:read"] };
    const token = (await call("POST", "/api/service-tokens", service, earlier)).body.token;
    const { key } = made.body;
    const others = async () => {
      const { body } = await call("GET", "/v1/api-keys?limit=100", undefined, key);
      return body.data.filter((one: { owner_id: string }) => one.owner_id !== id).length;
    };
    const users = async () => (await call("GET", "/api/admin/users", undefined, token)).status;
    expect([await others(), await users()]).toEqual([expect.toSatisfy((n) => n > 0), 200]);
    setClaims({ preferred_username: name, groups: [] });
    browser = new Browser(newAddress());
    const shown = await signIn();
    expect(shown.text).toContain("OIDC_ALLOWED_VALUES");
    await expectRefused(shown, "not_allowed");
    expect((await lastAudit()).target).toMatchObject({ id });
    const audit = await call("GET", `/api/admin/audit?action=user.update&target_id=${id}`);
    expect(audit.body.data[0].details).toMatchObject({ role: "user", method: "oidc" });
    expect((await call("GET", "/api/auth/me", undefined, earlier)).status).toBe(401);
    expect([await others(), await users()]).toEqual([0, 401]);
    expect((await userNamed(name)).role).toBe("user");
  });

  it("is refused as the last administrator too, who keeps the role", async () => {
    setClaims({ preferred_username: name, groups: ["gateway-admins"] });
    await signIn();
    const { id } = await me();
    const rest = await call("GET", "/api/admin/users?limit=100");
    const administrators: { readonly id: string; readonly username: string }[] =
      rest.body.data.filter((user: { id: string; role: string }) => {
        return user.role === "admin" && user.id !== id;
      });
    const setRole = (role: string) =>
      Promise.all(
        administrators.map((user) =>
          call("PATCH", `/api/admin/users/${user.id}`, { role }, session()),
        ),
      );
    await setRole("user");
    const earlier = session();
    setClaims({ preferred_username: name, groups: [] });
    const { text } = await signIn();
    expect(text).toContain("not signed in");
    expect((await call("GET", "/api/auth/me", undefined, earlier)).status).toBe(401);
    setClaims({ preferred_username: name, groups: ["gateway-admins"] });
    await signIn();
    expect((await userNamedBy(session(), name)).role).toBe("admin");
    await setRole("admin");
    admin = await logIn(gateway.url, "admin", PASSWORD);
  });

  it("is refused above the number of users of the license", async () => {
    const { port } = gateway;
    await uploadText(port, admin, licenseText({ max_users: 1 }));
    const shown = await signIn();
    await uploadText(port, admin, licenseText({ max_users: USERS_MAX }));
    expect(shown.text).toContain("license_user_limit");
    await expectRefused(shown, "license_user_limit");
    expect(await userNamed(name)).toBeUndefined();
  });

  it("is refused when disabled", async () => {
    await signIn();
    const { id } = await me();
    await call("PATCH", `/api/admin/users/${id}`, { state: "disabled" });
    browser = new Browser(newAddress());
    await expectRefused(await signIn(), "disabled");
  });

  it("is never taken for a user of the same name, who can be linked by an administrator", async () => {
    const { id } = (await call("POST", "/api/admin/users", { username: name })).body;
    const shown = await signIn();
    expect(shown.text).toContain("link");
    await expectRefused(shown, "name_taken");
    const { details } = await lastAudit();
    expect(details).toMatchObject({ issuer: provider.issuer, subject: provider.account });
    const path = `/api/admin/users/${id}/identities`;
    const linked = await call("POST", path, { subject: details.subject });
    expect(linked.body).toMatchObject({ issuer: provider.issuer, subject: provider.account });
    await signIn();
    // The first password, which is to be changed, restricts only sessions that it opened.
    expect(await me()).toMatchObject({ id, must_change_password: false });
    const other = (await call("POST", "/api/admin/users", { username: `other-${name}` })).body.id;
    const taken = await call("POST", `/api/admin/users/${other}/identities`, {
      subject: details.subject,
    });
    expect([taken.status, taken.body.error.param]).toEqual([400, "subject"]);
    expect((await call("GET", path)).body.data).toHaveLength(1);
    expect((await call("DELETE", path)).status).toBe(204);
    browser = new Browser(newAddress());
    await expectRefused(await signIn(), "name_taken");
  });

  it("links their own user while logged in", async () => {
    const made = (await call("POST", "/api/admin/users", { username: name })).body;
    const token = await linkOwn(name, made.password);
    expect(await me()).toMatchObject({ id: made.id });
    const identities = await call("GET", `/api/admin/users/${made.id}/identities`);
    expect(identities.body.data).toHaveLength(1);
    const own = await call("GET", "/api/auth/identities", undefined, token);
    expect([own.status, own.body]).toEqual([200, identities.body]);
    expect((await call("GET", "/api/auth/identities")).body.data).toEqual([]);
    browser = new Browser(newAddress());
    await signIn();
    expect(await me()).toMatchObject({ id: made.id, username: name });
    const unlink = () => call("DELETE", "/api/auth/identities", undefined, token);
    expect((await unlink()).status).toBe(204);
    expect(await lastAudit()).toMatchObject({ action: "user.unlink", details: { accounts: 1 } });
    expect((await call("GET", "/api/auth/identities", undefined, token)).body.data).toEqual([]);
    expect((await unlink()).status).toBe(204);
  });

  it("may not give up their only way to log in", async () => {
    setClaims({ preferred_username: name, groups: ["staff"] });
    await signIn();
    const own = () => browser.open(`${gateway.url}/api/auth/identities`, gateway.url);
    const before = (await own()).text;
    expect(JSON.parse(before).data).toHaveLength(1);
    const url = new URL(`${gateway.url}/api/auth/identities`);
    const refused = await fetch(url, {
      method: "DELETE",
      headers: { cookie: browser.cookieHeader(url), origin: gateway.url },
    });
    const { error } = (await refused.json()) as { error: { code: string; message: string } };
    expect([refused.status, error.code]).toEqual([403, "insufficient_permission"]);
    expect(error.message).toContain("You have no password");
    expect((await own()).text).toBe(before);
  });
});

const callback = (url: URL) => url.pathname === "/api/auth/oidc/callback";
const toCallback = () =>
  browser.open(`${gateway.url}${LOGIN}?return_to=/api/auth/me`, undefined, callback);

describe("a browser", () => {
  it("may sign in in several tabs at once", async () => {
    const tabs = [await toCallback(), await toCallback()];
    for (const { url } of tabs) {
      const shown = await browser.open(url.href, provider.issuer);
      expect([shown.status, shown.text]).toEqual([200, expect.stringContaining(name)]);
    }
  });

  it("keeps the last five sign-ins that it began", async () => {
    const tabs: URL[] = [];
    for (let begun = 0; begun < 6; begun += 1) tabs.push((await toCallback()).url);
    const [first, ...others] = tabs;
    const kept = browser.cookieHeader(others[0] as URL).match(/gateway_sign_in_/g);
    expect(kept).toHaveLength(5);
    expect((await browser.open(first?.href ?? "", provider.issuer)).status).toBe(403);
    for (const { href } of others) {
      expect((await browser.open(href, provider.issuer)).status).toBe(200);
    }
  });
});

describe("an attack on a sign-in", () => {
  /** The pair of name and value of the sign-in that the callback belongs to. */
  const signInCookie = (url: URL) => {
    const name = `gateway_sign_in_${url.searchParams.get("state")?.slice(0, 8)}=`;
    const pairs = browser.cookieHeader(url).split("; ");
    return pairs.find((pair) => pair.startsWith(name)) ?? "";
  };

  it("by a code that was used is refused", async () => {
    const { url } = await toCallback();
    const cookie = signInCookie(url);
    expect((await browser.open(url.href, provider.issuer)).status).toBe(200);
    expect(browser.cookieHeader(url)).not.toContain("gateway_sign_in");
    browser = new Browser(newAddress());
    browser.setCookie(gateway.url, cookie);
    const asked = provider.tokenRequests;
    await expectRefused(await browser.open(url.href), "wrong_state");
    expect(provider.tokenRequests).toBe(asked);
  });

  it("by a link with the attacker's own code, in a browser that began nothing, is refused", async () => {
    const { url } = await toCallback();
    browser = new Browser(newAddress());
    await expectRefused(await browser.open(url.href, "http://attacker.test"), "wrong_state");
  });

  it("by a link with the attacker's own code, in a browser that began its own, is refused", async () => {
    const { url } = await toCallback();
    browser = new Browser(newAddress());
    await toCallback();
    await expectRefused(await browser.open(url.href, "http://attacker.test"), "wrong_state");
  });

  it("by an issuer that another provider puts into the answer is refused", async () => {
    const { url } = await toCallback();
    url.searchParams.set("iss", "http://127.0.0.1:9");
    await expectRefused(await browser.open(url.href), "wrong_issuer");
  });

  it("by many refusals from an address locks nobody there out", async () => {
    const { url } = await toCallback();
    browser = new Browser(browser.address);
    for (let refused = 0; refused < 25; refused += 1) {
      expect((await browser.open(url.href, "http://attacker.test")).status).toBe(403);
    }
    const { status } = await callHttp(gateway.url, {
      method: "POST",
      path: "/api/auth/login",
      headers: { "x-forwarded-for": browser.address },
      body: { username: "admin", password: PASSWORD },
    });
    expect(status).toBe(200);
  });

  it("by more sign-ins than a person makes asks the provider nothing", async () => {
    const { url } = await toCallback();
    const first = (await lastAudit())?.id ?? 0;
    for (let tried = 0; tried < 60; tried += 1) {
      await browser.open(`${gateway.url}/api/auth/oidc/callback?state=none`);
    }
    // Strangers do not fill the log.
    expect((await lastAudit()).id).toBe(first + 10);
    const asked = provider.tokenRequests;
    const before = (await lastAudit()).id;
    const shown = await browser.open(url.href, provider.issuer);
    expect([shown.status, shown.text]).toEqual([429, expect.stringContaining("wait")]);
    expect(Number(shown.headers.get("retry-after"))).toBeGreaterThan(0);
    expect([provider.tokenRequests, (await lastAudit()).id]).toEqual([asked, before]);
    const { address } = browser;
    browser = new Browser(newAddress());
    expect(address).not.toBe(browser.address);
    expect((await signIn()).status).toBe(200);
  });

  it("by a link to an account that is finished in another browser is refused", async () => {
    const made = (await call("POST", "/api/admin/users", { username: name })).body;
    const credentials = { current_password: made.password, new_password: PASSWORD };
    const first = await logIn(gateway.url, name, made.password);
    const { token } = (await call("POST", "/api/auth/password", credentials, first)).body;
    const begin = async () => {
      const begun = await call("POST", "/api/auth/oidc/link", { return_to: "/" }, token);
      browser.setCookie(gateway.url, begun.headers.get("set-cookie") ?? "");
      return begun.body.url;
    };
    const identities = async () => {
      const { body } = await call("GET", `/api/admin/users/${made.id}/identities`);
      return body.data.length;
    };
    // The victim's browser got the cookie of the one who began, and is logged in as nobody, or as somebody else.
    await expectRefused(await browser.open(await begin(), gateway.url), "session_over");
    browser.setCookie(gateway.url, `gateway_session=${admin}; Path=/; SameSite=Strict`);
    const shown = await browser.open(await begin(), gateway.url);
    expect(shown.status).toBe(403);
    expect(await identities()).toBe(0);
  });

  it("by a cookie from a neighbour's site is not read over https", async () => {
    const login = await load(new URL(`${gateway.url}${LOGIN}`), {
      "x-forwarded-for": browser.address,
      "x-forwarded-proto": "https",
    });
    const [line = ""] = login.headers.getSetCookie();
    expect(line).toMatch(
      /^__Host-gateway_sign_in_[\w-]{8}=\S+; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax; Secure$/,
    );
  });

  it("by a picture or a frame in another site's page does nothing", async () => {
    const { url } = await toCallback();
    const cookie = browser.cookieHeader(url);
    const before = (await lastAudit()).id;
    for (const [mode, destination] of [
      ["no-cors", "image"],
      ["navigate", "iframe"],
    ] as const) {
      const shown = await load(url, {
        cookie,
        "sec-fetch-mode": mode,
        "sec-fetch-dest": destination,
      });
      expect([shown.status, shown.headers.getSetCookie()]).toEqual([403, []]);
    }
    expect((await lastAudit()).id).toBe(before);
    expect((await browser.open(url.href, provider.issuer)).status).toBe(200);
  });

  const forged: readonly [string, string, (claims: object) => string][] = [
    ["another nonce", "wrong_nonce", (claims) => provider.sign({ ...claims, nonce: "another" })],
    ["no nonce", "wrong_token", (claims) => provider.sign({ ...claims, nonce: undefined })],
    ["another client", "wrong_audience", (claims) => provider.sign({ ...claims, aud: "another" })],
    [
      "another issuer",
      "wrong_issuer",
      (claims) => provider.sign({ ...claims, iss: "https://another.test" }),
    ],
    ["no signature", "wrong_token", (claims) => provider.sign(claims, { alg: "none" })],
    [
      "a wrong signature",
      "wrong_token",
      (claims) => provider.sign(claims).replace(/\.[^.]*$/, `.${"A".repeat(342)}`),
    ],
    [
      "a time long ago",
      "wrong_time",
      (claims) => provider.sign({ ...claims, exp: Math.floor(Date.now() / 1_000) - 600 }),
    ],
  ];
  it.each(forged)("by a token with %s is refused", async (_, reason, forge) => {
    provider.tamper = (path, body) => {
      if (path.startsWith("/.well-known")) {
        return { ...body, id_token_signing_alg_values_supported: ["RS256", "none"] };
      }
      return path === "/token" ? { ...body, id_token: forge(claimsOf(body["id_token"])) } : body;
    };
    const shown = await signIn();
    expect(await userNamed(name)).toBeUndefined();
    provider.tamper = undefined;
    await expectRefused(shown, reason);
  });

  it.each(
    [
      "https://attacker.test/",
      "//attacker.test",
      "/\\attacker.test",
      "/.//attacker.test",
      "/%09/attacker.test\t",
      "javascript:alert(1)",
      "",
    ].map((text) => [text]),
  )("by return_to=%j leads nowhere else", async (text) => {
    const shown = await browser.open(
      `${gateway.url}${LOGIN}?return_to=${encodeURIComponent(text)}`,
    );
    await expectRefused(shown, "wrong_return_to", 400);
  });
});

describe("a provider", () => {
  it("whose clock is two minutes off, or whose key has changed, is accepted", async () => {
    for (const offset of [-120, 120]) {
      provider.tamper = (path, body) => {
        if (path !== "/token") return body;
        const claims = claimsOf(body["id_token"]);
        const now = Math.floor(Date.now() / 1_000) + offset;
        return {
          ...body,
          id_token: provider.sign({ ...claims, iat: now, nbf: now, exp: now + 30 }),
        };
      };
      expect((await signIn()).status).toBe(200);
    }
    provider.tamper = undefined;
    provider.rotateKey();
    browser = new Browser(newAddress());
    expect((await signIn()).status).toBe(200);
    expect(await me()).toMatchObject({ username: name });
  });

  const lies: readonly [string, (body: object) => object][] = [
    ["calls itself otherwise", (body) => ({ ...body, issuer: "https://another.test" })],
    ["names a script as its page", (body) => ({ ...body, authorization_endpoint: "javascript:1" })],
    ["describes nothing", () => ({})],
  ];

  const broken: readonly [string, Parameters<typeof setInstead>[0]][] = [
    ["is down", { status: 503, body: "down" }],
    ["redirects", { status: 302, body: "", location: "https://another.test/" }],
    ["sends a page", { status: 200, body: "<html>", type: "text/html" }],
  ];
  function setInstead(answer: {
    readonly status: number;
    readonly body: string;
    readonly location?: string;
    readonly type?: string;
  }): void {
    provider.instead = (request, response) => {
      if (!request.url?.startsWith("/.well-known")) return false;
      response.writeHead(answer.status, {
        "content-type": answer.type ?? "application/json",
        ...(answer.location !== undefined && { location: answer.location }),
      });
      response.end(answer.body);
      return true;
    };
  }

  it("that cannot be used gives a page, and sessions go on", async () => {
    const hangUp = () => {
      provider.instead = (request) => request.socket.destroy() !== undefined;
    };
    const trials = [
      ["hangs up", hangUp] as const,
      ...broken.map(([what, answer]) => [what, () => setInstead(answer)] as const),
      ...lies.map(
        ([what, lie]) =>
          [
            what,
            () => {
              provider.tamper = (path, body) =>
                path.startsWith("/.well-known") ? lie(body) : body;
            },
          ] as const,
      ),
    ];
    for (const [what, begin] of trials) {
      const { url } = await browser.open(
        `${gateway.url}${LOGIN}`,
        undefined,
        ({ pathname }) => pathname === "/api/auth/oidc/callback",
      );
      begin();
      const shown = await browser.open(url.href);
      expect([what, shown.status]).toEqual([what, expect.toBeOneOf([403, 502, 503])]);
      expect(shown.text).toContain("not signed in");
      provider.tamper = undefined;
      provider.instead = undefined;
    }
    expect(await userNamed(name)).toBeUndefined();
    expect((await call("GET", "/api/auth/me")).status).toBe(200);
  });

  const claims: readonly [string, object, string][] = [
    ["no name", { groups: ["staff"] }, "OIDC_USERNAME_CLAIM"],
    [
      "a list as a name",
      { preferred_username: ["a", "b"], groups: ["staff"] },
      "OIDC_USERNAME_CLAIM",
    ],
    [
      "a control character",
      { preferred_username: "a\u0007b", groups: ["staff"] },
      "OIDC_USERNAME_CLAIM",
    ],
    ["a look-alike", { preferred_username: "аdmin", groups: ["staff"] }, "OIDC_USERNAME_CLAIM"],
    ["an object as groups", { preferred_username: "ok", groups: { staff: 1 } }, "OIDC_ADMIN_CLAIM"],
    ["numbers as groups", { preferred_username: "ok", groups: [1, 2] }, "OIDC_ADMIN_CLAIM"],
    [
      "a megabyte of groups",
      {
        preferred_username: "ok",
        groups: Array.from({ length: 50_000 }, (_, at) => `group-of-staff-${at}`),
      },
      "OIDC_ADMIN_CLAIM",
    ],
  ];
  it.each(claims)(
    "that sends %s makes no user, and the page names the setting",
    async (_, sent, setting) => {
      setClaims(sent);
      const shown = await signIn();
      expect(shown.text).toContain(setting);
      expect(await userNamed("ok")).toBeUndefined();
      await expectRefused(shown, "unusable_claims");
    },
  );
});

it("a gateway that makes no users lets in those who are linked", async () => {
  const closed = await startGateway({
    ADMIN_PASSWORD: PASSWORD,
    OIDC_ISSUER: provider.issuer,
    OIDC_CLIENT_ID: CLIENT_ID,
    OIDC_CLIENT_SECRET: CLIENT_SECRET,
    OIDC_CREATE_USERS: "0",
    TRUST_PROXY: "1",
  });
  provider.allowRedirect(`${closed.url}/api/auth/oidc/callback`);
  try {
    const token = await logIn(closed.url, "admin", PASSWORD);
    const ask = (method: string, path: string, body?: object) =>
      callHttp(closed.url, { method, path, token, ...(body !== undefined && { body }) });
    const open = () => browser.open(`${closed.url}${LOGIN}?return_to=/api/auth/me`);
    const shown = await open();
    expect([shown.status, shown.text]).toEqual([403, expect.stringContaining("linked")]);
    const users = (await ask("GET", "/api/admin/users")).body.data;
    expect(users.map(({ username }: { username: string }) => username)).toEqual(["admin"]);
    const refused = await ask("GET", "/api/admin/audit?action=user.login_refused&limit=1");
    const { details } = refused.body.data[0];
    expect(details).toMatchObject({ reason: "unknown_user", subject: provider.account });
    const { id } = (await ask("POST", "/api/admin/users", { username: "linked" })).body;
    const path = `/api/admin/users/${id}/identities`;
    for (const subject of ["another account", details.subject]) {
      expect((await ask("POST", path, { subject })).status).toBe(201);
    }
    const linked = await ask("GET", "/api/admin/audit?action=user.link&limit=1");
    expect(linked.body.data[0].details).toMatchObject({ replaced_subject: "another account" });
    expect(JSON.parse((await open()).text)).toMatchObject({ id, username: "linked" });
  } finally {
    provider.allowRedirect(`${gateway.url}/api/auth/oidc/callback`);
    await closed.stop();
  }
});

it("the settings say what is missing", async () => {
  const refused = await startRefused({
    OIDC_ISSUER: "http://login.example.com",
    OIDC_ALLOWED_VALUES: "staff",
    OIDC_ONLY: "1",
  });
  expect(refused.output).toContain("OIDC_ISSUER: must begin with https://");
  const incomplete = await startRefused({ OIDC_ONLY: "1", OIDC_ALLOWED_VALUES: "staff" });
  expect(incomplete.output).toMatch(/OIDC_ONLY: must be 0[\s\S]*OIDC_ALLOWED_VALUES: needs/);
});

it("a start warns of a public provider where everybody may sign in", async () => {
  const open = await startGateway({
    OIDC_ISSUER: "https://accounts.google.com",
    OIDC_CLIENT_ID: CLIENT_ID,
  });
  await open.stop();
  expect(open.output()).toContain("OIDC_ALLOWED_VALUES");
  expect(gateway.output()).not.toContain("public provider");
});
