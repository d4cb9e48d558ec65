import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { callHttp } from "../support/clients/http-session.ts";
import { hasChromium } from "./support/chromium.ts";
import { type ConsolePage, openConsolePage } from "./support/console-page.ts";
import { type ConsoleStage, openConsoleStage } from "./support/console-stage.ts";
import { fillGateway, type Samples } from "./support/samples/fill-gateway.ts";

describe.skipIf(!hasChromium)("what pages tell", () => {
  let stage: ConsoleStage;
  let samples: Samples;
  let shown: ConsolePage;
  let page: Page;

  beforeAll(async () => {
    stage = await openConsoleStage();
    samples = await fillGateway(stage);
    shown = await openConsolePage(stage, { role: "administrator" });
    page = shown.page;
  });
  afterAll(async () => {
    await shown?.close();
    await stage?.close();
  });

  it("names what each model can do", async () => {
    await shown.open("models");
    const abilitiesOf = (name: string) =>
      page.getByRole("row", { name }).getByRole("listitem").allTextContents();
    expect(await abilitiesOf("sim-chat")).toEqual(["tools", "images", "audio", "thinking"]);
    expect(await abilitiesOf("Handbook")).toEqual([
      "assistant",
      ...(await abilitiesOf("sim-chat")),
    ]);
    expect(await abilitiesOf("sim-embed")).toEqual(["embeddings"]);
  });

  it("says everywhere how many days the license has left, as the API counts them", async () => {
    const { body } = await callHttp(stage.url, {
      path: "/api/license",
      token: stage.sessions.administrator,
    });
    const words = `${body.days_left} days left`;
    await shown.open("license");
    expect(await page.getByText(words).count()).toBe(2);
    await shown.open("overview");
    await page.getByRole("link", { name: `License ${words}` }).waitFor();
  });

  it("shows the errors of a step whole in the graph of its run", async () => {
    await shown.open(`runs/${samples["runs"]}?view=graph`);
    const errors = page.getByText("1 error", { exact: true });
    await errors.waitFor();
    const isCut = (element: Element) => element.scrollWidth > element.clientWidth;
    expect(await errors.evaluate(isCut)).toBe(false);
  });

  it.each(["requests", "usage", "audit"])(
    "has the head of %s in one line at 375 px",
    async (path) => {
      const small = await openConsolePage(stage, { role: "administrator", width: 375 });
      await small.open(path);
      const call = await small.page.getByRole("button", { name: "Show the call" }).boundingBox();
      const save = await small.page.getByRole("button", { name: "Save CSV" }).boundingBox();
      expect(save?.y).toBe(call?.y);
      expect(save?.width).toBe(44);
      expect(small.problems()).toEqual([]);
      await small.close();
    },
  );
});
