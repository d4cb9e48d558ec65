import { FieldReader, message } from "../protocol/fields.ts";
import { parse, readParse } from "../protocol/frontend-messages.ts";
import { hasError } from "./answers.ts";
import type { SessionMemory } from "./session-memory.ts";
import { adaptToCopy, refuseOnCopy } from "./split-query.ts";
import { fail, type Runner } from "./statement-run.ts";

/**
 * Runs a Parse, Bind, Describe or Close, after the statements that it names: the database may have forgotten them since
 * the session's last turn. False after an error.
 *
 * @param full ends the session, whose statements are too large together.
 */
export async function passMessage(
  runner: Runner,
  { type, body }: { readonly type: string; readonly body: Buffer },
  full: () => never,
): Promise<boolean> {
  if (type === "P") return passParse(runner, body, full);
  return pass(runner, recalledFor(runner.memory, type, body), message(type, body));
}

async function passParse(runner: Runner, body: Buffer, full: () => never): Promise<boolean> {
  const { memory } = runner;
  const { name, sql } = readParse(body);
  const refusal = await refuseOnCopy(sql);
  if (refusal !== undefined) return fail(runner, refusal);
  const adapted = await adaptToCopy(sql);
  const given = adapted === sql ? message("P", body) : parse(name, adapted);
  memory.noteText(sql);
  const sameName = name === "" ? [] : memory.recall(name);
  const isTaken = await pass(runner, [...sameName, ...memory.recallFor(sql)], given);
  if (isTaken && !memory.keep(name, given)) full();
  return isTaken;
}

/** Statements that cannot be recalled any more fail with the message that names them. */
async function pass(runner: Runner, recalled: readonly Buffer[], given: Buffer): Promise<boolean> {
  if (recalled.length > 0) await runner.execute(Buffer.concat(recalled));
  const answer = await runner.execute(given);
  await runner.emit(answer);
  return !hasError(answer);
}

/** For Bind, Describe and Close. */
function recalledFor(memory: SessionMemory, type: string, body: Buffer): Buffer[] {
  const fields = new FieldReader(body);
  // Bind begins with the name of its portal.
  const first = type === "B" ? fields.text() : fields.byte();
  if (type !== "B" && first !== "S") return [];
  const name = fields.text();
  if (type !== "C") return memory.recall(name);
  memory.forget(name);
  return [];
}
