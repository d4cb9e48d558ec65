import type { ChatEvent, ToolRun } from "../../core/chat/chat-event.ts";
import type { ToolCallPart, ToolMessage } from "../../core/chat/chat-request.ts";
import { limitWork } from "../../lib/concurrency.ts";
import type { Clock } from "../../lib/time/clock.ts";
import { cutResult, failed, runTool, type ToolLimits } from "../../tools/run-tool.ts";
import type { Tool, ToolContext, ToolResult } from "../../tools/tool.ts";
import { type GivenPassages, renderPassages } from "./given-passages.ts";

/**
 * Whether a tool may be called: `unknown` was never offered, `withdrawn` was, but the key, the assistant or the tool has
 * been changed since. `unchecked`: the rights of this moment cannot be read. Otherwise it comes with the caller and the
 * assistant of this moment.
 */
export type FoundTool =
  | "unknown"
  | "withdrawn"
  | "unchecked"
  | (Pick<ToolContext, "caller" | "assistant"> & { readonly tool: Tool });

export interface CallRunner {
  /** Returns a tool that the model was offered as it may be used now. */
  readonly find: (name: string) => FoundTool | Promise<FoundTool>;
  readonly context: Pick<ToolContext, "signal" | "origin">;
  readonly limits: ToolLimits;
  readonly clock: Clock;
  readonly passages: GivenPassages;
  /** Returns an id for a run, unique in the answer. */
  readonly nextId: () => string;
}

const SIDE_BY_SIDE = 8;
/** Bytes of the arguments and of the result of a run that a session is shown. */
const SHOWN_BYTES = 4_096;

/**
 * Runs the calls of one turn. Yields an event when a call begins and when it ends, and returns the results in the order
 * of the calls. Neighbouring calls that only read run side by side, others by themselves in their order. A call beyond
 * `left` is refused. Rejects only when the call is aborted.
 */
export async function* runCalls(
  runner: CallRunner,
  calls: readonly ToolCallPart[],
  left: number,
): AsyncGenerator<readonly ChatEvent[], readonly ToolMessage[]> {
  const ending = new AbortController();
  const events: ChatEvent[] = [];
  let wake: () => void = () => undefined;
  const report = (run: ToolRun) => {
    events.push({ type: "tool-run", run });
    wake();
  };
  const { signal: whole } = runner.context;
  const leave = () => ending.abort(whole.reason);
  if (whole.aborted) leave();
  else whole.addEventListener("abort", leave, { once: true });
  const own = { ...runner, context: { ...runner.context, signal: ending.signal } };
  let isOver = false;
  const running = runAll(own, calls, { left, report }).finally(() => {
    isOver = true;
    wake();
  });
  // It is awaited below, unless the reader has left.
  running.catch(() => undefined);
  try {
    while (!isOver || events.length > 0) {
      if (events.length > 0) yield events.splice(0);
      else {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    }
    return await running;
  } finally {
    // The reader may have left while calls run.
    whole.removeEventListener("abort", leave);
    ending.abort();
  }
}

interface Running {
  readonly left: number;
  readonly report: (run: ToolRun) => void;
}

async function runAll(
  runner: CallRunner,
  calls: readonly ToolCallPart[],
  { left, report }: Running,
): Promise<readonly ToolMessage[]> {
  const gate = limitWork({
    running: SIDE_BY_SIDE,
    waiting: calls.length,
    refusal: () => new Error("more calls wait than there are"),
  });
  const results: Promise<ToolResult>[] = [];
  for (const [index, call] of calls.entries()) {
    const found = await runner.find(call.name);
    const isReading = typeof found === "object" && found.tool.level === "read_only";
    if (!isReading) await Promise.all(results);
    const result = gate(() => runOne(runner, call, index < left ? report : undefined));
    // All are awaited in the end; one that is aborted earlier is no unhandled rejection.
    result.catch(() => undefined);
    results.push(result);
    if (!isReading) await result;
  }
  const ended = await Promise.all(results);
  // Passages are numbered in the order of the calls, whichever ended first.
  return calls.map(({ callId }, index) => toMessage(runner, callId, ended[index] ?? failed("")));
}

/** @param report is undefined for a call that is one too many. */
async function runOne(
  { find, context, limits, clock, nextId }: CallRunner,
  { name, arguments: args }: ToolCallPart,
  report: Running["report"] | undefined,
): Promise<ToolResult> {
  if (report === undefined) {
    return failed("This answer has used up its tool calls. Answer with what is known so far.");
  }
  // Only now: the calls before it may have taken long.
  const found = await find(name);
  if (found === "unknown") return failed(`Tool '${name.slice(0, 64)}' does not exist.`);
  if (found === "withdrawn") return failed(`Tool '${name}' is no longer allowed.`);
  if (found === "unchecked") {
    return failed(`Tool '${name}' was not run: the rights of the user cannot be checked now.`);
  }
  const { tool, ...rights } = found;
  const id = nextId();
  const startedAt = clock.now();
  // A key's client is told no more than before: it need not show what its user may not see.
  const isShown = rights.caller.kind === "session";
  const shownArguments = isShown && { arguments: cutResult(args, SHOWN_BYTES) };
  report({ id, name, status: "running", ...shownArguments });
  const result = await runTool(tool, args, { ...context, ...rights }, limits);
  const durationMs = Math.max(0, clock.now() - startedAt);
  const status = result.isError === true ? "error" : "ok";
  const shownResult = isShown && { result: cutResult(result.text, SHOWN_BYTES) };
  report({ id, name, status, durationMs, ...shownArguments, ...shownResult });
  return result;
}

function toMessage(
  { passages, limits }: CallRunner,
  callId: string,
  { text: own, isError, passages: found = [] }: ToolResult,
): ToolMessage {
  const text = found.length > 0 ? renderFound(passages, found, limits.maxResultBytes) : own;
  return { role: "tool", callId, content: [{ type: "text", text }], ...(isError && { isError }) };
}

/** Renders as many of the passages as fit into a result, at least one. */
function renderFound(
  given: GivenPassages,
  found: NonNullable<ToolResult["passages"]>,
  maxBytes: number,
): string {
  let bytes = 0;
  const fitting = found.filter(({ text }, index) => {
    bytes += Buffer.byteLength(text);
    return index === 0 || bytes <= maxBytes;
  });
  return renderPassages(given.add(fitting));
}
