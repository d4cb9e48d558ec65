import type { JsonObject } from "../../lib/json/json.ts";
import type { StepContext } from "../steps/step-kind.ts";
import type { RowProcess } from "./row-process.ts";

/**
 * Runs a program over the inputs of a step, and passes on what it yields. Returns the value of a condition, if the
 * program has one. Throws a `StepFailure`, or the signal's reason.
 */
export async function runProgram<Settings extends object>(
  rowProcess: Pick<RowProcess, "run">,
  context: StepContext<Settings>,
  program: string,
  settings: JsonObject = context.settings as unknown as JsonObject,
): Promise<boolean | undefined> {
  const { scope, step, inputs, signal, timeMs } = context;
  const owner = context.run.ownerId;
  const job = { program, settings, scope, onRowError: step.on_row_error };
  let value: boolean | undefined;
  for await (const result of rowProcess.run(job, inputs, { signal, timeMs, owner })) {
    if (result.kind === "condition") value = result.value;
    else await context.take(result);
  }
  return value;
}
