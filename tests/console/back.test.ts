import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { pages } from "../../src/console/pages.ts";
import { hasChromium } from "./support/chromium.ts";
import { openConsolePage } from "./support/console-page.ts";
import { type ConsoleStage, openConsoleStage } from "./support/console-stage.ts";
import { fillGateway, type Samples } from "./support/samples/fill-gateway.ts";

const BEFORE = "account";
/** A name that no page reads, in place of a filter: each page keeps what the address has. */
const FILTER = "?filtered=yes";
/** Chats are links to places of their own. */
const WITHOUT_ROWS: ReadonlySet<string> = new Set(["chat"]);

// biome-ignore lint/style/noProcessEnv: `npm run test:console` asks for the whole grid
const isWhole = process.env["CONSOLE_GRID"] === "whole";
/** All of them share one way of opening; a third is enough for each day. */
const lists = pages
  .filter(({ opensRows, path }) => opensRows && !WITHOUT_ROWS.has(path))
  .map(({ path }) => path)
  .filter((_, index) => isWhole || index % 3 === 0);

describe.skipIf(!hasChromium)("Back", () => {
  let stage: ConsoleStage;
  let samples: Samples;

  beforeAll(async () => {
    stage = await openConsoleStage();
    samples = await fillGateway(stage);
  });
  afterAll(() => stage?.close());

  it.each(lists)("closes what is open in %s, then leaves it", async (list) => {
    const shown = await openConsolePage(stage, { role: "administrator" });
    const { page, open } = shown;
    const at = (path: string) =>
      page.waitForURL(({ href }) => href === `${stage.url}/console/${path}`);
    const openFirst = async () => {
      await page.locator("[data-rows] [data-open]").first().click();
      await page.waitForURL(
        ({ pathname, search }) => pathname.startsWith(`/console/${list}/`) && search === FILTER,
      );
      await shown.settled();
    };
    await open(BEFORE);
    await open(`${list}${FILTER}`);
    await openFirst();
    await page.goBack();
    await at(`${list}${FILTER}`);
    await page.goBack();
    await at(BEFORE);

    // What its own button closes leaves nothing behind, whichever row was the last one.
    await page.goForward();
    await at(`${list}${FILTER}`);
    await shown.settled();
    await openFirst();
    const close = page.getByRole("button", { name: "Close the panel" });
    if (await close.isVisible()) {
      await page.keyboard.press("j");
      await shown.settled();
      await close.click();
      await at(`${list}${FILTER}`);
      await page.goBack();
      await at(BEFORE);
    }
    expect(shown.problems()).toEqual([]);
    await shown.close();
  });

  it.each([
    ["the step of a run", () => `runs/${samples["runs"]}?view=list`],
    ["the step of a workflow", () => `workflows/${samples["workflows"]}?view=list`],
    ["the file of a store", () => `knowledge/${samples["knowledge"]}`],
    ["the row of a dataset", () => `datasets/${samples["datasets"]}`],
  ])("closes %s", async (_, path) => {
    const shown = await openConsolePage(stage, { role: "administrator" });
    const { page, open } = shown;
    const at = (path: string) =>
      page.waitForURL(({ href }) => href === `${stage.url}/console/${path}`);
    await open(BEFORE);
    await open(path());
    await page.locator("[data-rows] [data-open]").first().click();
    await page.waitForURL(/[?&](step|file|row)=/);
    await page.goBack();
    await at(path());
    await page.goForward();
    await page.waitForURL(/[?&](step|file|row)=/);
    // Twice, as an impatient hand does: it is one step all the same.
    await Promise.all([page.keyboard.press("Escape"), page.keyboard.press("Escape")]);
    await at(path());
    await page.goBack();
    await at(BEFORE);
    expect(shown.problems()).toEqual([]);
    await shown.close();
  });
});
