import { ServiceError } from "../core/service-error.ts";
import type { JsonObject } from "../lib/json/json.ts";
import type { AuditCall, EndAudit } from "./audit-calls.ts";
import { checkArguments, readArguments } from "./check-arguments.ts";
import type { Tool, ToolContext, ToolResult } from "./tool.ts";
import type { ToolOutcome } from "./tool-figures.ts";

export interface ToolLimits {
  /** Time limit of one call. */
  readonly timeoutMs: number;
  /** Bytes of a result; the rest is cut, with a note. */
  readonly maxResultBytes: number;
  /** Receives failures whose cause is hidden from the model. */
  readonly onFailure?: ((tool: string, thrown: unknown) => void) | undefined;
  /** Receives the end of each call. */
  readonly onEnd?: ((tool: Tool, outcome: ToolOutcome) => void) | undefined;
  /** Records calls above `read_only`. A call that it rejects does not run. */
  readonly audit?: AuditCall | undefined;
}

interface AuditedLimits extends ToolLimits {
  /** Receives what the end of a call that is in the audit log must be told to. */
  readonly noteAudited: (end: EndAudit) => void;
}

/**
 * Runs one call of a tool with the arguments as the model wrote them. Failures are results with `isError`. Rejects only
 * with the reason of the call's signal, at once, whatever the tool does.
 */
export async function runTool(
  tool: Tool,
  args: string | JsonObject,
  context: ToolContext,
  limits: ToolLimits,
): Promise<ToolResult> {
  const checked = typeof args === "string" ? readArguments(tool, args) : checkArguments(tool, args);
  let outcome: ToolOutcome = "aborted";
  let endAudit: EndAudit | undefined;
  const noteAudited = (end: EndAudit) => {
    endAudit = end;
  };
  try {
    const result =
      checked.fault === undefined
        ? await runChecked(tool, checked.args, context, { ...limits, noteAudited })
        : { ...failed(checked.fault), argument: checked.argument };
    outcome = result.isError === true ? "error" : "ok";
    return result;
  } finally {
    limits.onEnd?.(tool, outcome);
    endAudit?.(outcome);
  }
}

async function runChecked(
  tool: Tool,
  args: JsonObject,
  context: ToolContext,
  limits: AuditedLimits,
): Promise<ToolResult> {
  const { timeoutMs, maxResultBytes, onFailure } = limits;
  const { signal } = context;
  signal.throwIfAborted();
  const ending = new AbortController();
  let reject: (reason: unknown) => void = () => undefined;
  const ended = new Promise<never>((_, rejectEnded) => {
    reject = rejectEnded;
  });
  const end = (reason: unknown) => {
    ending.abort(reason);
    reject(reason);
  };
  const leave = () => end(signal.reason);
  const timer = setTimeout(() => end(tookTooLong(tool, timeoutMs)), timeoutMs);
  signal.addEventListener("abort", leave, { once: true });
  try {
    const running = runAudited(tool, args, { ...context, signal: ending.signal }, limits);
    const result = await Promise.race([running, ended]);
    return { ...result, text: cutResult(result.text, maxResultBytes) };
  } catch (thrown) {
    signal.throwIfAborted();
    if (thrown instanceof ServiceError) {
      return failed(cutResult(`Tool '${tool.name}': ${thrown.message}`, maxResultBytes));
    }
    onFailure?.(tool.name, thrown);
    return failed(`Tool '${tool.name}' failed. The operator finds the cause in the log.`);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", leave);
  }
}

/** Nothing above `read_only` runs before the audit log has it. A tool that throws at once rejects too. */
async function runAudited(
  tool: Tool,
  args: JsonObject,
  context: ToolContext,
  { audit, noteAudited }: AuditedLimits,
): Promise<ToolResult> {
  if (tool.level !== "read_only" && audit !== undefined) {
    const end = await audit(tool, context);
    if (context.signal.aborted) end("aborted");
    // The caller may have left meanwhile.
    context.signal.throwIfAborted();
    noteAudited(end);
  }
  return tool.run(args, context);
}

export function failed(text: string): ToolResult {
  return { text, isError: true };
}

/**
 * Returns the text in at most so many bytes of UTF-8, with a note when it was cut; never cut inside a character. `bytes`
 * is given where the text is only the start of one with that many.
 */
export function cutResult(text: string, maxBytes: number, bytes = Buffer.byteLength(text)): string {
  if (bytes <= maxBytes) return text;
  const note = `\n[The result was cut: it has ${bytes} bytes.]`;
  const room = maxBytes - Buffer.byteLength(note);
  if (room <= 0) return wholeCharacters(text, maxBytes);
  return wholeCharacters(text, room) + note;
}

function wholeCharacters(text: string, maxBytes: number): string {
  // No character has fewer bytes than UTF-16 units, so no more of the text is needed.
  const bytes = Buffer.from(text.slice(0, maxBytes + 1));
  let end = Math.min(maxBytes, bytes.length);
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return bytes.toString("utf8", 0, end);
}

function tookTooLong({ name }: Tool, timeoutMs: number): ServiceError {
  return new ServiceError(
    "upstream_timeout",
    `The call of '${name}' took longer than ${timeoutMs} ms and was ended.`,
  );
}
