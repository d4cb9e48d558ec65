import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { hasChromium } from "../support/chromium.ts";
import { type ConsolePage, openConsolePage } from "../support/console-page.ts";
import { type ConsoleStage, openConsoleStage } from "../support/console-stage.ts";
import { HOSTILE_SHAPES, HOSTILE_TEXTS } from "../support/samples/hostile-texts.ts";

/** Texts that one answer has. */
const AT_ONCE = 12;
/** Lengths of the pieces that answers come in: no text is cut at the same places twice. */
const PIECES = [1, 2, 3, 5, 7, 11, 13, 17];
/** Pieces of a large answer. */
const LARGE_PIECES = 400;
/** Far above what a page takes: a shape that lexers choke on takes minutes. */
const STILL_MS = 60_000;
const MAX_KEPT = 4 * 1024 * 1024;
/** What one answer may bring into the document: what more there is comes when somebody asks for it. */
const MAX_ELEMENTS = 25_000;
const MAX_CELLS = 1_100;
const MAX_TEXT = 64 * 1024;

interface Answer {
  readonly name: string;
  readonly text: string;
  readonly piece: number;
}

const answers: readonly Answer[] = [
  ...Array.from({ length: Math.ceil(HOSTILE_TEXTS.length / AT_ONCE) }, (_, index): Answer => {
    const texts = HOSTILE_TEXTS.slice(index * AT_ONCE, (index + 1) * AT_ONCE);
    const text = texts.join("\n\nNext.\n\n");
    return { name: `texts ${index}`, text, piece: PIECES[index % PIECES.length] ?? 1 };
  }),
  ...Object.entries(HOSTILE_SHAPES).map(([name, text]): Answer => {
    return { name, text, piece: Math.max(7, Math.ceil(text.length / LARGE_PIECES)) };
  }),
];

describe.skipIf(!hasChromium)("hostile answers in a chat", () => {
  let stage: ConsoleStage;
  let shown: ConsolePage;
  let page: Page;
  const requested: string[] = [];
  const kept = new Map<string, string>();
  const standstills: { readonly name: string; readonly ms: number }[] = [];

  beforeAll(async () => {
    stage = await openConsoleStage();
    shown = await openConsolePage(stage, { role: "user" });
    ({ page } = shown);
    page.on("request", (request) => requested.push(request.url()));
    page.on("dialog", (dialog) => {
      requested.push(`a dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    await shown.open("chat");
    await page.evaluate(watchStandstill);
  });
  afterAll(async () => {
    await shown?.close();
    await stage?.close();
    const slowest = standstills.sort((left, right) => right.ms - left.ms).slice(0, 5);
    const figures = slowest.map(({ name, ms }) => `${name} ${Math.round(ms)} ms`);
    process.stderr.write(
      `The longest that hostile answers held the page: ${figures.join(", ")}.\n`,
    );
  });

  /** Tells whether an answer has done anything, and how long the page stood still for it. */
  const expectHarmless = async (name: string) => {
    // Long answers are drawn piece by piece.
    await page.locator('[aria-busy="true"]').first().waitFor({ state: "detached" });
    const { standstill, elements, cells, longest, ...shown } = await page.evaluate(inspect);
    standstills.push({ name, ms: standstill });
    expect(shown).toEqual({ hasRun: false, strange: [] });
    expect(elements).toBeLessThan(MAX_ELEMENTS);
    expect(cells).toBeLessThan(MAX_CELLS);
    expect(longest).toBeLessThanOrEqual(MAX_TEXT);
    expect(standstill).toBeLessThan(STILL_MS);
  };

  /** A chat that the server does not take is left after a question. */
  const leaveUnsaved = async () => {
    await page.getByText("The chat could not be saved").waitFor();
    await page.keyboard.press("Control+Shift+O");
    await page.getByRole("button", { name: "Leave", exact: true }).click();
    await page.getByText("Ask something.").waitFor();
  };

  it.each(answers)("$name, as they come", async ({ name, text, piece }) => {
    const match = { path: "/v1/chat/completions" };
    stage.simulator.script({ match, text, fragmentCharacters: piece });
    await page.keyboard.press("Control+Shift+O");
    const composer = page.getByRole("textbox", { name: "Message" });
    await composer.fill(name);
    await composer.press("Enter");
    await page.getByRole("button", { name: "Ask for another answer" }).waitFor();
    await expectHarmless(name);
    if (text.length > MAX_KEPT) return leaveUnsaved();
    await page.waitForURL(/\/chat\/chat_/);
    kept.set(name, new URL(page.url()).pathname.replace("/console/", ""));
  });

  it.each(answers.filter(({ text }) => text.length <= MAX_KEPT))(
    "$name, as it is stored",
    async ({ name }) => {
      const link = page.locator(`a[href="/console/${kept.get(name)}"]`);
      await page.keyboard.press("Control+Shift+O");
      await link.click();
      await page.getByRole("button", { name: "Ask for another answer" }).waitFor();
      await expectHarmless(name);
    },
  );

  it("shows more of a table when somebody asks", async () => {
    await page.keyboard.press("Control+Shift+O");
    await page.locator(`a[href="/console/${kept.get("a table of 4,000 rows")}"]`).click();
    const rows = page.locator(".answer-table tbody tr");
    await rows.first().waitFor();
    const before = await rows.count();
    await page.getByRole("button", { name: "Show more of 3,500 rows" }).click();
    expect(await rows.count()).toBe(2 * before);
  });

  it("has asked nobody for anything", () => {
    expect(requested.filter((address) => address.includes("hostile"))).toEqual([]);
    // A chat of more than 4 MiB is not kept, which the browser tells in its own words.
    const known = /status of 413/;
    expect(shown.problems().filter((text) => !known.test(text))).toEqual([]);
  });
});

/** Runs in the page: notes the longest time in which it did not answer. */
function watchStandstill(): void {
  Reflect.set(window, "tickedAt", performance.now());
  setInterval(() => {
    const now = performance.now();
    const longest = Number(Reflect.get(window, "standstill") ?? 0);
    Reflect.set(window, "standstill", Math.max(longest, now - Reflect.get(window, "tickedAt")));
    Reflect.set(window, "tickedAt", now);
  }, 10);
}

/** Runs in the page. Answers bring no elements but those of text; the signs on buttons are the page's own. */
function inspect() {
  const allowed =
    "p h3 h4 h5 h6 ul ol li blockquote code pre table thead tbody tr th td strong em del br hr a img span div section button input math";
  const names = new Set(allowed.split(" "));
  const strange: string[] = [];
  const all = [...document.querySelectorAll(".answer *")];
  for (const element of all) {
    const name = element.localName;
    const isSign = element.closest("svg.lucide") !== null || element.closest("math") !== null;
    const isTicked = name === "input" && element.matches("[type=checkbox]:disabled");
    const isOdd = !(isSign || names.has(name)) || (name === "input" && !isTicked);
    const handler = [...element.attributes].find((attribute) => attribute.name.startsWith("on"));
    const href = element.getAttribute("href") ?? "https:";
    const source = element.getAttribute("src") ?? "data:image/";
    if (isOdd || handler || !/^(https?|mailto):/.test(href) || !source.startsWith("data:image/")) {
      strange.push(element.outerHTML.slice(0, 200));
    }
  }
  const texts = all
    .flatMap((element) => [...element.childNodes])
    .filter((node) => node.nodeType === 3);
  const longest = Math.max(0, ...texts.map((node) => node.textContent?.length ?? 0));
  const tables = [...document.querySelectorAll(".answer table")];
  const cells = Math.max(0, ...tables.map((table) => table.querySelectorAll("th, td").length));
  const standstill = Number(Reflect.get(window, "standstill") ?? 0);
  Reflect.set(window, "standstill", 0);
  // What this inspection takes is no standstill.
  Reflect.set(window, "tickedAt", performance.now());
  const hasRun = Reflect.has(window, "hostileRan");
  return { strange, standstill, hasRun, longest, cells, elements: all.length };
}
