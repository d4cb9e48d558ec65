// Measures the console's lists in a browser, over many keys, users and usage rows.
// Usage: bun bench/console/console-lists.ts [--rows 10000000] [--check], or the same with node --import tsx.
// Needs PostgreSQL and Chromium; takes about 600 bytes of disk per row in the temporary folder, and cleans up.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { sql } from "drizzle-orm";
import type { Page } from "playwright-core";
import { connect } from "../../src/db/connect.ts";
import type { Db } from "../../src/db/context.ts";
import { dayOf } from "../../src/db/days/day-table.ts";
import { migrate } from "../../src/db/migrate.ts";
import { buildConsole } from "../../tests/console/support/built-console.ts";
import { sharedBrowser } from "../../tests/console/support/chromium.ts";
import { openConsolePage } from "../../tests/console/support/console-page.ts";
import { startPostgresCluster } from "../../tests/support/servers/databases/postgres-cluster.ts";
import { startMeasured } from "../load/measured-process.ts";
import { fillKeys, fillUsage } from "../usage/fill-usage.ts";

const { values: options } = parseArgs({
  options: { rows: { type: "string", default: "1000000" }, check: { type: "boolean" } },
});
const KEYS = 100_000;
const USERS = 10_000;
const ROUNDS = 5;
const SCROLL_MS = 5_000;
const PASSWORD = "bench-0123456789";
/** The goals: milliseconds to the first rows, of a task while somebody types, and of a frame; rows in the document. */
const GOALS = { firstRows: 500, task: 50, frame: 20, rows: 60 };

/** The pages by their names in the navigation, with what is typed into their filter. */
const LISTS = [
  { page: "API keys", typed: "person key 99" },
  { page: "Users", typed: "person 999" },
  { page: "Requests", typed: "req_none" },
  { page: "Usage", typed: undefined },
] as const;

interface Figures {
  /** Medians over the rounds, except for the longest task. */
  readonly firstRows: number;
  readonly task: number;
  readonly frame: number;
  readonly rows: number;
}

const folder = mkdtempSync(join(tmpdir(), "console-lists-"));
const tidy: (() => Promise<unknown>)[] = [
  () => Promise.resolve(rmSync(folder, { recursive: true, force: true })),
];

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

async function run(): Promise<void> {
  const cluster = await startPostgresCluster();
  if (cluster === undefined) throw new Error("this needs PostgreSQL");
  tidy.push(cluster.remove);
  const driver = { max: 2, idle_timeout: 5 };
  const database = connect({ kind: "postgres", url: cluster.url, waitMs: 10_000, driver });
  tidy.push(database.close);
  await Promise.all([migrate(database), buildConsole()]);
  await fill(database.db);
  const url = await startGateway(cluster.url);
  const browser = await sharedBrowser();
  tidy.push(() => browser.close());
  const stage: Parameters<typeof openConsolePage>[0] = {
    url,
    async signIn(context) {
      const data = { username: "admin", password: PASSWORD };
      await context.request.post(`${url}/api/auth/login`, { data });
    },
  };
  say("list         first rows ms   longest task ms   frame p95 ms   rows in the document");
  for (const list of LISTS) {
    const shown = await openConsolePage(stage, { role: "administrator" });
    // What tsx marks functions with is not there in a page.
    await shown.page.addInitScript("globalThis.__name ??= (each) => each");
    const figures = await measure(list, shown.page, () => shown.open("license"));
    await shown.close();
    report(list.page, figures);
  }
}

/** Fills with fsync off; the measurements run with it on. */
async function fill(db: Db): Promise<void> {
  await db.execute(sql`alter system set fsync = off`);
  await db.execute(sql`select pg_reload_conf()`);
  await fillUsage(db, dayOf(Date.now()), Number(options.rows));
  await fillKeys(db);
  await db.execute(sql`
    insert into users (id, username, role)
    select 'usr_p' || lpad(n::text, 21, '0'), 'person ' || n, 'user' from generate_series(1, ${USERS}::int) as n`);
  await db.execute(sql`
    insert into api_keys (id, name, key_hash, last_four, owner_id, change_seq)
    select 'key_p' || lpad(n::text, 21, '0'), 'person key ' || n, 'person ' || n, '0000',
      'usr_p' || lpad((n % ${USERS}::int + 1)::text, 21, '0'), 0
    from generate_series(1, ${KEYS}::int) as n`);
  await db.execute(sql`alter system reset all`);
  await db.execute(sql`select pg_reload_conf()`);
  say(`${options.rows} usage rows, ${KEYS} keys, ${USERS} users`);
}

async function startGateway(databaseUrl: string): Promise<string> {
  const onBun = process.versions["bun"] !== undefined;
  const server = await startMeasured(
    {
      name: "gateway",
      command: process.execPath,
      args: onBun ? ["src/main.ts"] : ["--import", "tsx", "src/main.ts"],
      env: {
        ...{ HOST: "127.0.0.1", PORT: "0", DATA_DIR: folder, DATABASE_URL: databaseUrl },
        ...{ ADMIN_PASSWORD: PASSWORD, LLM_BACKEND: "vllm", LLM_BASE_URL: "http://127.0.0.1:9" },
      },
      ready: /"url":"http:\/\/127\.0\.0\.1:(\d+)"/,
    },
    folder,
  );
  tidy.push(server.stop);
  return `http://127.0.0.1:${server.port}`;
}

/** Each round begins with a page loaded anew, so that nothing is in the page's memory. */
async function measure(
  { page: name, typed }: (typeof LISTS)[number],
  page: Page,
  reload: () => Promise<void>,
): Promise<Figures> {
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    await reload();
    times.push(await page.evaluate(openList, name));
  }
  const typing = page.evaluate(longestTask, typed === undefined);
  if (typed !== undefined) {
    await page.getByRole("searchbox").focus();
    await page.keyboard.type(typed, { delay: 60 });
    await page.evaluate(() => window.dispatchEvent(new Event("bench-typed")));
  }
  const task = await typing;
  if (typed !== undefined) await page.getByRole("searchbox").fill("");
  await page.locator("[data-index='0']").waitFor();
  const { frames, rows } = await page.evaluate(scrollThrough, SCROLL_MS);
  return {
    firstRows: quantile(times, 0.5),
    task,
    frame: quantile(frames, 0.95),
    rows,
  };
}

/** Runs in the page: follows a link of the navigation, and resolves with the milliseconds until rows are painted. */
function openList(name: string): Promise<number> {
  const links = [...document.querySelectorAll<HTMLAnchorElement>("nav a")];
  const link = links.find((each) => each.textContent?.startsWith(name));
  const from = performance.now();
  link?.click();
  return new Promise((resolve) => {
    const look = () => {
      if (document.querySelector("[data-index='0']") === null) requestAnimationFrame(look);
      else requestAnimationFrame(() => resolve(performance.now() - from));
    };
    look();
  });
}

/** Runs in the page: the longest task until the typing is over, 0 where none took 50 ms. */
function longestTask(isOver: boolean): Promise<number> {
  if (isOver) return Promise.resolve(0);
  let longest = 0;
  const observer = new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) longest = Math.max(longest, duration);
  });
  observer.observe({ type: "longtask" });
  return new Promise((resolve) => {
    // What was typed last has been asked for and shown by then.
    window.addEventListener("bench-typed", () => setTimeout(() => resolve(longest), 2_000));
  });
}

/** Runs in the page: scrolls as fast as frames come, through as many pages of the server as come with it. */
function scrollThrough(forMs: number): Promise<{ frames: number[]; rows: number }> {
  const scroller = document.querySelector<HTMLElement>("[data-rows]");
  const frames: number[] = [];
  let rows = 0;
  const from = performance.now();
  let last = from;
  return new Promise((resolve) => {
    const step = (now: number) => {
      frames.push(now - last);
      last = now;
      rows = Math.max(rows, document.querySelectorAll("[data-index]").length);
      scroller?.scrollBy(0, 120);
      if (now - from < forMs) requestAnimationFrame(step);
      else resolve({ frames: frames.slice(1), rows });
    };
    requestAnimationFrame(step);
  });
}

function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((one, other) => one - other);
  return sorted[Math.ceil(share * sorted.length) - 1] ?? Number.NaN;
}

function report(name: string, figures: Figures): void {
  const { firstRows, task, frame, rows } = figures;
  const shownTask = task === 0 ? "< 50" : task.toFixed(0);
  const texts = [firstRows.toFixed(0).padStart(15), shownTask.padStart(18)];
  say(
    `${name.padEnd(11)}${texts.join("")}${frame.toFixed(1).padStart(15)}${String(rows).padStart(23)}`,
  );
  const missed = Object.entries(GOALS).filter(
    ([goal, most]) => figures[goal as keyof Figures] > most,
  );
  for (const [goal, most] of missed) say(`  over the goal: ${goal} at most ${most}`);
  if (options.check && missed.length > 0) process.exitCode = 1;
}

try {
  await run();
} finally {
  for (const end of tidy.reverse()) await end();
}
