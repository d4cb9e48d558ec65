import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { callHttp } from "../../support/clients/http-session.ts";
import { findBarriers, sidewaysScroll } from "../support/audit-page.ts";
import { hasChromium } from "../support/chromium.ts";
import { type ConsolePage, openConsolePage } from "../support/console-page.ts";
import { type ConsoleStage, openConsoleStage } from "../support/console-stage.ts";

const MAX_BYTES = 1024 * 1024;
const MANUAL = "# Pump\n\nE-4711 means that the pump runs dry. Check the valve.\n";

describe.skipIf(!hasChromium)("knowledge in the console", () => {
  let stage: ConsoleStage;
  let shown: ConsolePage;

  beforeAll(async () => {
    stage = await openConsoleStage({ FILE_MAX_BYTES: String(MAX_BYTES) });
    shown = await openConsolePage(stage, { role: "user" });
  });
  afterAll(async () => {
    await shown?.close();
    await stage?.close();
  });

  const file = (name: string, content: string | Buffer) => ({
    ...{ name, mimeType: "application/octet-stream" },
    buffer: Buffer.from(content),
  });
  const upload = (files: readonly ReturnType<typeof file>[]) =>
    shown.page.locator('input[type="file"]').setInputFiles([...files]);
  const row = (name: string) => shown.page.getByRole("row").filter({ hasText: name });
  const storeId = () => new URL(shown.page.url()).pathname.split("/").at(-1) ?? "";

  it("makes a store by keyboard", async () => {
    await shown.open("knowledge");
    const { page } = shown;
    await page.keyboard.press("n");
    await page.getByLabel("Name", { exact: true }).fill("Manuals");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "Manuals" }).waitFor();
    expect(storeId()).toMatch(/^vs_/);
    await page.getByText("No files yet").waitFor();
  });

  it("takes many files at once, each with its own end", async () => {
    const { page } = shown;
    await upload([
      file("manual.md", MANUAL),
      file("huge.txt", Buffer.alloc(MAX_BYTES + 4_096, "a")),
      file("empty.txt", ""),
      file("archive.zip", "PK\u0003\u0004 no archive"),
      file("faq.md", "# Questions\n\nWater comes from the tap.\n"),
    ]);
    const uploads = page.getByRole("region", { name: "Uploads" });
    await uploads.getByText("4 of 5 added · 1 failed").waitFor();
    const refused = uploads.getByRole("listitem").filter({ hasText: "huge.txt" });
    expect(await refused.textContent()).toMatch(
      /Failed:[\s\S]*FILE_MAX_BYTES|Failed:[\s\S]*over the limit/,
    );
    for (const name of ["manual.md", "faq.md"]) await row(name).getByText("Ready").waitFor();
    for (const name of ["empty.txt", "archive.zip"]) await row(name).getByText("Failed:").waitFor();
    expect(await row("empty.txt").textContent()).toContain("The file is empty.");
    expect(await findBarriers(page)).toEqual([]);
  });

  it("says that a name is there already, and keeps both", async () => {
    const { page } = shown;
    await page.getByRole("button", { name: "Close the list" }).click();
    await page.route(`${stage.url}/api/v1/files`, async (route) => {
      // Held until the row has been seen.
      await page.getByText("The store has a file of this name; both stay.").waitFor();
      await route.continue();
    });
    await upload([file("manual.md", `${MANUAL}\nThird edition.\n`)]);
    await page.getByText("1 of 1 added").waitFor();
    await page.unroute(`${stage.url}/api/v1/files`);
    await expect.poll(() => row("manual.md").count()).toBe(2);
  });

  it("goes on after an upload that was interrupted", async () => {
    const { page } = shown;
    await page.getByRole("button", { name: "Close the list" }).click();
    await page.route(`${stage.url}/api/v1/files`, (route) => route.abort("connectionreset"));
    await upload([file("cut.md", "# Cut\n\nIt came at the second try.\n")]);
    await page.getByText("The upload was interrupted").waitFor();
    await page.unroute(`${stage.url}/api/v1/files`);
    await page.getByRole("button", { name: "Retry cut.md" }).click();
    await row("cut.md").getByText("Ready").waitFor();
  });

  it("shows what moves as it moves", async () => {
    const words = Array.from({ length: 40_000 }, (_, index) => `word${index}`).join(" ");
    stage.simulator.script(
      { match: { path: "/v1/embeddings" }, stall: { at: "headers", forMs: 2_500 } },
      { match: { path: "/v1/embeddings" }, stall: { at: "headers", forMs: 2_500 } },
    );
    await upload([file("long.txt", words)]);
    await row("long.txt").getByText("Embedding").waitFor();
    await expect.poll(() => row("long.txt").textContent()).toMatch(/\d+\/[\d,]+/);
    await row("long.txt").getByText("Ready").waitFor();
  });

  it("shows what a file failed of, and what was read from another", async () => {
    const { page } = shown;
    await row("archive.zip").getByRole("button", { name: "archive.zip", exact: true }).click();
    const panel = page.getByRole("region", { name: "archive.zip" });
    await panel.getByRole("button", { name: "Read again" }).click();
    await panel.getByText("Failed:").waitFor();
    await page.keyboard.press("Escape");
    await row("faq.md").getByRole("button", { name: "faq.md" }).click();
    await page.getByRole("button", { name: "Show what was read" }).click();
    await page.getByText("Water comes from the tap.").waitFor();
    expect(await findBarriers(page)).toEqual([]);
  });

  it("tries a question, with scores and the threshold between them", async () => {
    const { page } = shown;
    await page.getByRole("tab", { name: "Search test" }).click();
    await page.getByLabel("Question").fill("What does E-4711 mean for the pump?");
    await page.keyboard.press("Enter");
    const passages = page.getByRole("list", { name: "Passages" }).getByRole("listitem");
    await page.getByText("0.35 threshold").waitFor();
    const texts = await passages.allTextContents();
    const line = texts.findIndex((text) => text.includes("threshold"));
    expect(texts[0]).toMatch(/^0\.[4-9]\d[\s\S]*manual\.md/);
    const score = (text: string) => Number(/^[01]\.\d\d/.exec(text)?.[0]);
    expect(texts.slice(0, line).every((text) => score(text) >= 0.35)).toBe(true);
    expect(texts.slice(line + 1).every((text) => score(text) < 0.35)).toBe(true);
    expect(new URL(page.url()).searchParams.get("query")).toContain("E-4711");
    // What one store shows is not for the next one.
    const opened = page.url();
    await page.getByRole("button", { name: "Back to all stores" }).click();
    await page.waitForURL((url) => url.pathname.endsWith("/knowledge") && url.search === "");
    await page.goto(opened);
    await passages.first().waitFor();
  });

  it("gives an assistant its knowledge, and tries it beside the form", async () => {
    const { page } = shown;
    const store = page.url();
    await shown.open("assistants");
    await page.keyboard.press("n");
    await page.getByLabel("Name", { exact: true }).fill("Pumps");
    await page.getByLabel("Instructions").fill("Answer in one sentence.");
    await page.getByRole("button", { name: "Create assistant" }).click();
    await page.getByRole("heading", { level: 1, name: "Pumps" }).waitFor();
    await page.getByRole("combobox", { name: /^Vector stores/ }).click();
    await page.getByRole("option", { name: /Manuals/ }).click();
    await page.getByLabel("Least score of a passage").fill("0.1");
    await page.getByText("Answers as it was saved last").waitFor();
    // What would be lost is asked about.
    await page.getByRole("link", { name: "Knowledge", exact: true }).click();
    await page.getByRole("button", { name: "Stay here" }).click();
    await page.getByRole("button", { name: "Save assistant" }).click();
    await page.getByText("Assistant Pumps is changed").first().waitFor();
    stage.simulator.script({
      match: { path: "/v1/chat/completions" },
      text: "The pump runs dry [1].",
    });
    const trial = page.getByRole("region", { name: "Trial" });
    await trial.getByRole("textbox", { name: "Message" }).fill("What does E-4711 mean?");
    await page.keyboard.press("Enter");
    await trial.getByRole("button", { name: /\[1\] manual\.md/ }).click();
    const passage = page.getByRole("dialog", { name: /manual\.md/ });
    expect(await passage.textContent()).toContain("E-4711 means that the pump runs dry");
    await page.keyboard.press("Escape");
    expect(await findBarriers(page)).toEqual([]);
    const chats = await callHttp(stage.url, { path: "/api/chats", token: stage.sessions.user });
    expect(chats.body.kept).toBe(0);
    await page.getByRole("tab", { name: "Use" }).click();
    expect(await page.getByLabel("curl", { exact: true }).textContent()).toContain(
      '"model": "Pumps"',
    );
    await page.getByText("None. A bound key answers with this assistant alone.").waitFor();
    await page.getByRole("button", { name: "Delete assistant" }).click();
    await page.getByLabel("Type Pumps to confirm").fill("Pumps");
    await page.keyboard.press("Enter");
    await page.getByText("No assistants yet").waitFor();
    await page.goto(store);
    await shown.settled();
  });

  it("changes its settings, and embeds it again", async () => {
    const { page } = shown;
    await page.getByRole("tab", { name: "Settings" }).click();
    await page.getByLabel("Expires").fill("30");
    await page.getByLabel("Description").fill("of the pump");
    await page.getByRole("button", { name: "Save settings" }).click();
    await page.getByText("Store Manuals is changed").first().waitFor();
    const { body } = await callHttp(stage.url, {
      ...{ path: `/v1/vector_stores/${storeId()}`, token: stage.sessions.user },
    });
    expect(body).toMatchObject({ description: "of the pump", expires_after: { days: 30 } });
    await page.getByRole("button", { name: "Reindex store…" }).click();
    const dialog = page.getByRole("dialog", { name: "Reindex the store?" });
    await dialog.getByLabel("Embedding model").fill("unheard-of");
    await dialog.getByRole("button", { name: "Reindex store" }).click();
    // The server names the field, and what was typed stays.
    await dialog.locator("[data-invalid]").first().waitFor();
    expect(await dialog.getByLabel("Embedding model").inputValue()).toBe("unheard-of");
    await dialog.getByLabel("Embedding model").fill("");
    await dialog.getByRole("button", { name: "Reindex store" }).click();
    await dialog.waitFor({ state: "detached" });
    await page.getByText("Embedding again with sim-embed").waitFor({ state: "detached" });
  });

  it("is used at 375 px, and deleted by its name", async () => {
    const { page } = shown;
    await page.setViewportSize({ width: 375, height: 812 });
    await page.getByRole("tab", { name: "Files" }).click();
    // The address still names a file: its panel comes with the list, and covers the page.
    const panel = page.getByRole("region", { name: "faq.md" });
    await panel.waitFor();
    await page.keyboard.press("Escape");
    await panel.waitFor({ state: "detached" });
    await page.getByRole("list", { name: "Files" }).getByText("faq.md").waitFor();
    expect(await sidewaysScroll(page)).toBe(0);
    await page.getByRole("button", { name: "Delete store" }).click();
    await page.getByLabel("Type Manuals to confirm").fill("Manuals");
    const dialog = page.getByRole("dialog", { name: "Delete store Manuals?" });
    await dialog.getByRole("button", { name: "Delete store" }).click();
    await page.getByText("No stores yet").waitFor();
    expect(
      shown.problems().filter((text) => !/status of (400|413|503)|ERR_CONNECTION_RESET/.test(text)),
    ).toEqual([]);
  });
});
