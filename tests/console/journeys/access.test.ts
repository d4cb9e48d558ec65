import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { promisify } from "node:util";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { callHttp } from "../../support/clients/http-session.ts";
import {
  CLIENT_ID,
  CLIENT_SECRET,
  type SignInProvider,
  startSignInProvider,
} from "../../support/servers/sign-in-provider.ts";
import { licenseText, vendor } from "../../support/stages/access/test-license.ts";
import { hasChromium } from "../support/chromium.ts";
import { type ConsolePage, type Look, openConsolePage } from "../support/console-page.ts";
import { type ConsoleStage, openConsoleStage } from "../support/console-stage.ts";
import { pressControl, tabTo, typeInto } from "../support/tab-to.ts";

const run = promisify(execFile);
const LIMIT_MS = 300_000;

describe.skipIf(!hasChromium)("journeys: who may use the gateway, in a browser", () => {
  let stage: ConsoleStage;
  let provider: SignInProvider;

  beforeAll(async () => {
    provider = await startSignInProvider();
    stage = await openConsoleStage({
      BIKEY_PG_PROXY_ENABLED: "1",
      BIKEY_PG_PROXY_PORT: "0",
      LICENSE_PUBLIC_KEY: vendor.publicKey,
      ...{ OIDC_ISSUER: provider.issuer, OIDC_CLIENT_ID: CLIENT_ID },
      OIDC_CLIENT_SECRET: CLIENT_SECRET,
    });
  });
  afterAll(async () => {
    await stage?.close();
    await provider?.stop();
  });

  /** Walks through pages; none of them may have said that anything is wrong, but for what is expected. */
  const walk = async (
    look: Look,
    steps: (shown: ConsolePage) => Promise<void>,
    expected: readonly string[] = [],
  ) => {
    const shown = await openConsolePage(stage, look);
    try {
      await steps(shown);
      expect(shown.problems()).toEqual(expected.map((text) => expect.stringContaining(text)));
    } finally {
      await shown.close();
    }
  };
  const ask = async (key: string) => {
    const { status } = await callHttp(stage.url, {
      method: "POST",
      path: "/v1/chat/completions",
      token: key,
      body: { model: "sim-chat", messages: [{ role: "user", content: "Hello" }] },
    });
    return status;
  };

  it(
    "a key is issued, limited, rotated and deleted by keyboard, and its calls follow",
    async () => {
      await walk({ role: "administrator" }, async ({ page, open, settled }) => {
        await open("keys");
        await page.keyboard.press("n");
        await typeInto(page, "Name", "nightly");
        await pressControl(page, "Issue key");
        const first = await takeSecret(page, "The key");
        expect(await ask(first)).toBe(200);

        await page.keyboard.press("j");
        await pressControl(page, "nightly");
        // The heading stands before the key is there, and its shortcuts come with it.
        await page.getByRole("button", { name: "Change key" }).waitFor();
        await settled();
        await page.keyboard.press("e");
        await typeInto(page, "Calls a minute", "1");
        await pressControl(page, "Save key");
        await page.getByText("Key nightly is changed").waitFor();
        expect([await ask(first), await ask(first)]).toContain(429);

        await pressControl(page, "Rotate key");
        await tabTo(page, "combobox", "How long the old secret goes on working");
        await page.keyboard.press("Enter");
        await page.getByRole("option", { name: /^None/ }).waitFor();
        await page.keyboard.press("Home");
        await page.keyboard.press("Enter");
        await pressControl(page, "Rotate key");
        const second = await takeSecret(page, "The key");
        expect(await ask(first)).toBe(401);
        expect(await ask(second)).not.toBe(401);

        await pressControl(page, "Delete key");
        await typeInto(page, "Type nightly to confirm", "nightly");
        await page.keyboard.press("Enter");
        await page.getByText("Key nightly is deleted").waitFor();
        expect(await ask(second)).toBe(401);
      });
    },
    LIMIT_MS,
  );

  it(
    "a time that is typed by half is not taken for never, and the form says so",
    async () => {
      await walk({ role: "administrator" }, async ({ page, open }) => {
        await open("keys");
        await page.getByRole("button", { name: "New key" }).click();
        await page.getByLabel("Name", { exact: true }).fill("dated");
        await page.getByLabel("Expires").focus();
        await page.keyboard.type("24");
        await page.getByRole("button", { name: "Issue key" }).click();
        await page.getByText("This is not a whole time yet.").waitFor();
        const hasFocus = (element: Element) => element === document.activeElement;
        expect(await page.getByLabel("Expires").evaluate(hasFocus)).toBe(true);
        await page.getByLabel("Expires").fill("2099-12-24T18:00");
        await page.getByRole("button", { name: "Issue key" }).click();
        await page.getByRole("region", { name: "The key", exact: true }).waitFor();
        const path = "/api/v1/api-keys?search=dated";
        const { body } = await callHttp(stage.url, { path, token: stage.sessions.administrator });
        const expiries = body.data.map(({ expires_at: at }: { expires_at: string }) => at);
        expect(expiries).toEqual([expect.stringMatching(/^2099-12-24T17:00/)]);
      });
    },
    LIMIT_MS,
  );

  it(
    "a user is offered the levels alone that the user may give",
    async () => {
      const levels = async ({ page }: ConsolePage) => {
        await page.getByLabel("What tools may do").click();
        const names = await page.getByRole("option").allTextContents();
        await page.keyboard.press("Escape");
        return names;
      };
      await walk({ role: "user" }, async (shown) => {
        const { page, open } = shown;
        await open("keys");
        await page.getByRole("button", { name: "New key" }).first().click();
        expect(await levels(shown)).toEqual(["Read only"]);
        await page.getByText("More is given by administrators.").waitFor();
        await page.getByLabel("Name", { exact: true }).fill("bounded");
        await page.getByRole("button", { name: "Issue key" }).click();
        await page.getByRole("region", { name: "The key", exact: true }).waitFor();
      });
      const token = stage.sessions.administrator;
      const listed = await callHttp(stage.url, { path: "/api/v1/api-keys?search=bounded", token });
      const [{ id }] = listed.body.data;
      const change = { method: "PATCH", path: `/api/v1/api-keys/${id}`, token };
      await callHttp(stage.url, { ...change, body: { max_level: "write" } });
      const look = async (shown: ConsolePage) => {
        await shown.open(`keys/${id}`);
        await shown.page.getByRole("button", { name: "Change key" }).click();
        return levels(shown);
      };
      await walk({ role: "user" }, async (shown) => {
        expect(await look(shown)).toEqual(["Read only", "Write"]);
      });
      await walk({ role: "administrator" }, async (shown) => {
        expect(await look(shown)).toEqual(["Read only", "Write", "Everything, unasked"]);
      });
    },
    LIMIT_MS,
  );

  it(
    "a change of a user leaves what another administrator changed meanwhile",
    async () => {
      const token = stage.sessions.administrator;
      const me = await callHttp(stage.url, { path: "/api/auth/me", token: stage.sessions.user });
      const path = `/api/admin/users/${me.body.id}`;
      await walk({ role: "administrator" }, async ({ page, open }) => {
        await open(`users/${me.body.id}`);
        await page.getByRole("button", { name: "Change user" }).click();
        const save = page.getByRole("button", { name: "Save user" });
        await save.waitFor();
        expect(await save.getAttribute("aria-disabled")).toBe("true");
        const other = { method: "PATCH", path, token, body: { rpm_limit: 7 } };
        expect((await callHttp(stage.url, other)).status).toBe(200);
        await page.getByLabel("Tokens a month").fill("5000");
        await save.click();
        await page.getByText(/^User .* is changed$/).waitFor();
      });
      const { body } = await callHttp(stage.url, { path, token });
      expect(body).toMatchObject({ rpm_limit: 7, monthly_token_limit: 5_000 });
      const limits = { rpm_limit: null, monthly_token_limit: null };
      await callHttp(stage.url, { method: "PATCH", path, token, body: limits });
    },
    LIMIT_MS,
  );

  it(
    "a user sees the accounts of the provider that they sign in with, and unlinks them",
    async () => {
      const me = await callHttp(stage.url, { path: "/api/auth/me", token: stage.sessions.user });
      await walk({ role: "user" }, async ({ page, open }) => {
        await open("account");
        await page.getByText("None: you sign in with a password.").waitFor();
        const linked = await callHttp(stage.url, {
          method: "POST",
          path: `/api/admin/users/${me.body.id}/identities`,
          token: stage.sessions.administrator,
          body: { subject: "ada-at-the-provider", issuer: provider.issuer },
        });
        expect(linked.status).toBe(201);
        await open("account");
        await page.getByText("ada-at-the-provider").waitFor();
        await pressControl(page, "Unlink account…");
        await pressControl(page, "Unlink account");
        await page.getByText("None: you sign in with a password.").waitFor();
      });
    },
    LIMIT_MS,
  );

  it(
    "a browser that denies storage and clipboard shows a key all the same, and a wrong clock is told",
    async () => {
      await walk({ role: "administrator" }, async ({ page, open }) => {
        await page.addInitScript(denyMuch);
        await open("keys");
        await page.getByText("This device's clock is 5 h ahead of the gateway's").waitFor();
        await page.getByRole("button", { name: "New key" }).click();
        await page.getByLabel("Name", { exact: true }).fill("denied");
        await page.getByRole("button", { name: "Issue key" }).click();
        const secret = await textOf(page, "The key");
        await page.getByRole("button", { name: "Copy: The key" }).click();
        const byHand = page.getByRole("dialog", { name: "Copy by hand" });
        expect(await byHand.getByLabel("The text to copy").inputValue()).toBe(secret);
      });
    },
    LIMIT_MS,
  );

  it(
    "a new user comes to a password of their own, by touch on a small screen",
    async () => {
      let password = "";
      await walk({ role: "administrator", width: 375 }, async ({ page, open }) => {
        await open("users");
        await page.getByRole("button", { name: "New user" }).tap();
        await page.getByRole("dialog").getByLabel("Name").fill("grace");
        await page.getByRole("button", { name: "Create user" }).tap();
        password = await textOf(page, "The password");
        await page.getByRole("button", { name: "I have copied it" }).tap();
      });
      await walk({ width: 375 }, async ({ page, open }) => {
        await open("login");
        await page.getByLabel("User name").fill("grace");
        await page.getByLabel("Password", { exact: true }).fill(password);
        await page.getByRole("button", { name: "Sign in" }).tap();
        await page.getByLabel("Current password").fill(password);
        await page.getByLabel("New password", { exact: true }).fill("grace's own password");
        await page.getByLabel("New password again").fill("grace's own password");
        await page.getByRole("button", { name: "Change password" }).tap();
        await page.getByRole("button", { name: "Open the navigation" }).tap();
        await page.getByRole("button", { name: "grace" }).waitFor();
      });
    },
    LIMIT_MS,
  );

  it(
    "somebody signs in with the provider's button, and comes to the page that was asked for",
    async () => {
      // By this name the gateway is another site than its provider, as it is for everybody else.
      const url = stage.url.replace("127.0.0.1", "localhost");
      provider.allowRedirect(`${url}/api/auth/oidc/callback`);
      provider.account = "account of hopper";
      provider.accounts.set(provider.account, { preferred_username: "hopper" });
      const { page, open, settled, problems, close } = await openConsolePage({
        ...{ url, signIn: () => Promise.reject(new Error("nobody has a password here")) },
      });
      await open("keys?search=night");
      const host = new URL(provider.issuer).host;
      await page.getByRole("link", { name: `Sign in with ${host}` }).click();
      await page.waitForURL(`${url}/console/keys?search=night`);
      await settled();
      await page.getByRole("heading", { name: "API keys" }).waitFor();
      await page.getByRole("button", { name: "hopper" }).waitFor();
      expect(provider.tokenRequests).toBe(1);
      expect(problems().filter((text) => !text.includes(provider.issuer))).toEqual([]);
      await close();
    },
    LIMIT_MS,
  );

  it.skipIf(!existsSync("/usr/bin/psql"))(
    "a BI key's text for psql works as it is shown, and the statement is listed",
    async () => {
      await vi.waitFor(
        async () => {
          const { body } = await callHttp(stage.url, { path: "/api/ready" });
          expect(body.bi).toBe("open");
        },
        { timeout: LIMIT_MS, interval: 100 },
      );
      await walk({ role: "administrator" }, async ({ page, open }) => {
        await open("bi-keys");
        await page.keyboard.press("n");
        await typeInto(page, "Name", "finance");
        await tabTo(page, "switch", "Reads every table, those to come too");
        await page.keyboard.press("Space");
        await pressControl(page, "Issue BI key");
        const command = await textOf(page, "psql");
        await pressControl(page, "I have copied it");

        const asked = `${command} -XAt -c 'select name from users order by name'`;
        const { stdout } = await run("/bin/sh", ["-c", asked]);
        expect(stdout.split("\n")).toEqual(expect.arrayContaining(["ada", "admin"]));

        // Statements are logged a moment after they were answered.
        await vi.waitFor(
          async () => {
            const path = "/api/admin/bi/statements";
            const token = stage.sessions.administrator;
            expect((await callHttp(stage.url, { path, token })).text).toMatch(/from "?users/i);
          },
          { timeout: LIMIT_MS, interval: 100 },
        );
        await open("bi-keys?view=statements");
        await page.getByRole("button", { name: /from "?users/i }).waitFor();
      });
    },
    LIMIT_MS,
  );

  it(
    "a refused license says why, and the right one counts at once",
    async () => {
      const steps = async ({ page, open }: ConsolePage) => {
        await open("license");
        await chooseLicense(page, "not a license");
        await page.getByRole("alert").filter({ hasText: "customer.lic was refused" }).waitFor();
        await chooseLicense(page, licenseText({ customer: "The harbour" }));
        await page.getByText("customer.lic is the license now").waitFor();
        await page.getByText("The harbour").waitFor();
        expect(await page.getByRole("alert").count()).toBe(0);
      };
      await walk({ role: "administrator" }, steps, ["with a status of 400"]);
    },
    LIMIT_MS,
  );
});

/** Returns the text that is shown to be copied. */
async function textOf(page: Page, label: string): Promise<string> {
  return (await page.getByRole("region", { name: label, exact: true }).textContent()) ?? "";
}

/** Returns the secret that a dialog shows, and closes it as the dialog wants. */
async function takeSecret(page: Page, label: string): Promise<string> {
  const secret = await textOf(page, label);
  await pressControl(page, "I have copied it");
  await page.getByRole("region", { name: label, exact: true }).waitFor({ state: "detached" });
  return secret;
}

async function chooseLicense(page: Page, text: string): Promise<void> {
  const chooser = page.waitForEvent("filechooser");
  await pressControl(page, "Choose file");
  await (await chooser).setFiles({
    name: "customer.lic",
    mimeType: "application/octet-stream",
    buffer: Buffer.from(text),
  });
}

/** Runs in the page: what a browser has of a strict policy or without TLS, on a device whose clock is five hours ahead. */
function denyMuch(): void {
  const get = () => {
    throw new DOMException("denied", "SecurityError");
  };
  for (const name of ["localStorage", "sessionStorage"])
    Object.defineProperty(window, name, { get });
  Object.defineProperty(navigator, "clipboard", { value: undefined });
  Object.defineProperty(crypto, "subtle", { value: undefined });
  Object.defineProperty(crypto, "randomUUID", { value: undefined });
  document.execCommand = () => false;
  const { now } = Date;
  Date.now = () => now() + 5 * 3_600_000;
}
