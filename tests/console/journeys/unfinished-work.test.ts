import type { Locator, Page, Route } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { callHttp } from "../../support/clients/http-session.ts";
import { hasChromium } from "../support/chromium.ts";
import { type ConsolePage, type Look, openConsolePage } from "../support/console-page.ts";
import { type ConsoleStage, openConsoleStage } from "../support/console-stage.ts";

const ENGINE_PATH = "/v1/chat/completions";
/** One pixel. */
const PICTURE =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const PATIENT = { timeout: 60_000 };

/** What becomes of work when something else happens before it has ended. */
describe.skipIf(!hasChromium)("unfinished work in the console", () => {
  let stage: ConsoleStage;
  let shown: ConsolePage;
  let page: Page;

  beforeAll(async () => {
    stage = await openConsoleStage();
  });
  afterAll(() => stage?.close());
  afterEach(() => shown?.close());

  const open = async (path: string, look: Look = {}) => {
    stage.simulator.reset();
    shown = await openConsolePage(stage, { role: "administrator", ...look });
    ({ page } = shown);
    await shown.open(path);
  };
  const api = async (method: string, path: string, body?: unknown) => {
    const token = stage.sessions.administrator;
    const given = body !== undefined && { body };
    return (await callHttp(stage.url, { method, path, token, ...given })).body;
  };
  /** Holds the calls of a path until they are released; later ones are answered at once. */
  const hold = async (method: string, path: RegExp) => {
    const held: Route[] = [];
    let isReleased = false;
    await page.route(path, async (route) => {
      const isMeant = route.request().method() === method && !isReleased;
      if (isMeant) held.push(route);
      else await route.fallback();
    });
    return {
      begun: () => expect.poll(() => held.length, PATIENT).toBe(1),
      async release() {
        isReleased = true;
        const answered = page.waitForResponse((response) => path.test(response.url()));
        await Promise.all(held.map((route) => route.continue()));
        await (await answered).finished();
        await shown.settled();
      },
    };
  };
  const composer = () => page.getByRole("textbox", { name: "Message" });
  const ask = async (text: string) => {
    await composer().fill(text);
    await composer().press("Enter");
  };
  const answers = () => page.getByRole("article", { name: /, answer$/ });
  const chats = () => page.getByRole("navigation", { name: "Chats" });
  const says = (text: string, more = {}) =>
    stage.simulator.script({ match: { path: ENGINE_PATH }, text, ...more });
  const documentOf = (text: string) => ({
    ...{ version: 1, model: "sim-chat", system: "", parameters: {}, leaf: "m1" },
    messages: {
      m1: { parent: null, role: "user", parts: [{ type: "text", text }], at: 1, state: "done" },
    },
  });
  const keep = (text: string) => api("POST", "/api/chats", { document: documentOf(text) });
  const openId = () => page.url().split("/").at(-1) ?? "";

  it("shows a chat that was begun here when one comes back to it", async () => {
    await keep("Kept before");
    await open("chat");
    says("An answer to come back to.");
    await ask("Begun here");
    await page.waitForURL(/\/chat\/chat_/);
    await answers().getByText("An answer to come back to.").waitFor();
    await chats().getByRole("link", { name: "Kept before" }).click();
    await page.getByRole("heading", { name: "Kept before" }).waitFor({ state: "attached" });
    await chats().getByRole("link", { name: "Begun here" }).click();
    await answers().getByText("An answer to come back to.").waitFor();
  });

  it("keeps a chat once when the answers to its saves are lost", async () => {
    await open("chat");
    says("Kept once.");
    let lost = 0;
    await page.route(/\/api\/chats(\/chat_\w+)?$/, async (route) => {
      if (route.request().method() === "GET" || lost >= 2) return route.fallback();
      lost += 1;
      await route.fetch();
      await route.abort();
    });
    await ask("Lost on the way");
    await page.waitForURL(/\/chat\/chat_/);
    const read = async () => JSON.stringify(await api("GET", `/api/chats/${openId()}`));
    await expect.poll(read, PATIENT).toContain("Kept once.");
    await chats().getByRole("link", { name: "Lost on the way" }).waitFor();
    const { total } = await api("GET", "/api/chats?search=lost%20on%20the%20way");
    expect([lost, total]).toEqual([2, 1]);
    await page.getByText("Another tab has changed this chat").waitFor({ state: "detached" });
    await page.getByText("The chat could not be saved").waitFor({ state: "detached" });
  });

  it("asks before a tab is closed that reads an answer, and keeps what there is of it", async () => {
    await open("chat");
    says("one two three four five six", { stall: { at: 4 } });
    await ask("Closed meanwhile");
    await answers().getByText("one two").waitFor();
    await page.waitForURL(/\/chat\/chat_/);
    const id = openId();
    const asked = page.waitForEvent("dialog");
    const closed = page.waitForEvent("close");
    await page.close({ runBeforeUnload: true });
    const question = await asked;
    expect(question.type()).toBe("beforeunload");
    await question.accept();
    await closed;
    const read = async () => {
      const { document } = await api("GET", `/api/chats/${id}`);
      const { state, parts } = document.messages.m2 ?? {};
      return [state, parts?.[0].text.slice(0, 7)];
    };
    await expect.poll(read, PATIENT).toEqual(["stopped", "one two"]);
  });

  it("does not take a person back to a chat that is kept after it was left", async () => {
    await open("chat");
    says("Nobody waits for it.");
    const post = await hold("POST", /\/api\/chats$/);
    await ask("Left for another page");
    await post.begun();
    await page.getByRole("link", { name: "API keys" }).click();
    await page.getByRole("heading", { level: 1, name: "API keys" }).waitFor();
    await post.release();
    expect(page.url()).toMatch(/\/keys$/);
  });

  it("gives a new chat no address of the one before", async () => {
    await open("chat");
    says("Nobody waits for it.");
    const post = await hold("POST", /\/api\/chats$/);
    await ask("Left for a new chat");
    await post.begun();
    await chats().getByRole("button", { name: "Begin a new chat" }).click();
    await page.getByText("Ask something.").waitFor();
    await post.release();
    await chats().getByRole("link", { name: "Left for a new chat" }).waitFor();
    expect(page.url()).toMatch(/\/chat$/);
  });

  /** Refuses to keep a new chat. */
  const refuseChats = (route: Route) =>
    route.request().method() === "POST"
      ? route.fulfill({ status: 400, json: { error: { message: "It was refused.", code: "no" } } })
      : route.fallback();

  it("asks before a chat that was never saved gives way to a new one", async () => {
    await open("chat");
    await page.route(/\/api\/chats$/, refuseChats);
    says("An answer that nobody keeps.");
    await ask("Never saved");
    await page.getByText("The chat could not be saved").waitFor();
    const leaving = page.getByRole("dialog", { name: "Leave without saving?" });
    await chats().getByRole("button", { name: "Begin a new chat" }).click();
    await leaving.getByRole("button", { name: "Stay here" }).click();
    await leaving.waitFor({ state: "detached" });
    await answers().getByText("An answer that nobody keeps.").waitFor();
    await page.keyboard.press("Control+Shift+O");
    await leaving.getByRole("button", { name: "Leave", exact: true }).click();
    await page.getByText("Ask something.").waitFor();
    await composer().fill("Another");
    await chats().getByRole("button", { name: "Begin a new chat" }).click();
    await expect.poll(() => composer().inputValue(), PATIENT).toBe("");
  });

  it("tells of a chat that could not be saved after it was left", async () => {
    await open("chat");
    says("Nobody waits for it.");
    let refuse: () => void = () => undefined;
    const refused = new Promise<void>((resolve) => {
      refuse = resolve;
    });
    await page.route(/\/api\/chats$/, async (route) => {
      await refused;
      await refuseChats(route);
    });
    const begun = page.waitForRequest((request) => request.method() === "POST");
    await ask("Left too early");
    await begun;
    await page.getByRole("link", { name: "API keys" }).click();
    await page.getByRole("heading", { level: 1, name: "API keys" }).waitFor();
    refuse();
    const told = page.getByText(/^The chat that you have left could not be saved: /);
    // The question and the stopped answer are saved one after the other: it is told once.
    await told.waitFor();
  });

  it("keeps the settings of a chat that is kept, without another question", async () => {
    const { id } = await keep("Set anew");
    const read = async () => (await api("GET", `/api/chats/${id}`)).document;
    await open(`chat/${id}`);
    await page.getByRole("button", { name: "Change the parameters" }).click();
    await page.getByLabel("System prompt").fill("Answer in rhyme.");
    await page.keyboard.press("Escape");
    await expect.poll(async () => (await read()).system, PATIENT).toBe("Answer in rhyme.");
    expect(Object.keys((await read()).messages)).toEqual(["m1"]);
    const saved = page.waitForRequest((request) => request.method() === "PUT");
    await page.getByRole("combobox", { name: "Effort" }).click();
    await page.getByRole("option", { name: "Effort: max" }).click();
    expect((await saved).postDataJSON().document.parameters).toEqual({ effort: "max" });
  });

  it("resolves no conflict while an answer is being written", async () => {
    const { id, revision } = await keep("In two tabs");
    await open(`chat/${id}`);
    const other = { document: documentOf("In the other tab"), if_revision: revision };
    await api("PUT", `/api/chats/${id}`, other);
    says("one two three four five six", { stall: { at: 4 } });
    await ask("From this tab");
    await answers().getByText("one two").waitFor();
    const both = page.getByRole("button", { name: "Keep both, as branches" });
    const drop = page.getByRole("button", { name: "Drop what this tab has" });
    await both.waitFor();
    for (const button of [both, drop]) {
      expect(await button.getAttribute("aria-disabled")).toBe("true");
    }
    await page.getByRole("button", { name: "Stop", exact: true }).click();
    await expect.poll(() => drop.getAttribute("aria-disabled"), PATIENT).toBe(null);
    await drop.click();
    await drop.waitFor({ state: "detached" });
    expect(await answers().count()).toBe(0);
    says("Goes on.");
    await ask("Once more");
    await answers().getByText("Goes on.").waitFor();
  });

  it("takes numbers with a point as parameters of a chat", async () => {
    await open("chat");
    await page.getByRole("button", { name: "Change the parameters" }).click();
    await page.getByRole("textbox", { name: "Temperature" }).pressSequentially("0.7");
    await page.getByRole("textbox", { name: "Top p" }).pressSequentially("0.25");
    const most = page.getByRole("textbox", { name: "Tokens of an answer" });
    await most.pressSequentially("12");
    await most.fill("");
    await page.keyboard.press("Escape");
    says("Cool.");
    const asking = page.waitForRequest(/\/chat\/completions$/);
    await ask("How warm?");
    const asked = (await asking).postDataJSON();
    expect(asked).toMatchObject({ temperature: 0.7, top_p: 0.25 });
    expect(asked).not.toHaveProperty("max_tokens");
    await answers().getByText("Cool.").waitFor();
  });

  it("sends no message before all of its files are read", async () => {
    await open("chat");
    const choose = (name: string, mimeType: string, buffer: Buffer) =>
      page.locator('input[type="file"]').setInputFiles({ name, mimeType, buffer });
    const taken = (name: string) => page.getByRole("button", { name: `Take away ${name}` });
    const reading = await hold("POST", /\/api\/documents\/text$/);
    await choose("slow.txt", "text/plain", Buffer.from("Read at last."));
    await reading.begun();
    await choose("quick.png", "image/png", Buffer.from(PICTURE, "base64"));
    await taken("quick.png").waitFor();
    await ask("With both");
    const send = page.getByRole("button", { name: "Send", exact: true });
    expect(await send.getAttribute("aria-disabled")).toBe("true");
    expect(await composer().inputValue()).toBe("With both");
    await reading.release();
    await taken("slow.txt").waitFor();
    says("Both are here.");
    const asking = page.waitForRequest(/\/chat\/completions$/);
    await composer().press("Enter");
    expect(JSON.stringify((await asking).postDataJSON())).toMatch(/image.*Read at last\./);
    await answers().getByText("Both are here.").waitFor();
  });

  it("closes the earlier chats on a telephone once one is chosen", async () => {
    const { id } = await keep("On a telephone");
    await keep("Beside it");
    await open(`chat/${id}`, { width: 375 });
    const dialog = page.getByRole("dialog", { name: "Earlier chats" });
    for (const name of ["On a telephone", "Beside it"]) {
      await page.getByRole("button", { name: "Show earlier chats" }).click();
      await dialog.getByRole("link", { name }).click();
      await dialog.waitFor({ state: "detached" });
    }
    await page.getByRole("heading", { name: "Beside it" }).waitFor({ state: "attached" });
  });

  it("does not send again by itself what was refused for good", async () => {
    const { id } = await keep("Too large");
    await open(`chat/${id}`);
    let tries = 0;
    const error = { message: "The chat is too large.", code: "payload_too_large", param: null };
    await page.route(/\/api\/chats\/chat_/, async (route) => {
      if (route.request().method() !== "PUT") return route.fallback();
      tries += 1;
      await route.fulfill({ status: 413, json: { error } });
    });
    says("Answered.");
    await ask("A long text");
    await answers().getByText("Answered.").waitFor();
    // Once with the question and once with its answer.
    await expect.poll(() => tries, PATIENT).toBe(2);
    const failed = page.getByText("The chat could not be saved");
    await failed.waitFor();
    await page.getByRole("searchbox", { name: "Search chats by title" }).fill("large");
    await chats().getByRole("link", { name: "Too large" }).waitFor();
    await shown.settled();
    expect(tries).toBe(2);
    expect(await failed.count()).toBe(1);
  });

  it("keeps a chat that was deleted elsewhere as a new one when asked to", async () => {
    const { id } = await keep("Deleted elsewhere");
    await open(`chat/${id}`);
    await api("DELETE", `/api/chats/${id}`);
    says("Still here.");
    await ask("Are you there?");
    await answers().getByText("Still here.").waitFor();
    const card = page.getByRole("alert").filter({ hasText: "as a new chat" });
    await card.getByRole("button", { name: "Retry" }).click();
    await page.waitForURL((url) => /\/chat\/chat_/.test(url.pathname) && openId() !== id);
    await card.waitFor({ state: "detached" });
    await answers().getByText("Still here.").waitFor();
    const { document } = await api("GET", `/api/chats/${openId()}`);
    expect(JSON.stringify(document)).toContain("Still here.");
  });

  it("shows nothing of one person once another one has logged in in a second tab", async () => {
    const { id } = await keep("Read by nobody else");
    await open(`chat/${id}`);
    await stage.signIn(page.context(), "user");
    const loaded = page.waitForEvent("load");
    // As when one comes back to the tab.
    await page.evaluate(() =>
      document.dispatchEvent(new Event("visibilitychange", { bubbles: true })),
    );
    await loaded;
    await page.getByRole("button", { name: "ada" }).waitFor();
    await page.getByText("Ask something.").waitFor();
    expect(await page.getByText("Read by nobody else").count()).toBe(0);
  });

  it("says when a chat is not pinned and when nobody is logged out", async () => {
    await keep("To be pinned");
    await open("chat");
    const error = { message: "The database does not answer.", code: "overloaded", param: null };
    await page.route(/\/api\/(chats\/chat_|auth\/logout$)/, (route) =>
      route.fulfill({ status: 503, json: { error } }),
    );
    await chats().getByRole("button", { name: "Actions of To be pinned" }).click();
    await page.getByRole("menuitem", { name: "Pin the chat" }).click();
    await page.getByText("The chat is not pinned: The database does not answer.").waitFor();
    await page.getByRole("button", { name: "admin" }).click();
    await page.getByRole("menuitem", { name: "Log out" }).click();
    await page.getByText("You are not logged out: The database does not answer.").waitFor();
  });

  /** Gives the page a microphone that hears nothing and waits to be permitted. */
  const openWithMicrophone = async () => {
    stage.simulator.reset();
    shown = await openConsolePage(stage, { role: "administrator" });
    ({ page } = shown);
    await page.addInitScript(() => {
      const streams: MediaStream[] = [];
      const waiting: (() => void)[] = [];
      const getUserMedia = () =>
        new Promise<MediaStream>((resolve) => {
          waiting.push(() => {
            const { stream } = new AudioContext().createMediaStreamDestination();
            streams.push(stream);
            resolve(stream);
          });
        });
      Object.defineProperty(navigator.mediaDevices, "getUserMedia", { value: getUserMedia });
      const isLive = (stream: MediaStream) =>
        stream.getTracks().some(({ readyState }) => readyState === "live");
      Object.assign(window, {
        permit: () => waiting.splice(0).map((give) => give()).length,
        liveMicrophones: () => streams.filter(isLive).length,
      });
    });
    await shown.open("chat");
  };
  const permit = () => page.evaluate("permit()");
  const untilLive = (count: number) =>
    page.waitForFunction(
      (wanted) => (Reflect.get(window, "liveMicrophones") as () => number)() === wanted,
      count,
    );
  const recordButton = () => page.getByRole("button", { name: "Record a message" });
  const endButton = () => page.getByRole("button", { name: "End the recording" });

  it("ends a recording with its page, also one that is permitted too late", async () => {
    await openWithMicrophone();
    await recordButton().click();
    await permit();
    await endButton().waitFor();
    await untilLive(1);
    await page.getByRole("link", { name: "API keys" }).click();
    await untilLive(0);
    await page.goBack();
    await recordButton().click();
    await page.getByRole("link", { name: "API keys" }).click();
    await page.getByRole("heading", { level: 1, name: "API keys" }).waitFor();
    expect(await permit()).toBe(1);
    await untilLive(0);
  });

  it("begins one recording by a double click, and adds what was said to what is typed", async () => {
    await openWithMicrophone();
    await recordButton().dblclick();
    expect(await permit()).toBe(1);
    await endButton().waitFor();
    await composer().fill("Before.");
    let answer: () => void = () => undefined;
    const held = new Promise<void>((resolve) => {
      answer = resolve;
    });
    await page.route(/\/audio\/transcriptions$/, async (route) => {
      await held;
      await route.fulfill({ json: { text: "Said." } });
    });
    await endButton().click();
    await composer().fill("Before. Typed meanwhile.");
    answer();
    await recordButton().waitFor();
    await untilLive(0);
    expect(await composer().inputValue()).toBe("Before. Typed meanwhile. Said.");
  });

  it("ends an import with its dialog", async () => {
    const columns = [{ name: "number", type: "integer" }];
    const { id } = await api("POST", "/api/datasets", { name: "never", columns });
    await open(`datasets/${id}`);
    await page.getByRole("button", { name: "Import rows" }).click();
    const dialog = page.getByRole("dialog");
    await page.setInputFiles("input[type=file]", {
      ...{ name: "numbers.csv", mimeType: "text/csv" },
      buffer: Buffer.from("number\n1\n"),
    });
    await dialog.getByText("numbers.csv").waitFor();
    const rows = new RegExp(`/api/datasets/${id}/rows`);
    const post = await hold("POST", rows);
    await dialog.getByRole("button", { name: "Import rows" }).click();
    await post.begun();
    const ended = page.waitForEvent("requestfailed", (request) => rows.test(request.url()));
    await page.keyboard.press("Escape");
    await ended;
    await dialog.waitFor({ state: "detached" });
  });

  it("mends the rows of one file after another", async () => {
    const columns = [{ name: "number", type: "integer" }];
    const { id } = await api("POST", "/api/datasets", { name: "numbers", columns });
    await open(`datasets/${id}`);
    await page.getByRole("button", { name: "Import rows" }).click();
    const dialog = page.getByRole("dialog");
    const send = async (file: string, text: string) => {
      const mimeType = "text/csv";
      await page.setInputFiles("input[type=file]", {
        ...{ name: file, mimeType },
        buffer: Buffer.from(text),
      });
      await dialog.getByText(file).waitFor();
      await dialog.getByRole("button", { name: "Import rows" }).click();
      await dialog.getByRole("heading", { name: "1 wrong row" }).waitFor();
    };
    const mended = dialog.getByRole("textbox", { name: "Mend the rows" });
    await send("one.csv", "number\nx\n");
    await mended.focus();
    await page.keyboard.press("ControlOrMeta+a");
    await page.keyboard.type("number 1");
    expect(await mended.inputValue()).toBe("number 1");
    await send("two.csv", "number\ny\n");
    expect(await mended.inputValue()).toBe("number\ny\n");
  });

  it("adds a file that was uploaded without uploading it once more, and leaves none that is removed", async () => {
    const { id } = await api("POST", "/v1/vector_stores", { name: "uploads" });
    await open(`knowledge/${id}?batch=vsfb_of_another_store`);
    const unknown = page.getByText("The folder's state is not known");
    await unknown.waitFor();
    await page.getByRole("button", { name: "Close", exact: true }).click();
    await unknown.waitFor({ state: "detached" });
    let isRefusing = true;
    await page.route(/\/vector_stores\/[^/]+\/files$/, (route) => {
      const json = { error: { message: "Not now.", code: "overloaded" } };
      const isMeant = isRefusing && route.request().method() === "POST";
      return isMeant ? route.fulfill({ status: 503, json }) : route.fallback();
    });
    const names = ["once.txt", "deleted.txt", "removed.txt"];
    await page.locator('input[type="file"]').setInputFiles(
      names.map((name) => ({
        ...{ name, mimeType: "text/plain" },
        buffer: Buffer.from(`One copy of ${name} is enough.`),
      })),
    );
    await page.getByText("0 of 3 added · 3 failed").waitFor();
    type Stored = { readonly id: string; readonly filename: string };
    const stored = async (): Promise<readonly Stored[]> => {
      const { data } = await api("GET", "/v1/files");
      return data.filter(({ filename }: Stored) => names.includes(filename));
    };
    const deleted = (await stored()).find(({ filename }) => filename === "deleted.txt");
    await api("DELETE", `/v1/files/${deleted?.id}`);
    isRefusing = false;
    await page.getByRole("button", { name: "Remove removed.txt" }).click();
    for (const name of names.slice(0, 2)) {
      await page.getByRole("button", { name: `Retry ${name}` }).click();
    }
    await page.getByText("2 of 2 added").waitFor();
    const left = async () => (await stored()).map(({ filename }) => filename).sort();
    await expect.poll(left, PATIENT).toEqual(["deleted.txt", "once.txt"]);
  });

  it("keeps what is typed into an assistant while it is being saved", async () => {
    const { id } = await api("POST", "/v1/assistants", { name: "draft", model: "sim-chat" });
    await open(`assistants/${id}`);
    await page.getByLabel("Name", { exact: true }).fill("saved");
    const save = page.getByRole("button", { name: "Save assistant" });
    const patch = await hold("POST", /\/v1\/assistants\/asst_/);
    await save.click();
    await patch.begun();
    await page.getByLabel("Description").fill("typed meanwhile");
    await patch.release();
    await page.getByText("Assistant saved is changed").waitFor();
    expect(await page.getByLabel("Description").inputValue()).toBe("typed meanwhile");
    await save.click();
    const read = async () => (await api("GET", `/v1/assistants/${id}`)).description;
    await expect.poll(read, PATIENT).toBe("typed meanwhile");
  });

  /** Deletes what is shown and has changes that are not saved: nobody is asked about these. */
  const deleteShown = async (what: string, name: string) => {
    await page.getByRole("button", { name: `Delete ${what}` }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel(`Type ${name} to confirm`).fill(name);
    await dialog.getByRole("button", { name: `Delete ${what}` }).click();
    await page.getByText(new RegExp(`^${what} ${name} is deleted$`, "i")).waitFor();
    await page.getByRole("heading", { name, level: 1 }).waitFor({ state: "detached" });
    expect(await page.getByText("Leave without saving?").count()).toBe(0);
    expect(shown.problems()).toEqual([]);
  };

  it("keeps the changes of an assistant and its trial when the width changes, until it is deleted", async () => {
    const { id } = await api("POST", "/v1/assistants", { name: "resized", model: "sim-chat" });
    await open(`assistants/${id}`);
    const instructions = page.getByRole("textbox", { name: "Instructions" });
    await instructions.fill("Not saved yet.");
    says("An answer of the trial.");
    await ask("Is it kept?");
    const answer = page.getByText("An answer of the trial.");
    await answer.waitFor();
    await page.setViewportSize({ width: 1_100, height: 900 });
    await page.getByRole("tab", { name: "Trial" }).click();
    await answer.waitFor();
    await page.setViewportSize({ width: 1_280, height: 900 });
    await page.getByRole("tab", { name: "Trial" }).waitFor({ state: "detached" });
    await answer.waitFor();
    expect(await instructions.inputValue()).toBe("Not saved yet.");
    await deleteShown("assistant", "resized");
  });

  it("gives an assistant any store and connection, also of many", async () => {
    const places = Array.from({ length: 101 }, (_, place) => place);
    const { id } = await api("POST", "/v1/assistants", { name: "of many", model: "sim-chat" });
    await api("POST", "/v1/vector_stores", { name: "the oldest store" });
    await Promise.all(
      places.flatMap((place) => [
        api("POST", "/v1/vector_stores", { name: `store ${place}` }),
        api("POST", "/api/connections", {
          ...{ name: `database_${String(place).padStart(3, "0")}`, kind: "sqlite" },
          file: "workspace/none.db",
        }),
      ]),
    );
    await open(`assistants/${id}`);
    await page.getByRole("combobox", { name: /^Databases/ }).click();
    await page.getByRole("option", { name: "database_100" }).click();
    await page.getByRole("combobox", { name: /^Vector stores/ }).click();
    await page.getByRole("option", { name: "the oldest store" }).click();
    await page.getByRole("button", { name: "Save assistant" }).click();
    await page.getByText("Assistant of many is changed").waitFor();
  });

  it("keeps what is typed into a store's settings while they are being saved", async () => {
    const { id } = await api("POST", "/v1/vector_stores", { name: "draft" });
    await open(`knowledge/${id}?tab=settings`);
    await page.getByLabel("Name", { exact: true }).fill("saved");
    const save = page.getByRole("button", { name: "Save settings" });
    const post = await hold("POST", /\/v1\/vector_stores\/vs_/);
    await save.click();
    await post.begun();
    await page.getByLabel("Description").fill("typed meanwhile");
    await post.release();
    await page.getByText(/^Store .* is changed$/).waitFor();
    expect(await page.getByLabel("Description").inputValue()).toBe("typed meanwhile");
    await save.click();
    const read = async () => (await api("GET", `/v1/vector_stores/${id}`)).description;
    await expect.poll(read, PATIENT).toBe("typed meanwhile");
    await page.getByLabel("Description").fill("never saved");
    await deleteShown("store", "saved");
  });

  it("keeps what is typed into a workflow while it is being saved", async () => {
    const steps = [{ id: "rows", kind: "input" }];
    const { id } = await api("POST", "/api/pipeline/workflows", { name: "draft", steps });
    await open(`workflows/${id}?step=$settings`);
    await page.getByLabel("Name", { exact: true }).fill("saved");
    const save = page.getByRole("button", { name: "Save workflow" });
    const patch = await hold("PATCH", /\/pipeline\/workflows\//);
    await save.click();
    await patch.begun();
    await page.getByLabel("Description").fill("typed meanwhile");
    await api("PATCH", `/api/pipeline/workflows/${id}`, { timeout_seconds: 60 });
    await patch.release();
    await page.getByText("Workflow saved is saved as version").waitFor();
    expect(await page.getByLabel("Description").inputValue()).toBe("typed meanwhile");
    await page.getByText("Not saved", { exact: true }).waitFor();
    await save.click();
    const read = () => api("GET", `/api/pipeline/workflows/${id}`);
    await expect.poll(async () => (await read()).description, PATIENT).toBe("typed meanwhile");
    // What somebody else changed while it was being saved.
    expect((await read()).timeout_seconds).toBe(60);
    const time = page.getByRole("textbox", { name: "Time of a run" });
    await expect.poll(() => time.inputValue(), PATIENT).toBe("60");
  });

  it("keeps a workflow that was deleted elsewhere as a new one when asked to", async () => {
    const steps = [{ id: "rows", kind: "input" }];
    const { id } = await api("POST", "/api/pipeline/workflows", { name: "gone", steps });
    await open(`workflows/${id}?step=$settings`);
    await page.getByLabel("Name", { exact: true }).fill("mine");
    await api("DELETE", `/api/pipeline/workflows/${id}`);
    await page.getByText("The workflow was deleted meanwhile").waitFor();
    expect(await page.getByLabel("Name", { exact: true }).inputValue()).toBe("mine");
    await page.getByRole("button", { name: "Go on as a new workflow" }).click();
    await page.getByRole("button", { name: "Save workflow" }).click();
    await page.getByText("Workflow mine is created").waitFor();
    await page.waitForURL(({ pathname }) => pathname.includes("/wf_") && openId() !== id);
  });

  it("saves no step while the text of one of its fields is no JSON, and says why other parts rest", async () => {
    const nested = (depth: number): object =>
      depth === 0 ? {} : { properties: nested(depth - 1) };
    const { id } = await api("POST", "/api/pipeline/workflows", {
      name: "unread",
      triggers: [{ kind: "schedule", cron: "0 6 * * *" }],
      steps: [
        { id: "rows", kind: "input" },
        // What is nested deeper than forms are is JSON there.
        { id: "check", kind: "validate", schema: nested(12) },
      ],
    });
    await open(`workflows/${id}?step=check`);
    const save = page.getByRole("button", { name: "Save workflow" });
    const notSaved = page.getByText("Not saved", { exact: true });
    const field = page.locator("textarea").first();
    const before = await field.inputValue();
    await field.fill('{"unread": ');
    await page.getByText(/^This is no JSON/).waitFor();
    await notSaved.waitFor();
    await page.getByRole("tab", { name: "List" }).click();
    await save.click();
    expect(await field.evaluate((element) => element === document.activeElement)).toBe(true);
    await page.keyboard.press("ControlOrMeta+s");
    await page.getByRole("link", { name: "API keys" }).click();
    await page.getByRole("button", { name: "Stay here" }).click();
    // Neither is it lost with its panel.
    await page.getByRole("button", { name: "Settings", exact: true }).click();
    await page.getByText("Texts that are no JSON are lost.").waitFor();
    await page.getByRole("button", { name: "Stay here" }).click();
    expect(await field.inputValue()).toBe('{"unread": ');
    await field.fill(before);
    await notSaved.waitFor({ state: "detached" });
    await field.fill('{"description": "read", "const": 9007199254740993}');
    await save.click();
    await page.getByText("Workflow unread is saved as version 2").waitFor();
    const saved = await api("GET", `/api/pipeline/workflows/${id}`);
    expect(JSON.stringify(saved.steps)).toContain(
      '{"description":"read","const":"9007199254740993"}',
    );
    // With a text that is no JSON the buttons of both panels say so, too.
    const rests = async (name: string) => {
      const button = page.getByRole("button", { name, exact: true });
      await expect.poll(() => button.getAttribute("aria-disabled"), PATIENT).toBe("true");
    };
    await page.getByRole("tab", { name: "JSON" }).click();
    await page.locator('[data-editor="Definition"] .cm-content').focus();
    await page.keyboard.type("{");
    for (const name of ["Add step after", "Delete step"]) await rests(name);
    await page.getByRole("button", { name: "Undo the last change" }).click();
    await notSaved.waitFor({ state: "detached" });
    await page.goto(page.url().replace("step=check", "step=$trigger0"));
    await page.locator('[data-editor="Definition"] .cm-content').focus();
    await page.keyboard.type("{");
    await rests("Delete trigger");
  });

  it("keeps what was saved of a workflow when an older answer comes after it", async () => {
    const steps = [{ id: "rows", kind: "input" }];
    const { id } = await api("POST", "/api/pipeline/workflows", { name: "before", steps });
    await open(`workflows/${id}?step=$settings`);
    const polls: Route[] = [];
    let isOver = false;
    const late: { answer: () => Promise<void> } = { answer: () => Promise.resolve() };
    await page.route(new RegExp(`/api/pipeline/workflows/${id}$`), async (route) => {
      if (route.request().method() !== "GET" || isOver) return route.fallback();
      const response = await route.fetch();
      if (polls.length === 0) late.answer = () => route.fulfill({ response });
      polls.push(route);
    });
    await expect.poll(() => polls.length, PATIENT).toBe(1);
    await page.getByLabel("Name", { exact: true }).fill("after");
    await page.getByRole("button", { name: "Save workflow" }).click();
    await page.getByText("Workflow after is saved as version").waitFor();
    // The page has ended this call: no answer reaches it.
    await late.answer().catch(() => undefined);
    // The next one is asked when the older answer has come, or not at all.
    await expect.poll(() => polls.length, PATIENT).toBe(2);
    expect(await page.getByLabel("Name", { exact: true }).inputValue()).toBe("after");
    isOver = true;
    await polls[1]?.continue();
  });

  it("keeps what is typed into a workflow while it is being created", async () => {
    await open("workflows");
    await page.getByRole("button", { name: "New workflow" }).first().click();
    await page.getByRole("button", { name: "Begin with nothing" }).click();
    await page.getByRole("button", { name: "More actions" }).count();
    await page.getByRole("tab", { name: "JSON" }).click();
    const editor = page.locator('[data-editor="Definition"] .cm-content');
    const write = async (text: string) => {
      await editor.focus();
      await page.keyboard.press("ControlOrMeta+a");
      await page.keyboard.insertText(text);
    };
    const textOf = (name: string) => `{"name": "${name}", "steps": [{"id": "a", "kind": "input"}]}`;
    await write(textOf("created"));
    const post = await hold("POST", /\/pipeline\/workflows$/);
    await page.getByRole("button", { name: "Save workflow" }).click();
    await post.begun();
    await write(textOf("typed meanwhile"));
    await post.release();
    await page.getByRole("heading", { level: 1, name: "created" }).waitFor();
    await page.getByText("Not saved", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Save workflow" }).click();
    await page.getByRole("heading", { level: 1, name: "typed meanwhile" }).waitFor();
  });

  it("forgets a conflict of a workflow with the changes that it was about", async () => {
    const steps = [{ id: "rows", kind: "input" }];
    const { id } = await api("POST", "/api/pipeline/workflows", { name: "shared", steps });
    await open(`workflows/${id}?step=rows`);
    await page.getByLabel("Id").fill("mine");
    await page.getByRole("button", { name: "Rename step" }).click();
    await api("PATCH", `/api/pipeline/workflows/${id}`, {
      steps: [{ id: "theirs", kind: "input" }],
    });
    await page.getByRole("button", { name: "Save workflow" }).click();
    await page.getByText("Somebody changed the workflow meanwhile").waitFor();
    await shown.settled();
    await page.getByRole("button", { name: "Discard mine" }).click();
    await page.getByText("Somebody changed the workflow meanwhile").waitFor({ state: "detached" });
  });

  it("takes the focus into a panel that covers its table, and back to the row", async () => {
    await open("users", { width: 700 });
    const rows = page.locator("[data-rows] [data-open]");
    const hasFocus = (target: Locator) =>
      expect.poll(() => target.evaluate((each) => each === document.activeElement), PATIENT);
    await rows.first().focus();
    await page.keyboard.press("Enter");
    const head = page.getByRole("heading", { level: 2 }).first();
    await hasFocus(head).toBe(true);
    const first = await head.textContent();
    await page.keyboard.press("j");
    await expect.poll(() => head.textContent(), PATIENT).not.toBe(first);
    await hasFocus(head).toBe(true);
    await page.keyboard.press("Escape");
    await hasFocus(rows.nth(1)).toBe(true);
    await page.setViewportSize({ width: 1_440, height: 900 });
    await rows.nth(1).focus();
    await page.keyboard.press("Enter");
    await head.waitFor();
    await hasFocus(rows.nth(1)).toBe(true);
    await page.getByRole("button", { name: "Close the panel" }).focus();
    await page.keyboard.press("Enter");
    await hasFocus(rows.nth(1)).toBe(true);
  });

  it("counts the users of the license anew when one is made", async () => {
    await open("users");
    await page.getByText(/^2 active of/).waitFor();
    await page.getByRole("button", { name: "New user" }).click();
    await page.getByLabel("Name", { exact: true }).last().fill("grace");
    await page.getByLabel("First password").fill("a first password of grace");
    await page.getByRole("button", { name: "Create user" }).click();
    await page.getByText(/^3 active of/).waitFor();
  });
});
