import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { callHttp } from "../../support/clients/http-session.ts";
import { findBarriers, sidewaysScroll } from "../support/audit-page.ts";
import { hasChromium } from "../support/chromium.ts";
import { type ConsolePage, openConsolePage } from "../support/console-page.ts";
import { type ConsoleStage, openConsoleStage } from "../support/console-stage.ts";
import { holdAnswers } from "../support/hold-answers.ts";

const MAX_TABS = 80;

describe.skipIf(!hasChromium)("A workflow in the console", () => {
  let stage: ConsoleStage;
  let shown: ConsolePage;
  let page: Page;

  beforeAll(async () => {
    stage = await openConsoleStage({ EGRESS_ALLOW: "127.0.0.1" });
  });
  afterAll(() => stage?.close());

  const open = async (look: { readonly width?: number; readonly theme?: "light" | "dark" }) => {
    shown = await openConsolePage(stage, { role: "administrator", ...look });
    ({ page } = shown);
  };
  const call = (method: "GET" | "POST" | "PUT" | "PATCH", path: string, body?: unknown) => {
    const token = stage.sessions.administrator;
    return callHttp(stage.url, { method, path, token, ...(body !== undefined && { body }) });
  };
  const hasFocus = (target: Locator) =>
    target.evaluate((element) => element === document.activeElement);
  /** Goes on by Tab until this has the focus. */
  const reach = async (target: Locator) => {
    await target.waitFor();
    for (let tabs = 0; tabs < MAX_TABS; tabs += 1) {
      if (await hasFocus(target)) return;
      await page.keyboard.press("Tab");
    }
    throw new Error(`${target} is not reached by keyboard`);
  };
  const press = async (name: string, role: "button" | "link" | "combobox" = "button") => {
    await reach(page.getByRole(role, { name, exact: role !== "combobox" }).first());
    await page.keyboard.press("Enter");
  };
  /** Tabs are one stop: arrows choose among them. */
  const show = async (name: string) => {
    await reach(page.getByRole("tab", { selected: true }));
    const target = page.getByRole("tab", { name, exact: true });
    for (let tabs = 0; tabs < MAX_TABS && !(await hasFocus(target)); tabs += 1) {
      await page.keyboard.press("ArrowRight");
    }
    await page.keyboard.press("Enter");
  };
  const type = async (label: string, text: string) => {
    await page.getByLabel(label, { exact: true }).focus();
    await page.keyboard.press("ControlOrMeta+a");
    await page.keyboard.type(text);
  };
  const typeCode = async (label: string, text: string) => {
    const editor = page.locator(`[data-editor="${label}"] .cm-content`);
    const write = async () => {
      await editor.focus();
      await page.keyboard.press("ControlOrMeta+a");
      await page.keyboard.insertText(text);
      return editor.textContent();
    };
    // A dialog that is opening takes the focus once more.
    await expect.poll(write, { timeout: 60_000 }).toBe(text);
  };
  const status = (word: string) => page.locator("header").getByText(word, { exact: true });

  it("is built from nothing, fails, is mended, retried and completes, by keyboard alone", async () => {
    await open({});
    await shown.open("workflows");
    await page.keyboard.press("n");
    await press("Begin with nothing");
    await show("List");
    // A source, and a step that fails on the second row.
    await press("Add step");
    await press("Kind", "combobox");
    await page.keyboard.type("map");
    await page.getByRole("option", { name: /Set fields/ }).waitFor();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await reach(page.getByRole("dialog").getByRole("button", { name: "Add step" }));
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "map", exact: true }).waitFor();
    await press("Settings");
    await type("Name", "orders");
    await show("JSON");
    await shown.settled();
    await typeCode(
      "Definition",
      `{"name": "orders", "steps": [{"id": "orders", "kind": "input"}, {"id": "net", "kind": "map", "set": {"net": "row.totl / 2"}}, {"id": "report", "kind": "selct"}]}`,
    );
    await press("Save workflow");
    await page.getByText("1 fault").first().waitFor();
    await page.getByRole("button", { name: /report · kind line 1/ }).waitFor();
    expect(await findBarriers(page)).toEqual([]);
    expect(shown.problems()).toEqual([
      expect.stringMatching(/400 \(Bad Request\).*\/api\/pipeline\/workflows\)$/),
    ]);
    await typeCode(
      "Definition",
      `{"name": "orders", "steps": [{"id": "orders", "kind": "input"}, {"id": "net", "kind": "map", "set": {"net": "row.totl / 2"}}]}`,
    );
    await press("Save workflow");
    await status("v1").waitFor();
    await press("Run workflow…");
    await typeCode("Rows of the trigger", '[{"total": 4}, {"total": 8}]');
    await press("Start run");
    await status("Failed").waitFor();
    const alert = page.getByRole("alert");
    await alert.getByText("The step net failed at row 1").waitFor();
    expect(await findBarriers(page)).toEqual([]);
    const failed = page.url().replace(/\?.*/, "");
    // The step is mended in its panel.
    await press("Change step", "link");
    await show("List");
    await type("net (required)", "row.total / 2");
    await press("Save workflow");
    await status("v2").waitFor();
    await page.goto(failed);
    await press("Retry run…");
    await page.getByRole("dialog").waitFor();
    await press("Retry run");
    await status("Completed").waitFor();
    expect(page.url()).not.toContain(failed);
    await show("List");
    await reach(page.getByRole("button", { name: "orders", exact: true }));
    await page.keyboard.press("j");
    await press("net");
    const rows = page.getByRole("region", { name: "Rows of net" });
    await rows.getByRole("cell", { name: "4", exact: true }).first().waitFor();
    expect(await findBarriers(page)).toEqual([]);
    await shown.close();
  });

  it("is changed with the mouse: a step is added, connected and renamed, and the text follows", async () => {
    const definition = {
      name: "by mouse",
      steps: [
        { id: "orders", kind: "input" },
        { id: "check", kind: "if", condition: "row.total > 1" },
        { id: "large", kind: "limit", count: 1 },
      ],
    };
    const { body } = await call("POST", "/api/pipeline/workflows", definition);
    await open({ theme: "dark" });
    await shown.open(`workflows/${body.id}`);
    const box = (id: string) => page.locator(".react-flow__node", { hasText: id });
    await box("large").waitFor();
    await page.getByRole("button", { name: "Add step", exact: true }).click();
    await page.getByRole("combobox", { name: /Kind/ }).click();
    await page.getByRole("option", { name: /^First rows/ }).click();
    await page.getByLabel("Id").fill("small");
    await page.getByRole("dialog").getByRole("button", { name: "Add step" }).click();
    await box("small").waitFor();
    await page.getByRole("button", { name: "Close the panel" }).click();
    // From the output `else` of one box to another box.
    const from = await box("check").locator('[data-handleid="else"]').boundingBox();
    const to = await box("small").locator(".react-flow__handle-left").boundingBox();
    if (from === null || to === null) throw new Error("a box has no handles");
    await page.mouse.move(from.x + from.width / 2, from.y + from.height / 2);
    await page.mouse.down();
    await page.mouse.move(to.x + to.width / 2, to.y + to.height / 2, { steps: 8 });
    await page.mouse.up();
    await page.locator(".react-flow__edge", { hasText: "else" }).waitFor();
    await box("small").click();
    await page.getByLabel("Id").fill("few");
    await page.getByRole("button", { name: "Rename step" }).click();
    await box("few").waitFor();
    expect(await findBarriers(page)).toEqual([]);
    await page.getByRole("button", { name: "Save workflow" }).click();
    await status("v2").waitFor();
    const saved = await call("GET", `/api/pipeline/workflows/${body.id}`);
    expect(saved.body.steps.slice(0, 3)).toEqual(definition.steps);
    expect(saved.body.steps[3]).toMatchObject({ id: "few", from: ["large", "check.else"] });
    expect(shown.problems()).toEqual([]);
    await shown.close();
  });

  it("keeps what was typed when somebody else saved, and opens as a list on a telephone", async () => {
    const definition = { name: "shared", steps: [{ id: "orders", kind: "input" }] };
    const { body } = await call("POST", "/api/pipeline/workflows", definition);
    await open({ width: 375 });
    await shown.open(`workflows/${body.id}?step=orders`);
    expect(await page.locator(".react-flow").count()).toBe(0);
    expect(await sidewaysScroll(page)).toBe(0);
    await page.getByLabel("Id").fill("mine");
    await page.getByRole("button", { name: "Rename step" }).click();
    const steps = [{ id: "theirs", kind: "input" }];
    const path = `/api/pipeline/workflows/${body.id}`;
    await callHttp(stage.url, {
      method: "PATCH",
      path,
      token: stage.sessions.administrator,
      body: { steps },
    });
    await page.getByRole("button", { name: "Close the panel" }).click();
    await page.getByText("Somebody changed the workflow meanwhile").waitFor();
    await page.getByRole("button", { name: "Save mine over it" }).click();
    await status("v3").waitFor();
    expect((await call("GET", path)).body.steps).toEqual([{ id: "mine", kind: "input" }]);
    await shown.close();
  });

  it("is saved without what somebody else changed beside it", async () => {
    const definition = { name: "two at it", steps: [{ id: "orders", kind: "input" }] };
    const { body } = await call("POST", "/api/pipeline/workflows", definition);
    const path = `/api/pipeline/workflows/${body.id}`;
    await open({});
    await shown.open(`workflows/${body.id}?step=$settings`);
    await page.getByLabel("Name", { exact: true }).fill("mine");
    await call("PATCH", path, { description: "theirs" });
    await page.getByText("Somebody changed the workflow meanwhile").waitFor();
    await page.getByRole("button", { name: "Save workflow" }).click();
    await page.getByText("Workflow mine is saved as version").waitFor();
    expect((await call("GET", path)).body).toMatchObject({ name: "mine", description: "theirs" });
    await shown.close();
  });

  it("loses arrows that are chosen and deleted, by keyboard and by mouse", async () => {
    const { body } = await call("POST", "/api/pipeline/workflows", {
      name: "arrows",
      steps: [
        { id: "orders", kind: "input" },
        { id: "check", kind: "if", condition: "row.total > 1" },
        { id: "both", kind: "limit", count: 1, from: ["check", "check.else"] },
        { id: "few", kind: "limit", count: 1, from: ["both", "orders"] },
      ],
    });
    await open({});
    await shown.open(`workflows/${body.id}`);
    const arrow = (name: string) => page.locator(`.react-flow__edge[aria-label="${name}"]`);
    const byKeyboard = arrow("From orders  to few");
    await byKeyboard.focus();
    await page.keyboard.press("Enter");
    await page.keyboard.press("Backspace");
    await byKeyboard.waitFor({ state: "detached" });
    const byMouse = arrow("From check else to both");
    await byMouse.locator("rect").click();
    await page.keyboard.press("Delete");
    await byMouse.waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Save workflow" }).click();
    await status("v2").waitFor();
    const saved = await call("GET", `/api/pipeline/workflows/${body.id}`);
    const sources = saved.body.steps.map(({ from }: { from?: string[] }) => from);
    expect(sources.slice(2)).toEqual([["check"], ["both"]]);
    expect(shown.problems()).toEqual([]);
    await shown.close();
  });

  it("is shown to others with its statements, which they cannot change", async () => {
    const { body } = await call("POST", "/api/pipeline/workflows", {
      ...{ name: "for all to see", visibility: "everyone" },
      steps: [
        { id: "orders", kind: "input" },
        { id: "sums", kind: "sql", select: "select * from orders" },
      ],
    });
    const { id } = body;
    shown = await openConsolePage(stage, { role: "user" });
    ({ page } = shown);
    await shown.open(`workflows/${id}?step=sums`);
    const statement = page.locator('[data-editor="select"] .cm-content');
    await statement.waitFor();
    expect(await statement.getAttribute("aria-readonly")).toBe("true");
    await statement.focus();
    await page.keyboard.type("drop");
    expect(await statement.textContent()).toBe("select * from orders");
    await shown.close();
  });

  it("has runs that are followed on a large monitor, too, which shows more than one page", async () => {
    const rows = { name: "many runs", steps: [{ id: "rows", kind: "input" }] };
    const { id } = (await call("POST", "/api/pipeline/workflows", rows)).body;
    const { runId } = (await call("POST", `/api/pipeline/workflows/${id}/runs`, {})).body;
    const run = (await call("GET", `/api/pipeline/runs/${runId}`)).body;
    await open({});
    await page.setViewportSize({ width: 1_440, height: 2_400 });
    const asked: string[] = [];
    await page.route(/\/api\/pipeline\/runs\?/, (route) => {
      const before = new URL(route.request().url()).searchParams.get("before") ?? "";
      asked.push(before);
      const data = Array.from({ length: 50 }, (_, place) => ({
        ...run,
        runId: `run_${before}${place}`,
      }));
      return route.fulfill({ json: { object: "list", data, next: before === "" ? "p" : null } });
    });
    await shown.open(`workflows/${id}/runs`);
    await expect.poll(() => asked.slice(0, 4), { timeout: 60_000 }).toEqual(["", "p", "", "p"]);
    await shown.close();
  });

  it("is followed live, also over a time in which the gateway does not answer", async () => {
    const slow = await holdAnswers();
    const { body } = await call("POST", "/api/pipeline/workflows", {
      name: "slow",
      steps: [{ id: "page", kind: "fetch_http", url: slow.url }],
    });
    const started = await call("POST", `/api/pipeline/workflows/${body.id}/runs`);
    await open({});
    const answers = new RegExp(`^${stage.url}/api/pipeline/runs/`);
    await shown.open(`runs/${started.body.runId}`);
    await status("Running").waitFor();
    await page.route(answers, (route) => route.abort());
    await page.getByText("The gateway does not answer.").waitFor();
    await status("State unknown").waitFor();
    slow.release();
    await expect
      .poll(
        async () => (await call("GET", `/api/pipeline/runs/${started.body.runId}`)).body.status,
        {
          timeout: 60_000,
        },
      )
      .toBe("completed");
    await page.unroute(answers);
    await status("Completed").waitFor();
    expect(await page.getByText("The gateway does not answer.").count()).toBe(0);
    await shown.close();
    await slow.close();
  });
});
