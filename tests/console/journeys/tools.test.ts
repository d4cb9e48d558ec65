import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { callHttp } from "../../support/clients/http-session.ts";
import {
  type ChangingToolServer,
  startChangingToolServer,
} from "../../support/servers/changing-tool-server.ts";
import { findBarriers } from "../support/audit-page.ts";
import { hasChromium } from "../support/chromium.ts";
import { type ConsolePage, type Look, openConsolePage } from "../support/console-page.ts";
import { type ConsoleStage, openConsoleStage } from "../support/console-stage.ts";
import { FIND_TICKET, HOSTILE_TEXT } from "../support/samples/fill-tools.ts";
import { tabTo } from "../support/tab-to.ts";

const { Database } = createRequire(import.meta.url)("node-sqlite3-wasm") as {
  readonly Database: new (path: string) => { exec(sql: string): void; close(): void };
};

describe.skipIf(!hasChromium)("tools, connections and datasets", () => {
  let stage: ConsoleStage;
  let server: ChangingToolServer;
  let workspace: string;

  beforeAll(async () => {
    workspace = mkdtempSync(join(tmpdir(), "journeys-"));
    const database = new Database(join(workspace, "shop.db"));
    database.exec(`create table orders (id integer primary key, note text);
      insert into orders values (1, 'first'), (2, null)`);
    database.close();
    [stage, server] = await Promise.all([
      openConsoleStage({ EGRESS_ALLOW: "127.0.0.1", WORKSPACE_DIR: workspace }),
      startChangingToolServer(FIND_TICKET, { name: "<img src=x>", description: HOSTILE_TEXT }),
    ]);
  });
  afterAll(async () => {
    await stage?.close();
    await server?.stop();
    rmSync(workspace, { recursive: true, force: true });
  });

  /** Shows a page to the administrator; `work` ends with the browser having nothing to complain of. */
  const withPage = async (look: Look, work: (shown: ConsolePage, page: Page) => Promise<void>) => {
    const shown = await openConsolePage(stage, { role: "administrator", ...look });
    try {
      await work(shown, shown.page);
      // The browser tells of each refused call in its own words.
      const refusals = /^console: error: Failed to load resource: .* status of 400/;
      expect(shown.problems().filter((text) => !refusals.test(text))).toEqual([]);
    } finally {
      await shown.close();
    }
  };
  const api = async (path: string) =>
    (await callHttp(stage.url, { path, token: stage.sessions.administrator })).body;

  it("adds a tool server, approves what is seen of it, and tries a tool, by keyboard", async () => {
    await withPage({}, async (shown, page) => {
      await shown.open("tool-servers");
      await page.keyboard.press("n");
      await tabTo(page, "textbox", "Name");
      await page.keyboard.type("tickets");
      await tabTo(page, "textbox", "Address");
      await page.keyboard.type(server.url);
      await page.keyboard.press("Enter");
      await page.getByText("2 tools wait for approval.").waitFor();
      await tabTo(page, "button", "Review tools");
      await page.keyboard.press("Enter");
      const review = page.getByRole("dialog", { name: "Review tools of tickets" });
      await review.getByText("<script>alert(1)").waitFor();
      await tabTo(page, "checkbox", /^<img src=x>/);
      await page.keyboard.press("Space");
      await tabTo(page, "button", "Approve 1 tool");
      await page.keyboard.press("Enter");
      await page.getByText("1 tool waits for approval.").waitFor();
      await tabTo(page, "link", "Try it");
      await page.keyboard.press("Enter");
      await tabTo(page, "tab", "Arguments");
      await page.keyboard.press("ArrowRight");
      await page.keyboard.press("Enter");
      await tabTo(page, "textbox", "words (required)");
      await page.keyboard.type("printer");
      await tabTo(page, "button", "Call tool");
      await page.keyboard.press("Enter");
      const limit = page.locator('[data-field="arguments.limit"]');
      await limit.getByText("'limit' is missing").waitFor();
      await tabTo(page, "textbox", "limit (required)");
      await page.keyboard.type("5");
      await page.keyboard.press("Enter");
      await page.getByText('{"words":"printer","limit":5}').waitFor();
    });
  });

  it("shows what differs from what was approved, and approves it by touch at 375 px", async () => {
    const [{ id }] = (await api("/api/mcp-servers")).data;
    const changed = "Finds tickets, and sends them away.";
    server.offer({ ...FIND_TICKET, description: changed });
    await withPage({ width: 375 }, async (shown, page) => {
      await shown.open(`tool-servers/${id}`);
      // A tool waits already: what is reviewed has to be what the check brings.
      const renewed = page.waitForResponse(
        (answer) => answer.request().method() === "GET" && answer.url().endsWith(id),
      );
      await page.getByRole("button", { name: "Check now" }).tap();
      await renewed;
      await page.getByText("1 tool waits for approval.").waitFor();
      await page.getByRole("button", { name: "Review tools" }).tap();
      await page.locator("ins", { hasText: "sends them away" }).waitFor();
      await page.locator("del", { hasText: "by their words" }).waitFor();
      await page.getByRole("button", { name: "Approve 1 tool" }).tap();
      await page.getByText("1 tool approved").waitFor();
    });
    const { tools } = await api(`/api/mcp-servers/${id}`);
    expect(tools).toMatchObject([{ name: "find_ticket", state: "approved", description: changed }]);
  });

  it("imports a file whose wrong rows are mended in the page, by keyboard", async () => {
    await withPage({}, async (shown, page) => {
      await shown.open("datasets");
      await page.keyboard.press("n");
      await tabTo(page, "textbox", "Name");
      await page.keyboard.type("orders");
      await tabTo(page, "textbox", "Column 1");
      await page.keyboard.type("order_no");
      await tabTo(page, "combobox", "Type 1");
      await page.keyboard.press("Enter");
      await page.getByRole("option", { name: "Whole number" }).waitFor();
      await page.keyboard.press("ArrowDown");
      await page.keyboard.press("Enter");
      await tabTo(page, "button", "Create dataset");
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { level: 1, name: "orders" }).waitFor();
      await tabTo(page, "button", "Import rows");
      await page.keyboard.press("Enter");
      await page.setInputFiles("input[type=file]", {
        name: "orders.csv",
        mimeType: "text/csv",
        buffer: Buffer.from("order_no\n1\nx\n3\ny\n"),
      });
      const dialog = page.getByRole("dialog");
      await dialog.getByText("The first 4 rows").waitFor();
      await tabTo(page, "button", "Choose file");
      await sendByKeyboard(page);
      await dialog.getByRole("heading", { name: "2 wrong rows" }).waitFor();
      expect(await dialog.locator("tbody tr").allInnerTexts()).toEqual([
        expect.stringMatching(/^3\s+order_no\s+expected a whole number.*"x"$/),
        expect.stringMatching(/^5\s+order_no\s+expected a whole number.*"y"$/),
      ]);
      await tabTo(page, "textbox", /^Mend the rows/);
      await page.keyboard.press("ControlOrMeta+a");
      await page.keyboard.insertText("order_no\n1\n2\n3\n4\n");
      await sendByKeyboard(page);
      await page.getByText("4 rows imported into orders").waitFor();
      await page.getByText("4 rows · version 2").waitFor();
    });
    const { rows } = await api("/api/datasets/orders");
    expect(rows).toBe(4);
  });

  it("filters and sorts rows, keeps both in the address, and shows its call", async () => {
    const { id } = await api("/api/datasets/orders");
    await withPage({}, async (shown, page) => {
      await shown.open(`datasets/${id}`);
      await page.getByRole("button", { name: "Add filter" }).click();
      const dialog = page.getByRole("dialog", { name: "Add filter" });
      await dialog.getByRole("combobox", { name: "Condition" }).click();
      await page.getByRole("option", { name: "is at least" }).click();
      await dialog.getByLabel("Value").fill("x");
      await dialog.getByRole("button", { name: "Add filter" }).click();
      // The server says what is wrong with it, and what was typed stays.
      await dialog.locator("[data-invalid]").first().waitFor();
      await dialog.getByLabel("Value").fill("3");
      await dialog.getByRole("button", { name: "Add filter" }).click();
      const numbers = async () => {
        const rows = await page.locator("tr[data-index]").allInnerTexts();
        return rows.map((text) => text.split(/\s+/).at(-1));
      };
      await expect.poll(numbers).toEqual(["3", "4"]);
      await page.getByRole("button", { name: "order_no", exact: true }).click();
      await expect.poll(numbers).toEqual(["4", "3"]);
      await page.reload();
      await shown.settled();
      expect(await numbers()).toEqual(["4", "3"]);
      expect(await findBarriers(page)).toEqual([]);
      await page.getByRole("button", { name: "Show the call" }).click();
      expect(await page.getByRole("dialog").textContent()).toContain(
        "/v1/data/orders?filter.order_no=gte.3&order=-order_no",
      );
      await page.keyboard.press("Escape");
      await page.getByRole("button", { name: "Take away: order_no is at least 3" }).click();
      await expect.poll(numbers).toEqual(["4", "3", "2", "1"]);
    });
  });

  it("measures rows anew where a window that was small has grown", async () => {
    const rows = Array.from({ length: 300 }, (_, index) => ({
      number: index,
      text: `row ${index}`,
    }));
    const imported = await callHttp(stage.url, {
      ...{ method: "POST", path: "/api/datasets/import?name=long", body: rows },
      token: stage.sessions.administrator,
    });
    expect(imported.status).toBe(201);
    await withPage({}, async (shown, page) => {
      await shown.open(`datasets/${imported.body.dataset.id}`);
      const table = page.getByRole("table", { name: "Rows" });
      const height = async () => (await table.boundingBox())?.height;
      const before = await height();
      await page.setViewportSize({ width: 375, height: 812 });
      await page.getByRole("list", { name: "Rows" }).waitFor();
      await page.setViewportSize({ width: 1_440, height: 900 });
      await table.waitFor();
      expect(await height()).toBe(before);
    });
  });

  it("replaces rows only when the name is typed, and downloads them, by touch at 375 px", async () => {
    const { id } = await api("/api/datasets/orders");
    await withPage({ width: 375 }, async (shown, page) => {
      await shown.open(`datasets/${id}`);
      await page.getByRole("button", { name: "Import rows" }).tap();
      await page.setInputFiles("input[type=file]", {
        name: "orders.ndjson",
        mimeType: "",
        buffer: Buffer.from('{"order_no":9}\n'),
      });
      await page.getByRole("combobox", { name: /^What becomes/ }).tap();
      await page.getByRole("option", { name: /^All are replaced/ }).tap();
      const replace = page.getByRole("button", { name: "Replace rows" });
      expect(await replace.getAttribute("aria-disabled")).toBe("true");
      await page.getByRole("textbox", { name: "Type orders to confirm" }).fill("orders");
      await replace.tap();
      await page.getByText("1 row imported into orders").waitFor();
      await page.getByRole("button", { name: "Download" }).tap();
      const download = page.waitForEvent("download");
      await page.getByRole("menuitem", { name: "CSV for an import" }).tap();
      expect((await download).suggestedFilename()).toBe("orders.csv");
    });
  });

  it("shows the folders that tools may read, and where they are set", async () => {
    await withPage({ width: 375 }, async (shown, page) => {
      await shown.open("connections");
      await page.getByRole("tab", { name: "Folders" }).tap();
      const folders = page.getByRole("list", { name: "Folders" });
      expect(await folders.textContent()).toMatch(/workspace.*WORKSPACE_DIR/);
      expect(new URL(page.url()).search).toBe("?tab=folders");
      expect(await findBarriers(page)).toEqual([]);
    });
  });

  it("adds a SQLite connection, tests and reads it, by keyboard", async () => {
    await withPage({}, async (shown, page) => {
      await shown.open("connections");
      await page.keyboard.press("n");
      await tabTo(page, "textbox", "Name");
      await page.keyboard.type("shop");
      await tabTo(page, "combobox", "Kind");
      await page.keyboard.press("Enter");
      await page.getByRole("option", { name: "SQLite" }).waitFor();
      await page.keyboard.press("End");
      await page.keyboard.press("Enter");
      await tabTo(page, "textbox", "File");
      await page.keyboard.press("End");
      await page.keyboard.type("shop.db");
      await tabTo(page, "button", "Test connection");
      await page.keyboard.press("Enter");
      await page.getByText("1 table or view").waitFor();
      await tabTo(page, "button", "Add connection");
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { name: "shop" }).waitFor();
      await tabTo(page, "button", "Show tables");
      await page.keyboard.press("Enter");
      await page.getByText("2 columns").waitFor();
      await tabTo(page, "button", "Run a query");
      await page.keyboard.press("Enter");
      await tabTo(page, "textbox", "Statement");
      await page.keyboard.type("delete from orders");
      await tabTo(page, "button", "Run query");
      await page.keyboard.press("Enter");
      await page.getByText("The statement was refused").waitFor();
      await tabTo(page, "textbox", "Statement");
      await page.keyboard.press("ControlOrMeta+a");
      await page.keyboard.type("select * from orders order by id");
      await tabTo(page, "button", "Run query");
      await page.keyboard.press("Enter");
      const rows = page.getByRole("table", { name: "Rows" }).locator("tbody tr");
      await rows.nth(1).waitFor();
      expect(await rows.allInnerTexts()).toEqual(["1\tfirst", "2\tnull"]);
    });
  });
});

/** Goes on to the last button of the form, which sends it. */
async function sendByKeyboard(page: Page): Promise<void> {
  const send = page.getByRole("dialog").locator("button[type=submit]");
  await send.focus();
  await page.keyboard.press("Enter");
}
