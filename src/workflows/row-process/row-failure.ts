import type { WorkFailure } from "../../lib/worker/work-failure.ts";
import { StepFailure } from "../runs/run.ts";

/** Programs that are silent for long, because they work on all rows at once. */
export const OVER_SETS: ReadonlySet<string> = new Set([
  "sql",
  "sort",
  "aggregate",
  "join",
  "read_file",
]);
const SHORT: ReadonlySet<string> = new Set(["check", "evaluate", "parse", "rewrite"]);

interface FailedLimits {
  readonly timeMs: number;
  readonly silenceMs?: number | undefined;
  readonly memoryBytes: number;
}

/** The engine adds the step's name; the message names what the process did. */
export function failureOf(
  failure: WorkFailure,
  program: string,
  { timeMs, silenceMs = timeMs, memoryBytes }: FailedLimits,
): StepFailure {
  const { reason, code, message } = failure;
  const details = { cause: failure };
  switch (reason) {
    case "failed":
      // Without a code it is a fault of ours, or the end of the runtime's own limits.
      return code === null
        ? new StepFailure("row_process_crashed", `The ${program} work failed: ${message}`, details)
        : new StepFailure(code, message, details);
    case "time":
      return new StepFailure("row_process_time", timeMessage(program, timeMs, silenceMs), details);
    case "memory":
    case "output":
      return new StepFailure(
        "row_process_memory",
        `The ${program} work needed more than ${memoryBytes / 1024 / 1024} MiB of memory and was stopped. Work on smaller rows, or on fewer at once.`,
        details,
      );
    case "crashed":
      return new StepFailure(
        "row_process_crashed",
        `The process of the ${program} work ended early (${message})`,
        { ...details, isRetryable: true },
      );
    case "closed":
      return new StepFailure("row_process_crashed", "The server is stopping.", {
        ...details,
        isRetryable: true,
      });
  }
}

function timeMessage(program: string, timeMs: number, silenceMs: number): string {
  const work = `The ${program} work took more than`;
  if (SHORT.has(program))
    return `${work} ${seconds(timeMs)} s for up to 1,000 rows and was stopped. Simplify it.`;
  const inAll = `${seconds(timeMs)} s in all`;
  if (silenceMs >= timeMs)
    return `${work} ${inAll} and was stopped. Simplify it, or raise timeout_seconds.`;
  const silence = OVER_SETS.has(program)
    ? `${seconds(silenceMs)} s without passing on rows`
    : `${seconds(silenceMs)} s for up to 1,000 rows`;
  return `${work} ${inAll}, or ${silence}, and was stopped. Simplify it, or work on fewer rows; timeout_seconds raises only the time in all.`;
}

function seconds(ms: number): number {
  return Math.round(ms / 1_000);
}
