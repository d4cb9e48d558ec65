import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startGateway, type TestGateway } from "../../support/servers/start-gateway.ts";
import { startSimulator, type TestSimulator } from "../../support/servers/start-simulator.ts";
import { buildConsole } from "../support/built-console.ts";
import { hasChromium } from "../support/chromium.ts";
import { type ConsolePage, openConsolePage } from "../support/console-page.ts";
import { tabTo, tabToElement } from "../support/tab-to.ts";

const run = promisify(execFile);
const PASSWORD = "the administrator's own password";

/** From the first start of a server to the first call that its administrator sees, with the texts exactly as they are shown. */
describe.skipIf(!hasChromium)("From the first start to the first call", () => {
  let simulator: TestSimulator;
  let gateway: TestGateway;
  let shown: ConsolePage;
  let page: Page;
  let place: string;

  beforeAll(async () => {
    [simulator] = await Promise.all([startSimulator(), buildConsole()]);
    gateway = await startGateway({
      LLM_BACKEND: "vllm",
      LLM_BASE_URL: simulator.url,
      BOOTSTRAP_API_KEY: "",
      ADMIN_PASSWORD: "",
    });
    // Programs find the libraries of both vendors as if they had been installed there.
    place = await mkdtemp(join(tmpdir(), "first-call-"));
    await symlink(resolve("node_modules"), join(place, "node_modules"));
    shown = await openConsolePage({ url: gateway.url, signIn: () => Promise.resolve() });
    ({ page } = shown);
  });
  afterAll(async () => {
    await shown?.close();
    await gateway?.stop();
    await simulator?.stop();
    if (place !== undefined) await rm(place, { recursive: true, force: true });
  });

  const snippet = (label: string) => page.getByRole("region", { name: label, exact: true });
  const arrival = () => page.getByRole("status").filter({ hasText: "200 in" });
  const program = async (text: string) => {
    const file = join(place, "hello.mjs");
    await writeFile(file, text);
    return await run(process.execPath, [file], { cwd: place });
  };

  it("goes by keyboard alone", async () => {
    const secrets = await readFile(join(gateway.dataDir, "first-start.txt"), "utf8");
    const first = /password (\S+)/.exec(secrets)?.[1] ?? "";
    await shown.open("");
    await fill(page, { "User name": "admin", Password: first });
    await fill(page, {
      "Current password": first,
      "New password": PASSWORD,
      "New password again": PASSWORD,
    });
    await page.getByRole("heading", { name: "Overview" }).waitFor();

    await page.getByText("Answers come from the built-in simulator. Set").waitFor();
    await page.getByText("3 of 5").waitFor();
    await page.getByText("Waiting for the first call…").waitFor();
    await tabTo(page, "button", "Issue another key");
    await page.keyboard.press("Enter");
    await fill(page, { Name: "notebook" });
    const curl = snippet("A first call");
    await curl.filter({ hasText: /Bearer sk-[\w-]{40,}'/ }).waitFor();
    await run("bash", ["-c", (await curl.textContent()) ?? ""]);
    await arrival().waitFor();
    await page.getByText("4 of 5").waitFor();
  });

  it("shows a call with each vendor's library, on a telephone", async () => {
    await page.setViewportSize({ width: 375, height: 812 });
    await shown.open("connect");
    await page.getByRole("button", { name: "New key" }).click();
    await page.getByLabel("Name", { exact: true }).fill("library");
    await page.getByRole("button", { name: "Issue key" }).click();
    await page.getByRole("tab", { name: "OpenAI JavaScript" }).click();
    await page.getByText("Waiting for the first call…").waitFor();
    const asked = await program(
      (await snippet("OpenAI JavaScript: hello.mjs").textContent()) ?? "",
    );
    expect(asked.stdout.trim()).not.toBe("");
    await arrival().waitFor();

    // Another key is another wait; the address keeps the client, and the page the newest secret.
    await page.getByRole("button", { name: "New key" }).click();
    await page.getByLabel("Name", { exact: true }).fill("messages");
    await page.getByRole("button", { name: "Issue key" }).click();
    await page.getByText("Waiting for the first call…").waitFor();
    await page.getByRole("tab", { name: "Anthropic JavaScript" }).click();
    await program((await snippet("Anthropic JavaScript: hello.mjs").textContent()) ?? "");
    await arrival().waitFor();

    // The secret is gone with the page.
    await page.reload();
    await shown.settled();
    await page.getByText("sk-PUT-YOUR-KEY-HERE").first().waitFor();
    expect(shown.problems()).toEqual([]);
  });
});

/** Types into the fields of a form, one after the other, and sends it. Fields of passwords have no role to be found by. */
async function fill(page: Page, values: Readonly<Record<string, string>>): Promise<void> {
  for (const [label, value] of Object.entries(values)) {
    await tabToElement(page, page.getByLabel(label, { exact: true }), label);
    await page.keyboard.type(value);
  }
  await page.keyboard.press("Enter");
}
