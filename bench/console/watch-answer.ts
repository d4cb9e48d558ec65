import type { CDPSession, Page } from "playwright-core";
import { type ConsoleBench, quantile } from "./console-bench.ts";
import type { LongText } from "./long-texts.ts";

const LOOK_MS = 500;
/** A limit against a page that never shows the end. */
const LONGEST_MS = 600_000;

/** What it cost a page to show an answer as it came. */
export interface AnswerFigures {
  readonly seconds: number;
  /** Processor time of scripts on the page's thread. */
  readonly scriptSeconds: number;
  /** Of styles and layout there. */
  readonly layoutSeconds: number;
  /** Of everything there: scripts, styles, layout, painting. */
  readonly taskSeconds: number;
  /** Milliseconds; 0 where none took 50. */
  readonly longestTask: number;
  /** How long after the engine's time for it the text was painted, in milliseconds. */
  readonly behind: { readonly median: number; readonly most: number };
}

interface AskedAnswer {
  readonly page: Page;
  readonly long: LongText;
  readonly tokensPerSecond: number;
  /** Makes the page ask. */
  readonly ask: () => Promise<void>;
}

/** Lets the engine answer with a text at its pace, and watches the page until the last of it is painted. */
export async function watchAnswer(bench: ConsoleBench, asked: AskedAnswer): Promise<AnswerFigures> {
  const { page, long, tokensPerSecond, ask } = asked;
  await bench.say({ text: long.text, tokensPerSecond });
  const tools = await page.context().newCDPSession(page);
  await tools.send("Performance.enable", { timeDomain: "threadTicks" });
  await page.evaluate(watch);
  const before = await durations(tools);
  await ask();
  const last = long.marks.length - 1;
  const until = performance.now() + LONGEST_MS;
  let found: Seen = { marks: [], longestTask: 0 };
  while ((found.marks.at(-1)?.[0] ?? -1) < last) {
    if (performance.now() > until) throw new Error("the answer did not come to its end");
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    found = await page.evaluate(read);
  }
  const after = await durations(tools);
  await tools.detach();
  const call = await bench.lastCall();
  const startedAt = call?.firstByteAt ?? Number.NaN;
  const late = found.marks.map(([mark, at]) => {
    const dueMs = ((long.marks[mark] ?? Number.NaN) * 1_000) / tokensPerSecond;
    return at - startedAt - dueMs;
  });
  return {
    seconds: after.at - before.at,
    scriptSeconds: after.script - before.script,
    layoutSeconds: after.layout - before.layout,
    taskSeconds: after.task - before.task,
    longestTask: found.longestTask,
    behind: { median: quantile(late, 0.5), most: Math.max(...late) },
  };
}

async function durations(tools: CDPSession) {
  const { metrics } = await tools.send("Performance.getMetrics");
  const of = (wanted: string) => metrics.find(({ name }) => name === wanted)?.value ?? Number.NaN;
  return {
    ...{ at: of("Timestamp"), script: of("ScriptDuration"), task: of("TaskDuration") },
    layout: of("LayoutDuration") + of("RecalcStyleDuration"),
  };
}

interface Seen {
  /** The number of each mark that was painted as the last one, with Unix milliseconds. */
  readonly marks: readonly (readonly [mark: number, at: number])[];
  readonly longestTask: number;
}

/** Runs in the page: notes when marks are painted at the end of the last answer. */
function watch(): void {
  const marks: [number, number][] = [];
  const seen = { marks, longestTask: 0 };
  Reflect.set(window, "benchSeen", seen);
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) {
      seen.longestTask = Math.max(seen.longestTask, duration);
    }
  }).observe({ type: "longtask" });
  const changed = new Set<Element>();
  const look = () => {
    for (const answer of changed) {
      const last = answer.lastElementChild;
      const blocks = [last?.previousElementSibling, last];
      const text = blocks.map((block) => (block?.textContent ?? "").slice(-600)).join("");
      const mark = Number([...text.matchAll(/§(\d+);/g)].at(-1)?.[1] ?? -1);
      if (mark <= (marks.at(-1)?.[0] ?? -1)) continue;
      marks.push([mark, performance.timeOrigin + performance.now()]);
    }
    changed.clear();
  };
  // To look for the last answer in the whole page would take longer than to draw it.
  new MutationObserver((mutations) => {
    if (changed.size === 0) requestAnimationFrame(look);
    for (const { target } of mutations) {
      const element = target instanceof Element ? target : target.parentElement;
      const answer = element?.closest(".answer");
      if (answer) changed.add(answer);
    }
  }).observe(document.body, { childList: true, characterData: true, subtree: true });
}

/** Runs in the page. */
function read(): Seen {
  return Reflect.get(window, "benchSeen") as Seen;
}
