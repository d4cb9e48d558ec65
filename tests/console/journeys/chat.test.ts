import type { Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { callHttp } from "../../support/clients/http-session.ts";
import { TEST_KEY } from "../../support/servers/start-gateway.ts";
import { findBarriers, sidewaysScroll } from "../support/audit-page.ts";
import { hasChromium } from "../support/chromium.ts";
import { type ConsolePage, openConsolePage } from "../support/console-page.ts";
import { type ConsoleStage, openConsoleStage } from "../support/console-stage.ts";
import { fillKnowledge } from "../support/samples/fill-knowledge.ts";

const ENGINE_PATH = "/v1/chat/completions";
/** One pixel. */
const PICTURE = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

describe.skipIf(!hasChromium)("chat in the console", () => {
  let stage: ConsoleStage;
  let shown: ConsolePage;
  let page: Page;

  beforeAll(async () => {
    stage = await openConsoleStage();
    await fillKnowledge(stage);
    shown = await openConsolePage(stage, { role: "user" });
    ({ page } = shown);
  });
  afterAll(async () => {
    await shown?.close();
    await stage?.close();
  });
  beforeEach(async () => {
    stage.simulator.reset();
    await shown.open("chat");
  });

  const api = (method: string, path: string, body?: unknown) =>
    callHttp(stage.url, {
      method,
      path,
      token: stage.sessions.user,
      ...(body !== undefined && { body }),
    });
  const composer = (on = page) => on.getByRole("textbox", { name: "Message" });
  const ask = async (text: string, on = page) => {
    await composer(on).fill(text);
    await composer(on).press("Enter");
  };
  const answers = (on = page) => on.getByRole("article", { name: /, answer$/ });
  /** Waits until nothing is being written, and what was is kept. */
  const ended = async (on = page) => {
    await on.getByRole("button", { name: "Stop", exact: true }).waitFor({ state: "detached" });
    await on.waitForURL(/\/chat\/chat_/);
  };
  const says = (text: string, more = {}) =>
    stage.simulator.script({ match: { path: ENGINE_PATH }, text, ...more });
  /** Waits until the chat in the address is stored with these words. */
  const stored = (words: string) =>
    expect
      .poll(
        async () => {
          const { body } = await api("GET", `/api/chats/${page.url().split("/").at(-1)}`);
          return JSON.stringify(body.document);
        },
        { timeout: 30_000 },
      )
      .toContain(words);
  const asked = () => stage.simulator.ledger().filter(({ path }) => path === ENGINE_PATH);
  const lastAsked = () => JSON.parse(asked().at(-1)?.body ?? "{}");

  it("sends by Enter, streams the answer, and keeps the chat under its first words", async () => {
    says("Water **runs** down.\n\n- [x] a task\n\n```ts\nconst one = 1;\n```\n");
    await ask("Where does water run?");
    await ended();
    expect(await answers().locator("strong").textContent()).toBe("runs");
    expect(await answers().locator("pre code").textContent()).toBe("const one = 1;");
    const task = answers().locator("li");
    expect((await task.textContent())?.trim()).toBe("a task");
    expect(await task.getByRole("checkbox").isChecked()).toBe(true);
    expect(await answers().textContent()).toMatch(/\d+ tokens/);
    await page
      .getByRole("navigation", { name: "Chats" })
      .getByText("Where does water run?")
      .waitFor();
    expect(await findBarriers(page)).toEqual([]);
  });

  it("stops by Esc, keeps what there is, and frees the engine", async () => {
    says("one two three four five six seven eight", { stall: { at: 5 } });
    await ask("Count");
    await answers().getByText("one two").waitFor();
    const pressedAt = Date.now();
    await composer().press("Escape");
    const entry = await stage.simulator.awaitEntry(
      ({ path, end }) => path === ENGINE_PATH && end !== undefined,
    );
    expect(entry.end).toBe("client-left");
    const freedMs = (entry.endedAt ?? Number.POSITIVE_INFINITY) - pressedAt;
    expect(freedMs).toBeLessThan(10_000);
    process.stderr.write(`Esc freed the engine after ${freedMs} ms.\n`);
    await page.getByText("Stopped before its end").waitFor();
    await ended();
    // Its address says only that the question is stored.
    await stored("one two");
    await page.reload();
    await shown.settled();
    expect(await answers().textContent()).toContain("one two");
  });

  it("frees the engine when its tab is closed", async () => {
    const other = await openConsolePage(stage, { role: "user" });
    await other.open("chat");
    says("one two three four five six", { stall: { at: 4 } });
    await ask("Count again", other.page);
    await answers(other.page).getByText("one two").waitFor();
    await other.close();
    const entry = await stage.simulator.awaitEntry(
      ({ path, end }) => path === ENGINE_PATH && end !== undefined,
    );
    expect(entry.end).toBe("client-left");
  });

  it("keeps retries and edits as branches, over a reload", async () => {
    says("First answer.");
    await ask("A question");
    await ended();
    says("Second answer.");
    await page.getByRole("button", { name: "Ask for another answer" }).click();
    await answers().getByText("Second answer.").waitFor();
    says("Third answer.");
    // The arrow up edits the last question in its place.
    await composer().press("ArrowUp");
    await page.getByRole("textbox", { name: "The question" }).fill("Another question");
    await page.keyboard.press("Control+Enter");
    await answers().getByText("Third answer.").waitFor();
    await ended();
    await page.getByRole("status").filter({ hasText: "The answer has ended." }).waitFor();
    await stored("Third answer.");
    await page.reload();
    await shown.settled();
    expect(await page.getByText("2/2").count()).toBe(1);
    await page.getByRole("button", { name: "Show the version before" }).click();
    await answers().getByText("Second answer.").waitFor();
    await page.getByRole("button", { name: "Show the version before" }).last().click();
    await answers().getByText("First answer.").waitFor();
    expect(lastAsked().messages.map(({ content }: { content: string }) => content)).toEqual([
      "Another question",
    ]);
  });

  it("keeps the text of an edited question while another answer is written", async () => {
    says("First answer.");
    await ask("A question to edit");
    await ended();
    await page.getByRole("button", { name: "Edit the question" }).click();
    const editor = page.getByRole("textbox", { name: "The question" });
    await editor.fill("The edited question");
    says("one two three four five six", { stall: { at: 4 } });
    await ask("Asked meanwhile");
    await answers().getByText("one two").waitFor();
    await editor.press("Control+Enter");
    expect(await editor.inputValue()).toBe("The edited question");
    const again = page.getByRole("button", { name: "Ask again" });
    expect(await again.getAttribute("aria-disabled")).toBe("true");
    await page.getByRole("button", { name: "Stop", exact: true }).click();
    await ended();
    says("Answer to the edited question.");
    await editor.press("Control+Enter");
    await answers().getByText("Answer to the edited question.").waitFor();
    await ended();
  });

  it("tells that another tab has changed the chat, and brings both together", async () => {
    says("Answer.");
    await ask("One for two tabs");
    await ended();
    const other = await openConsolePage(stage, { role: "user" });
    await other.open(new URL(page.url()).pathname.replace("/console/", ""));
    says("Answer to the other tab.");
    await ask("From the other tab", other.page);
    await answers(other.page).getByText("Answer to the other tab.").waitFor();
    await ended(other.page);
    await other.page.getByRole("status").filter({ hasText: "ended" }).waitFor();
    says("Answer to this tab.");
    await ask("From this tab");
    await page.getByText("Another tab has changed this chat").waitFor();
    await answers().getByText("Answer to this tab.").waitFor();
    // What only this tab has is not left without a question.
    await page.getByRole("link", { name: "Models", exact: true }).click();
    const question = page.getByRole("dialog", { name: "Leave without saving?" });
    await question.getByRole("button", { name: "Stay here" }).click();
    await question.waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Keep both, as branches" }).click();
    await page.getByText("Another tab has changed this chat").waitFor({ state: "detached" });
    await page.getByText("2/2").waitFor();
    await expect
      .poll(
        async () => {
          const { body } = await api("GET", `/api/chats/${page.url().split("/").at(-1)}`);
          return JSON.stringify(body.document);
        },
        { timeout: 30_000 },
      )
      .toMatch(/Answer to the other tab\.[\s\S]*Answer to this tab\./);
    await other.close();
  });

  it("sends the newest 50 of many messages", async () => {
    const messages = Object.fromEntries(
      Array.from({ length: 60 }, (_, index) => [
        `m${index + 1}`,
        {
          ...{ parent: index === 0 ? null : `m${index}`, at: index, state: "done" },
          role: index % 2 === 0 ? "user" : "assistant",
          parts: [{ type: "text", text: `message ${index + 1}` }],
        },
      ]),
    );
    const document = {
      ...{ version: 1, model: "sim-chat", system: "Be short.", parameters: {} },
      ...{ leaf: "m60", messages },
    };
    const kept = await api("POST", "/api/chats", { document, replaces: [] });
    expect(kept.status).toBe(201);
    await shown.open(`chat/${kept.body.id}`);
    await page.getByText("Older messages are no longer sent").waitFor();
    says("Message 62.");
    await ask("message 61");
    await answers().getByText("Message 62.").waitFor();
    const [system, ...sent] = lastAsked().messages;
    expect(system).toEqual({ role: "system", content: "Be short." });
    expect(sent).toHaveLength(50);
    expect(sent[0]).toEqual({ role: "assistant", content: "message 12" });
    expect(sent.at(-1)).toEqual({ role: "user", content: "message 61" });
  });

  it("keeps the text of an answer that is cut, says why, and asks again", async () => {
    says("This much came and no more", { cut: { at: 4, how: "reset" } });
    await ask("Will it be cut?");
    const card = page.getByRole("alert").filter({ hasText: "The answer was cut" });
    await card.waitFor();
    expect(await answers().textContent()).toContain("This much");
    expect(await card.textContent()).toMatch(/upstream|connection|backend/i);
    says("Whole now.");
    await card.getByRole("button", { name: "Retry" }).click();
    await answers().getByText("Whole now.").waitFor();
    await ended();
  });

  it("keeps an answer within which the session ended, once somebody logs in again", async () => {
    says("This came before the end of the session", { stall: { at: 6 } });
    await ask("How long is a session?");
    await answers().getByText("This came before").waitFor();
    await page.waitForURL(/\/chat\/chat_/);
    await composer().fill("Typed meanwhile");
    const left = await page.context().request.post(`${stage.url}/api/auth/logout`);
    expect(left.ok()).toBe(true);
    await composer().press("Escape");
    const login = page.getByRole("dialog", { name: "Your session has ended" });
    await login.getByLabel("Password", { exact: true }).fill("ada's own password");
    await page.keyboard.press("Enter");
    await login.waitFor({ state: "detached" });
    expect(await composer().inputValue()).toBe("Typed meanwhile");
    await stored("This came before");
  });

  it("keeps what is typed when an upgrade has taken away a part of this tab", async () => {
    await composer().fill("Not sent yet");
    await page.route(/\/palette-[^/]*\.js$/, (route) => route.fulfill({ status: 404 }));
    await page.keyboard.press("Control+K");
    await page.getByRole("dialog", { name: "This cannot be loaded" }).waitFor();
    await page.keyboard.press("Escape");
    expect(await composer().inputValue()).toBe("Not sent yet");
    await page.unrouteAll();
  });

  it("stores nothing of a temporary chat until it is to be kept", async () => {
    const before = (await api("GET", "/api/chats")).body.kept;
    await page.keyboard.press("Control+Shift+J");
    says("Nobody keeps this.");
    await ask("A secret");
    await answers().getByText("Nobody keeps this.").waitFor();
    await page.getByText("This chat is temporary").waitFor();
    expect((await api("GET", "/api/chats")).body.kept).toBe(before);
    expect(page.url()).toMatch(/\/chat$/);
    await page.getByRole("button", { name: "Keep this chat" }).click();
    await page.waitForURL(/\/chat\/chat_/);
    expect((await api("GET", "/api/chats")).body.kept).toBe(before + 1);
  });

  it("attaches a picture and a document, shows the call, and saves the chat", async () => {
    await page.locator('input[type="file"]').setInputFiles([
      { name: "dot.png", mimeType: "image/png", buffer: PICTURE },
      {
        name: "notes.md",
        mimeType: "text/markdown",
        buffer: Buffer.from("# Notes\n\nE-4711 runs dry."),
      },
    ]);
    await page.getByRole("button", { name: "Take away notes.md" }).waitFor();
    says("A dot and a note.");
    await ask("What is this?");
    await ended();
    const [{ content }] = lastAsked().messages;
    expect(content.map(({ type }: { type: string }) => type)).toEqual([
      "image_url",
      "text",
      "text",
    ]);
    expect(content[0].image_url.url).toMatch(/^data:image\/(webp|png);base64,/);
    expect(content[1].text).toContain("E-4711 runs dry.");
    expect(await page.getByAltText("dot.png").count()).toBe(1);
    await page.getByRole("button", { name: "Show the call" }).click();
    expect(await page.getByRole("dialog").textContent()).toContain("/v1/chat/completions");
    await page.keyboard.press("Escape");
    const saved = page.waitForEvent("download");
    await page.getByRole("button", { name: "Export the chat" }).click();
    await page.getByRole("menuitem", { name: "Save as Markdown" }).click();
    expect((await saved).suggestedFilename()).toBe("What is this.md");
  });

  it("answers from an assistant's document, with the passage", async () => {
    await page.getByRole("combobox", { name: /^Model/ }).click();
    await page.getByRole("option", { name: /Handbook/ }).click();
    says("The pump runs dry [1].");
    await ask("What does E-4711 mean?");
    await ended();
    await page.getByRole("button", { name: /\[1\] manual\.md/ }).click();
    expect(await page.getByRole("dialog").textContent()).toContain(
      "E-4711 means that the pump runs dry",
    );
    await page.keyboard.press("Escape");
    expect(await findBarriers(page)).toEqual([]);
  });

  it("keeps 50 chats, announces the one that gives way, and spares the pinned", async () => {
    await api("DELETE", "/api/chats");
    const document = (text: string) => ({
      ...{ version: 1, model: "sim-chat", system: "", parameters: {}, leaf: "m1" },
      messages: {
        m1: { parent: null, role: "user", parts: [{ type: "text", text }], at: 1, state: "done" },
      },
    });
    for (let number = 1; number <= 50; number += 1) {
      await api("POST", "/api/chats", { document: document(`Kept ${number}`), replaces: [] });
    }
    await shown.open("chat");
    const history = page.getByRole("navigation", { name: "Chats" });
    await history.getByText("50 of 50 kept. The next one replaces “Kept 1”").waitFor();
    await history.getByRole("button", { name: "Actions of Kept 1", exact: true }).click();
    await page.getByRole("menuitem", { name: "Pin the chat" }).click();
    await history.getByText("The next one replaces “Kept 2”").waitFor();
    says("Fifty-one.");
    await ask("The next one");
    await ended();
    await history.getByRole("link", { name: "Kept 2", exact: true }).waitFor({ state: "detached" });
    expect(await history.getByRole("link", { name: "Kept 1", exact: true }).count()).toBe(1);
  });

  it("says how many pinned chats must go before another is kept", async () => {
    await api("DELETE", "/api/chats");
    const m1 = { parent: null, role: "user", parts: [{ type: "text", text: "Pinned" }], at: 1 };
    const messages = { m1: { ...m1, state: "done" } };
    const fields = { version: 1, model: "sim-chat", system: "", parameters: {} };
    for (let number = 1; number <= 50; number += 1) {
      const { body } = await api("POST", "/api/chats", {
        document: { ...fields, leaf: "m1", messages },
      });
      await api("PATCH", `/api/chats/${body.id}`, { pinned: true });
    }
    await shown.open("chat");
    const history = page.getByRole("navigation", { name: "Chats" });
    await history.getByText("50 of 50 kept, 50 of them pinned").waitFor();
    await history.getByText("until 1 of these is unpinned or deleted").waitFor();
    says("Nobody keeps this.");
    await ask("Too many");
    await page.getByText("This chat is temporary").waitFor();
    await page.getByRole("button", { name: "Keep this chat" }).click();
    const refused = page.getByRole("alert").filter({ hasText: "could not be saved" });
    await refused.getByText("unpin or delete 1 of the pinned ones").waitFor();
    await history.getByRole("button", { name: "Actions of Pinned" }).first().click();
    await page.getByRole("menuitem", { name: "Unpin the chat" }).click();
    await history.getByText("The next one replaces “Pinned”").waitFor();
    await refused.getByRole("button", { name: "Retry" }).click();
    await page.waitForURL(/\/chat\/chat_/);
    await refused.waitFor({ state: "detached" });
  });

  it("is used at 375 px, by keyboard alone", async () => {
    await page.setViewportSize({ width: 375, height: 812 });
    await shown.open("chat");
    says("| a | b |\n|---|---|\n| one | two |\n\nDone.");
    await page.keyboard.type("A table");
    await page.keyboard.press("Enter");
    await answers().getByText("Done.").waitFor();
    await ended();
    expect(await sidewaysScroll(page)).toBe(0);
    const box = await composer().boundingBox();
    expect((box?.y ?? 0) + (box?.height ?? 0)).toBeLessThan(812);
    // The head of the chat and the foot of the answer are one line each: no button stands below another one.
    const lines = [
      [page.getByRole("button", { name: "Show earlier chats" }), "More actions"],
      [page.getByRole("button", { name: "Copy the request's id" }).last(), "Copy the answer"],
    ] as const;
    for (const [first, last] of lines) {
      const end = await page.getByRole("button", { name: last }).last().boundingBox();
      expect(end?.y).toBe((await first.boundingBox())?.y);
    }
    await page.getByRole("button", { name: "More actions" }).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("menuitem", { name: "Show the call" }).press("Enter");
    expect(await page.getByRole("dialog").textContent()).toContain("/v1/chat/completions");
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Show earlier chats" }).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").getByRole("link", { name: "A table" }).waitFor();
    expect(await findBarriers(page)).toEqual([]);
    await page.keyboard.press("Escape");
    await page.setViewportSize({ width: 1_440, height: 900 });
  });

  it("leaves no usage row, and nothing on the browser's console", async () => {
    const marker = await callHttp(stage.url, {
      ...{ method: "POST", path: "/v1/chat/completions", token: TEST_KEY },
      body: { model: "sim-chat", messages: [{ role: "user", content: "counted" }] },
    });
    expect(marker.status).toBe(200);
    const rows = async () =>
      (await callHttp(stage.url, { path: "/api/requests", token: stage.sessions.administrator }))
        .body.data;
    // The rows are in order: once the call by key is there, those before it would be, too.
    await expect.poll(async () => (await rows()).length, { timeout: 30_000 }).toBe(1);
    // The browser tells of a conflict, of a session that ended and of a file that is gone in its own words.
    const known = /status of (409|401|404)/;
    expect(shown.problems().filter((text) => !known.test(text))).toEqual([]);
  });
});
