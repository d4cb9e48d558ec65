import { readFile } from "node:fs/promises";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { callHttp } from "../../support/clients/http-session.ts";
import { readCsvTable } from "../../support/clients/read-csv.ts";
import {
  answer,
  startWebhookReceiver,
  type WebhookReceiver,
} from "../../support/servers/webhook-receiver.ts";
import { eventually } from "../../support/stages/usage/usage-journal.ts";
import { findBarriers } from "../support/audit-page.ts";
import { hasChromium } from "../support/chromium.ts";
import { type ConsolePage, type Look, openConsolePage } from "../support/console-page.ts";
import { type ConsoleStage, openConsoleStage } from "../support/console-stage.ts";
import { pressControl, tabTo } from "../support/tab-to.ts";

const CALLS = 3;
const DAY_MS = 86_400_000;
const TELEPHONE = { width: 375 } as const;
const DESK = { width: 1_440 } as const;

describe.skipIf(!hasChromium)("what was called, used and delivered", () => {
  let stage: ConsoleStage;
  let receiver: WebhookReceiver;
  let shown: ConsolePage;
  let reportingKey: string;
  let requestId: string;
  let refusedId: string;
  let calledMs: number;

  const post = (path: string, body: unknown, token = stage.sessions.administrator) =>
    callHttp(stage.url, { method: "POST", path, token, body });
  const read = async (path: string) =>
    (await callHttp(stage.url, { path, token: stage.sessions.administrator })).body.data;
  const open = async (path: string, look: Look) => {
    shown = await openConsolePage(stage, { role: "administrator", ...look });
    await shown.open(path);
    return shown.page;
  };
  const ask = (key: string) => {
    const body = { model: "sim-chat", messages: [{ role: "user", content: "Hello" }] };
    return post("/v1/chat/completions", body, key);
  };

  beforeAll(async () => {
    receiver = await startWebhookReceiver();
    receiver.use(answer(410));
    stage = await openConsoleStage({ ALERT_WEBHOOK_URL: receiver.url });
    reportingKey = (await post("/v1/api-keys", { name: "reporting" })).body.key;
    calledMs = Date.now();
    for (let call = 0; call < CALLS; call += 1) {
      requestId = (await ask(reportingKey)).headers.get("x-request-id") ?? "";
    }
    // Keys whose month is over: each refusal is an alert, which the receiver wants no more.
    for (const name of ["first", "second", "third"]) {
      const used = (await post("/v1/api-keys", { name, monthly_token_limit: 1 })).body;
      refusedId = (await ask(used.key)).headers.get("x-request-id") ?? "";
    }
    await eventually(async () => (await read("/api/requests")).length === CALLS);
    await eventually(async () => (await read("/api/admin/events?state=dead")).length >= 3);
    receiver.use(answer(204));
  });
  afterAll(async () => {
    await stage?.close();
    await receiver?.stop();
  });

  it("finds a request by its id with a finger", async () => {
    const page = await open("requests", TELEPHONE);
    await page.getByRole("searchbox", { name: "Request id" }).fill(requestId);
    await page.waitForURL(/[?&]id=req_/);
    const rows = page.getByRole("region", { name: "Requests" }).getByRole("listitem");
    await expect.poll(() => rows.count(), { timeout: 30_000 }).toBe(1);
    await rows.getByRole("button").tap();
    await expectRequest(page, requestId);
    await page.getByRole("link", { name: "reporting" }).tap();
    await page.getByRole("heading", { name: "reporting", level: 2 }).waitFor();
    await end();
  });

  it("finds a request by its id with the keyboard alone, and says why another has no row", async () => {
    const page = await open("chat", DESK);
    const palette = page.getByRole("combobox", { name: "Where to go" });
    await page.keyboard.press("Control+k");
    await palette.waitFor();
    await page.keyboard.type("report");
    await page.getByRole("option", { name: "reporting" }).waitFor();
    expect(await findBarriers(page)).toEqual([]);
    await page.keyboard.press("Escape");
    await palette.waitFor({ state: "hidden" });
    const goTo = async (id: string) => {
      await page.keyboard.press("Control+k");
      await palette.waitFor();
      await page.keyboard.type(id);
      await page.getByRole("option", { name: id }).waitFor();
      await page.keyboard.press("Enter");
      await palette.waitFor({ state: "hidden" });
    };
    await goTo(requestId);
    await expectRequest(page, requestId);
    await goTo(refusedId);
    await page.getByText("Calls that were refused leave none").waitFor();
    // The browser itself tells of the 404.
    await end(/status of 404/);
  });

  it.each([
    ["a finger", TELEPHONE],
    ["the keyboard alone", DESK],
  ])("shows usage by model with %s, and saves what it shows", async (_, look) => {
    const page = await open("requests", look);
    const saved = page.waitForEvent("download");
    if (look === TELEPHONE) {
      await page.getByRole("button", { name: "Open the navigation" }).tap();
      await page.getByRole("link", { name: "Usage" }).tap();
      await page.getByRole("button", { name: "Save CSV" }).tap();
    } else {
      await page.keyboard.press("g");
      await page.keyboard.press("u");
      await page.getByRole("heading", { name: "Usage", level: 1 }).waitFor();
      await pressControl(page, "Save CSV");
    }
    const [row] = readCsvTable(await readFile(await (await saved).path(), "utf8"));
    await shown.settled();
    const table = page.getByRole("region", { name: "Figures by model" });
    const cells = table.locator(look === TELEPHONE ? "dd" : "td:not(:first-child)");
    const texts = await cells.allTextContents();
    // Small screens leave the cached tokens out.
    const cached = look === TELEPHONE ? [] : [row?.cached_tokens];
    expect(texts).toEqual([
      ...[row?.requests, row?.input_tokens, row?.output_tokens, ...cached, row?.failures],
      `${row?.average_latency_ms} ms`,
    ]);
    expect(row).toMatchObject({ model: "sim-chat", requests: String(CALLS) });
    await end();
  });

  it("reads the chart with the arrow keys, and shows it as a table", async () => {
    const page = await open("usage?range=7", DESK);
    const chart = page.getByRole("slider");
    await chart.waitFor();
    await tabTo(page, "slider", "Tokens by model and day (UTC): values");
    // The newest day is shown first; when midnight (UTC) came after the calls, they are in the day before.
    const daysSince = Math.floor(Date.now() / DAY_MS) - Math.floor(calledMs / DAY_MS);
    for (let day = 0; day < daysSince; day += 1) await page.keyboard.press("ArrowLeft");
    expect(await chart.getAttribute("aria-valuetext")).toMatch(/sim-chat [1-9]/);
    await page.keyboard.press("ArrowLeft");
    expect(await chart.getAttribute("aria-valuetext")).toMatch(/sim-chat 0$/);
    await page.getByRole("button", { name: "Show as table" }).click();
    expect(await page.getByRole("table", { name: /Tokens by model/ }).count()).toBe(1);
    await end();
  });

  it("sends a dead event again with a finger", async () => {
    const page = await open("events?state=dead", TELEPHONE);
    const sent = receiver.posts().length;
    await page
      .getByRole("region", { name: "Events" })
      .getByRole("listitem")
      .first()
      .getByRole("button")
      .tap();
    await page.getByRole("button", { name: "Send again" }).tap();
    await page.getByText("Delivered", { exact: true }).first().waitFor();
    expect(receiver.posts()).toHaveLength(sent + 1);
    await end();
  });

  it("sends all dead events again with the keyboard alone, once that is confirmed", async () => {
    const page = await open("overview", DESK);
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox", { name: "Where to go" }).waitFor();
    await page.keyboard.type("Events");
    await page.getByRole("option", { name: "Events" }).waitFor();
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Send dead events again" }).waitFor();
    await pressControl(page, "Send dead events again");
    await page.getByRole("button", { name: "Send events" }).waitFor();
    await tabTo(page, "button", "Send events");
    expect(await findBarriers(page)).toEqual([]);
    await page.keyboard.press("Enter");
    await page.getByText(/events? (is|are) sent again$/).waitFor();
    await eventually(async () => (await read("/api/admin/events?state=dead")).length === 0);
    await end();
  });

  it("follows new requests, and saves all pages of the server as one file", async () => {
    const page = await open("requests", DESK);
    const rows = page.getByRole("region", { name: "Requests" }).locator("tbody tr");
    await expect.poll(() => rows.count(), { timeout: 30_000 }).toBe(CALLS);
    await page.keyboard.press("l");
    await page.getByText("Following: the newest 100").waitFor();
    await ask(reportingKey);
    await expect.poll(() => rows.count(), { timeout: 30_000 }).toBe(CALLS + 1);
    // Pages of the server so small that there are several.
    await page.route(/\/api\/requests\?format=csv/, (route) =>
      route.continue({
        url: route
          .request()
          .url()
          .replace(/limit=\d+/, "limit=2"),
      }),
    );
    const saved = page.waitForEvent("download");
    await page.getByRole("button", { name: "Save CSV" }).click();
    const table = readCsvTable(await readFile(await (await saved).path(), "utf8"));
    const listed = await read("/api/requests");
    expect(table.map(({ id }) => id)).toEqual(listed.map(({ id }: { id: string }) => id));
    await end();
  });

  it("asks nothing while its tab is hidden, and goes on when it is seen", async () => {
    shown = await openConsolePage(stage, { role: "administrator", ...DESK });
    const { page } = shown;
    await page.clock.install();
    await shown.open("overview");
    const asked: string[] = [];
    page.on("request", (request) => asked.push(request.url()));
    await page.evaluate(setVisibility, "hidden");
    await page.clock.runFor(150_000);
    expect(asked).toEqual([]);
    await page.evaluate(setVisibility, "visible");
    await page.clock.runFor(10_000);
    await expect.poll(() => asked.length).toBeGreaterThan(0);
    await shown.close();
  });

  /** Ends a journey where it came to, with its panel or dialog open. */
  async function end(expected = /^$/): Promise<void> {
    expect(await findBarriers(shown.page)).toEqual([]);
    expect(shown.problems().filter((problem) => !expected.test(problem))).toEqual([]);
    await shown.close();
  }
});

async function expectRequest(page: Page, id: string): Promise<void> {
  const panel = page.getByRole("region", { name: "Request", exact: true });
  await panel.getByText(id).waitFor();
  await panel.getByText("Answered, status 200").waitFor();
  await panel.getByText("Answer ended").waitFor();
}

/** Runs in the page. */
function setVisibility(state: string): void {
  Object.defineProperty(document, "visibilityState", { configurable: true, value: state });
  Object.defineProperty(document, "hidden", { configurable: true, value: state === "hidden" });
  document.dispatchEvent(new Event("visibilitychange"));
}
