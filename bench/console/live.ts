import type { Page } from "playwright-core";
import { holdAnswers } from "../../tests/console/support/hold-answers.ts";
import { atMost, type Goal } from "../comparison/goals.ts";
import type { ConsoleBench, Json } from "./console-bench.ts";

const ROUNDS = 5;
const POLL_MS = 20;
const FILE_WORDS = 2_000;
/** Long enough that the page is there before the end. */
const EMBEDDING_MS = 4_000;

/** What moves: how long after the database the page shows it. */
export async function measureLive(bench: ConsoleBench): Promise<readonly Goal[]> {
  const runs: number[] = [];
  const files: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    runs.push(await followRun(bench));
    files.push(await followFile(bench, round));
  }
  const shown = (values: readonly number[]) => values.map((value) => value.toFixed(2)).join(", ");
  console.log(`\nseconds behind the database\n  runs ${shown(runs)}\n  files ${shown(files)}`);
  return [
    atMost("end of a run on screen behind the database, s", 2, Math.max(...runs)),
    atMost("end of an ingestion on screen behind the database, s", 2, Math.max(...files)),
  ];
}

async function followRun(bench: ConsoleBench): Promise<number> {
  const rows = await holdAnswers();
  const steps = [{ id: "page", kind: "fetch_http", url: rows.url }];
  const workflow = await bench.call("POST", "/api/pipeline/workflows", { name: "live", steps });
  const { runId } = await bench.call("POST", `/api/pipeline/workflows/${workflow.id}/runs`, {});
  const tab = await bench.openTab();
  await tab.open(`runs/${runId}`);
  await tab.page.locator("header").getByText("Running", { exact: true }).waitFor();
  const shown = textAt(tab.page, "header", "Completed");
  rows.release();
  const stored = until(bench, `/api/pipeline/runs/${runId}`, "completed");
  const [shownAt, storedAt] = await Promise.all([shown, stored]);
  await tab.close();
  await rows.close();
  return (shownAt - storedAt) / 1_000;
}

async function followFile(bench: ConsoleBench, round: number): Promise<number> {
  const store = await bench.call("POST", "/v1/vector_stores", { name: `live ${round}` });
  await bench.say({
    ...{ match: { path: "/v1/embeddings" }, stall: { at: "headers", forMs: EMBEDDING_MS } },
  });
  const form = new FormData();
  const words = Array.from({ length: FILE_WORDS }, (_, at) => `word${at * (round + 1)}`);
  form.set("purpose", "assistants");
  form.set("file", new File([words.join(" ")], "live.txt"));
  const sent = await fetch(`${bench.url}/v1/files`, {
    ...{ method: "POST", body: form, headers: { authorization: `Bearer ${bench.session}` } },
  });
  const { id } = (await sent.json()) as { readonly id: string };
  await bench.call("POST", `/v1/vector_stores/${store.id}/files`, { file_id: id });
  const tab = await bench.openTab();
  await tab.open(`knowledge/${store.id}`);
  const [shownAt, storedAt] = await Promise.all([
    textAt(tab.page, "[data-rows]", "Ready"),
    until(bench, `/v1/vector_stores/${store.id}/files/${id}`, "completed"),
  ]);
  await tab.close();
  return (shownAt - storedAt) / 1_000;
}

/** Resolves with the Unix milliseconds at which a thing is first answered to have a status. */
async function until(bench: ConsoleBench, path: string, status: string): Promise<number> {
  for (;;) {
    const askedAt = Date.now();
    const body: Json = await bench.call("GET", path);
    if (body.status === status) return askedAt;
    if (body.status === "failed") throw new Error(`${path} failed: ${JSON.stringify(body)}`);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

/** Resolves with the Unix milliseconds at which a text is first painted in an element of the page. */
function textAt(page: Page, selector: string, text: string): Promise<number> {
  return page.evaluate(
    ([place = "", wanted = ""]) =>
      new Promise<number>((resolve) => {
        const look = () => {
          const found = [...document.querySelectorAll(place)];
          if (found.some(({ textContent }) => textContent?.includes(wanted))) {
            resolve(performance.timeOrigin + performance.now());
          } else requestAnimationFrame(look);
        };
        look();
      }),
    [selector, text],
  );
}
