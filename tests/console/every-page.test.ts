import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { PageDefinition } from "../../src/console/page-definition.ts";
import { pages } from "../../src/console/pages.ts";
import { doubleText, findBarriers, focusPlace, sidewaysScroll } from "./support/audit-page.ts";
import { hasChromium } from "./support/chromium.ts";
import { type ConsolePage, openConsolePage } from "./support/console-page.ts";
import { type ConsoleStage, openConsoleStage, type Role } from "./support/console-stage.ts";
import { fillGateway, type Samples } from "./support/fill-gateway.ts";
import { pathOf } from "./support/page-path.ts";

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
});

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
  await page.evaluate(() => {
    document.documentElement.style.fontSize = "";
  });
  await shown.settled();
  expect(await sidewaysScroll(page)).toBe(0);
  expect(shown.problems()).toEqual([]);
}
