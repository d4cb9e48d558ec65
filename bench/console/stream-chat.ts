import type { ConsolePage } from "../../tests/console/support/console-page.ts";
import { atMost, type Goal } from "../comparison/goals.ts";
import { type ConsoleBench, MODEL } from "./console-bench.ts";
import { type LongText, writeLongChat, writeLongText } from "./long-texts.ts";
import { type AnswerFigures, watchAnswer } from "./watch-answer.ts";
import { openWholeAnswers } from "./whole-answers.ts";

const MESSAGES = 50;
const TOKENS_PER_SECOND = 200;

/** An answer that comes fast, in a chat of many long messages. */
export async function measureStream(
  bench: ConsoleBench,
  seconds: number,
): Promise<readonly Goal[]> {
  const figures = await streamInChat(bench, writeLongText(seconds * TOKENS_PER_SECOND));
  print(`${TOKENS_PER_SECOND} tokens/s for ${seconds} s in a chat of ${MESSAGES} long messages`, {
    console: figures,
  });
  const share = (100 * figures.scriptSeconds) / figures.seconds;
  return [
    atMost(`${TOKENS_PER_SECOND} tokens/s, scripts, % of a core`, 15, share),
    atMost("the same, longest task, ms", 100, figures.longestTask),
    atMost("the same, text behind the engine at most, ms", 150, figures.behind.most),
  ];
}

/** The same answer, shown by the console and by a page that reads and draws all of it at each chunk. */
export async function measureWholeAnswers(
  bench: ConsoleBench,
  seconds: number,
): Promise<readonly Goal[]> {
  const long = writeLongText(seconds * TOKENS_PER_SECOND);
  const own = await streamInChat(bench, long);
  const whole = await openWholeAnswers(bench);
  const other = await watchAnswer(bench, {
    ...{ page: whole.page, long, tokensPerSecond: TOKENS_PER_SECOND },
    ask: () => whole.ask(MODEL),
  });
  await whole.close();
  print(`the same answer of ${long.tokens} tokens`, { console: own, "whole answers": other });
  const ratio = own.scriptSeconds / other.scriptSeconds;
  return [atMost("script time to that of drawing the whole answer at each chunk", 0.25, ratio)];
}

async function streamInChat(bench: ConsoleBench, long: LongText): Promise<AnswerFigures> {
  const document = writeLongChat(MESSAGES, MODEL);
  const { id } = await bench.call("POST", "/api/chats", { document, replaces: [] });
  const tab = await bench.openTab();
  await tab.open(`chat/${id}`);
  const figures = await watchAnswer(bench, {
    ...{ page: tab.page, long, tokensPerSecond: TOKENS_PER_SECOND },
    ask: () => askInChat(tab),
  });
  await tab.close();
  await bench.call("DELETE", `/api/chats/${id}`);
  return figures;
}

async function askInChat({ page }: ConsolePage): Promise<void> {
  // To look for a role takes the page 80 ms in a chat as long as this one, and would count as its own task.
  const composer = page.locator("textarea[aria-label=Message]");
  await composer.fill("Tell me all of it.");
  await composer.press("Enter");
}

function print(title: string, of: Readonly<Record<string, AnswerFigures>>): void {
  const heads = [
    "seconds",
    "script s",
    "layout s",
    "all tasks s",
    "longest ms",
    "behind p50",
    "behind most",
  ];
  console.log(`\n${title}\n${"".padEnd(16)}${heads.map((head) => head.padStart(13)).join("")}`);
  for (const [name, figures] of Object.entries(of)) {
    const { seconds, scriptSeconds, layoutSeconds, taskSeconds, longestTask, behind } = figures;
    const cells = [
      ...[seconds, scriptSeconds, layoutSeconds, taskSeconds].map((value) => value.toFixed(1)),
      longestTask === 0 ? "< 50" : longestTask.toFixed(0),
      ...[behind.median, behind.most].map((value) => value.toFixed(0)),
    ];
    console.log(`${name.padEnd(16)}${cells.map((cell) => cell.padStart(13)).join("")}`);
  }
}
