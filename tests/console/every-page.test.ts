import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { PageDefinition } from "../../src/console/page-definition.ts";
import { pages } from "../../src/console/pages.ts";
import {
  doubleText,
  findBarriers,
  focusPlace,
  restoreText,
  sidewaysScroll,
} from "./support/audit-page.ts";
import { hasChromium } from "./support/chromium.ts";
import { type ConsolePage, openConsolePage } from "./support/console-page.ts";
import { type ConsoleStage, openConsoleStage, type Role } from "./support/console-stage.ts";
import { pathOf } from "./support/page-path.ts";
import { fillGateway, type Samples } from "./support/samples/fill-gateway.ts";
import { askForFiles } from "./support/served-files.ts";
import { collectAnswers, makeCredentials, runShownCall } from "./support/shown-calls.ts";

interface Case {
  readonly width: number;
  readonly theme: "light" | "dark";
  readonly role: Role;
  readonly state: "filled" | "empty" | "failing";
}

const WIDTHS = [1_440, 375];
const THEMES = ["light", "dark"] as const;
const ROLES = ["administrator", "user"] as const;
const STATES = ["filled", "empty", "failing"] as const;
const NARROWEST = 320;
/** They show forms, and nothing that a call brings. */
const WITHOUT_CALL: ReadonlySet<string> = new Set(["login", "password", "account"]);

const GRID: readonly Case[] = STATES.flatMap((state) =>
  ROLES.flatMap((role) =>
    THEMES.flatMap((theme) => WIDTHS.map((width) => ({ width, theme, role, state }))),
  ),
);
// biome-ignore lint/style/noProcessEnv: `npm run test:console` asks for the whole grid
const isWhole = process.env["CONSOLE_GRID"] === "whole";

/** All cases, or one of each page: the next in turn, so that the pages together meet every value. */
function casesOf(index: number): readonly Case[] {
  // 7 has no divisor in common with the 24 cases.
  return isWhole ? GRID : GRID.slice((index * 7) % GRID.length).slice(0, 1);
}

const table = pages.flatMap((page, index) =>
  casesOf(index).map((one) => ({
    name: `${page.path || "/"} at ${one.width} px, ${one.theme}, to ${one.role}, ${one.state}`,
    page,
    one,
  })),
);

describe.skipIf(!hasChromium)("every page of the console", () => {
  let filled: ConsoleStage;
  let empty: ConsoleStage;
  let samples: Samples;

  beforeAll(async () => {
    [filled, empty] = await Promise.all([openConsoleStage(), openConsoleStage()]);
    samples = await fillGateway(filled);
  });
  afterAll(() => Promise.all([filled?.close(), empty?.close()]));

  it.each(table)("$name", async ({ page: definition, one }) => {
    const { width, theme, state } = one;
    const shown = await openConsolePage(state === "empty" ? empty : filled, {
      role: definition.path === "login" ? undefined : one.role,
      width,
      theme,
      isFailing: state === "failing",
      isMissing: state === "empty" && definition.path.includes("$"),
    });
    try {
      await shown.open(pathOf(definition, samples));
      await expectGoodPage(shown, definition);
      await expectRoom(shown);
    } finally {
      await shown.close();
    }
  });

  it("comes with the policy, word by word, as does every file of it and what is no file", async () => {
    const files = await askForFiles(filled.url);
    expect(files.filter(({ loose }) => Object.keys(loose).length > 0)).toEqual([]);
    const kinds = files.map(({ path }) => /\.(\w+)$/.exec(path)?.[1] ?? "page");
    expect(kinds).toEqual(
      expect.arrayContaining(["html", "js", "css", "woff2", "svg", "json", "page"]),
    );
    const [gone, ...others] = files.filter(({ status }) => status !== 200);
    expect([gone?.path, gone?.status, others]).toEqual([expect.stringContaining("gone"), 404, []]);
  });

  it("shows a call in each view that, run as shown, brings what the view shows", async () => {
    const credentials = await makeCredentials(filled);
    const shown = await openConsolePage(filled, { role: "administrator" });
    const answers = collectAnswers(shown.page);
    const unlike: unknown[] = [];
    for (const path of viewsWithCalls(samples)) {
      answers.clear();
      await shown.open(path);
      const call = await runShownCall(shown.page, answers, credentials);
      if (call.status !== 200 || call.unlike.length > 0) unlike.push({ path, ...call });
    }
    await shown.close();
    expect(unlike).toEqual([]);
  });
});

/** The views that show a call: each page, and where its rows open, the page with one of them; or a third of these. */
function viewsWithCalls(samples: Samples): readonly string[] {
  const views = pages
    .filter(({ path }) => !WITHOUT_CALL.has(path))
    .flatMap((page) => {
      const path = pathOf(page, samples);
      const sample = samples[page.path];
      if (!page.opensRows || sample === undefined) return [path];
      // A chat has a call once there is a question in it.
      return path === "chat" ? [`chat/${sample}`] : [path, `${path}/${sample}`];
    });
  return isWhole ? views : views.filter((_, index) => index % 3 === 0);
}

async function expectGoodPage(shown: ConsolePage, { title }: PageDefinition): Promise<void> {
  const { page } = shown;
  expect(await page.title()).toContain(title);
  expect(await page.locator("h1").count()).toBe(1);
  expect(await focusPlace(page)).toMatch(/^(body|main)$/);
  expect(await findBarriers(page)).toEqual([]);
  expect(shown.problems()).toEqual([]);
}

/** Nothing is cut off on the smallest screen, nor with text of twice the size. */
async function expectRoom(shown: ConsolePage): Promise<void> {
  const { page } = shown;
  expect(await sidewaysScroll(page)).toBe(0);
  await doubleText(page);
  expect(await sidewaysScroll(page)).toBe(0);
  await page.setViewportSize({ width: NARROWEST, height: 640 });
  await restoreText(page);
  await shown.settled();
  expect(await sidewaysScroll(page)).toBe(0);
  expect(shown.problems()).toEqual([]);
}
