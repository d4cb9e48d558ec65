import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { callHttp, logIn } from "../../support/clients/http-session.ts";
import {
  createOwnDatabase,
  type OwnDatabase,
} from "../../support/servers/databases/test-database.ts";
import { startGateway, type TestGateway } from "../../support/servers/start-gateway.ts";
import { startSimulator, type TestSimulator } from "../../support/servers/start-simulator.ts";
import { buildConsole } from "../support/built-console.ts";
import { hasChromium } from "../support/chromium.ts";
import { type ConsolePage, openConsolePage } from "../support/console-page.ts";
import { holdAnswers } from "../support/hold-answers.ts";

const ADMIN = { username: "admin", password: "the administrator's own password" };

/** Pages that are open while the gateway stops and starts again. */
describe.skipIf(!hasChromium)("A restart of the gateway, seen by open pages", () => {
  let simulator: TestSimulator;
  let database: OwnDatabase | undefined;
  let dataDir: string;
  let gateway: TestGateway;
  let rows: Awaited<ReturnType<typeof holdAnswers>>;
  const tabs: ConsolePage[] = [];

  const start = (port: string) =>
    startGateway({
      ...{ DATA_DIR: dataDir, DATABASE_URL: database?.url ?? "", PORT: port },
      ...{ LLM_BACKEND: "vllm", LLM_BASE_URL: simulator.url, ADMIN_PASSWORD: ADMIN.password },
      EGRESS_ALLOW: "127.0.0.1",
    });
  const call = async (path: string, body?: unknown) => {
    const token = await logIn(gateway.url, ADMIN.username, ADMIN.password);
    const method = body === undefined ? "GET" : "POST";
    return (
      await callHttp(gateway.url, { method, path, token, ...(body !== undefined && { body }) })
    ).body;
  };
  const openTab = async (path: string) => {
    const { url } = gateway;
    const tab = await openConsolePage(
      {
        url,
        async signIn(context) {
          await context.request.post(`${url}/api/auth/login`, { data: ADMIN });
        },
      },
      { role: "administrator" },
    );
    tabs.push(tab);
    await tab.open(path);
    return tab.page;
  };

  beforeAll(async () => {
    [simulator, database] = await Promise.all([startSimulator(), createOwnDatabase()]);
    await buildConsole();
    dataDir = await mkdtemp(join(tmpdir(), "restart-"));
    gateway = await start("0");
    rows = await holdAnswers();
  });
  afterAll(async () => {
    for (const tab of tabs) await tab.close();
    await gateway?.stop();
    await rows?.close();
    await simulator?.stop();
    await database?.drop();
    if (dataDir !== undefined) await rm(dataDir, { recursive: true, force: true });
  });

  it("is told in words, nothing that was typed is lost, and each goes on by itself", async () => {
    const steps = [{ id: "page", kind: "fetch_http", url: rows.url }];
    const workflow = await call("/api/pipeline/workflows", { name: "slow", steps });
    const { runId } = await call(`/api/pipeline/workflows/${workflow.id}/runs`, {});
    const run = await openTab(`runs/${runId}`);
    const status = (word: string) => run.locator("header").getByText(word, { exact: true });
    await status("Running").waitFor();
    const keys = await openTab("keys");
    await keys.keyboard.press("n");
    await keys.getByLabel("Name", { exact: true }).fill("nightly");
    const chat = await openTab("chat");
    await composer(chat).fill("Where does water run?");

    const { port } = gateway;
    gateway.kill("SIGTERM");
    await gateway.exited;
    await run.getByText("The gateway does not answer.").waitFor();
    await status("State unknown").waitFor();
    const issue = keys.getByRole("button", { name: "Issue key" });
    await issue.click();
    await keys.getByRole("alert").filter({ hasText: "The gateway does not answer." }).waitFor();
    expect(await keys.getByLabel("Name", { exact: true }).inputValue()).toBe("nightly");
    await composer(chat).press("Enter");
    // The list of earlier chats says that it could not be loaded, too, and has a button of the same name.
    const cut = chat.getByRole("alert").filter({ hasText: "No answer came" });
    await cut.getByText("The gateway does not answer.").waitFor();
    await chat.getByText("Where does water run?").first().waitFor();
    await chat.getByText("The chat could not be saved").waitFor();
    await composer(chat).fill("And after that?");
    const history = chat.getByText("Chats could not be loaded");
    await history.waitFor();

    gateway = await start(String(port));
    rows.release();
    await status("Completed").waitFor();
    await run.getByText("The gateway does not answer.").waitFor({ state: "detached" });
    // Nobody asks for the list of chats: it is back because another call of the page was answered.
    await history.waitFor({ state: "detached" });
    // The question is saved for the same reason.
    await chat.waitForURL(/\/chat\/chat_/);
    await issue.click();
    await keys
      .getByText(/^sk-[\w-]{40,}$/)
      .first()
      .waitFor();
    await cut.getByRole("button", { name: "Retry" }).click();
    await chat.waitForURL(/\/chat\/chat_/);
    await chat.getByRole("button", { name: "Stop", exact: true }).waitFor({ state: "detached" });
    expect(await composer(chat).inputValue()).toBe("And after that?");
    const messages = Object.values(
      (await call(`/api/chats/${chat.url().split("/").at(-1)}`)).document?.messages ?? {},
    );
    // Chats are their owner's, and this is the owner's session.
    expect(messages.length).toBeGreaterThanOrEqual(2);
  });
});

const composer = (page: Page) => page.getByRole("textbox", { name: "Message" });
