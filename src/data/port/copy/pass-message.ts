import { FieldReader, message } from "../protocol/fields.ts";
import { parse, readParse } from "../protocol/frontend-messages.ts";
import { hasError } from "./answers.ts";
import { recall, recallFor } from "./recall-statements.ts";
import type { Runner } from "./runner.ts";
import type { SessionMemory } from "./session-memory.ts";
import { adaptToCopy, refuseOnCopy } from "./split-query.ts";
import { fail, refuseUnread } from "./statement-run.ts";

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
  if (type === "P") return refuseUnread(runner, () => passParse(runner, body, full));
  if (!(await recall(runner, namesIn(runner.memory, type, body)))) return false;
  return pass(runner, message(type, body));
}

async function passParse(runner: Runner, body: Buffer, full: () => never): Promise<boolean> {
  const { memory } = runner;
  const { name, sql } = readParse(body);
  const refusal = await refuseOnCopy(sql);
  if (refusal !== undefined) return fail(runner, refusal);
  memory.noteText(sql);
  // A name that is taken is refused by the database.
  if (name !== "" && !(await recall(runner, [name]))) return false;
  const ready = await recallFor(runner, sql);
  if (ready === undefined) return false;
  const adapted = await adaptToCopy(ready.sql);
  const given = adapted === sql ? message("P", body) : parse(name, adapted);
  if (!(await pass(runner, given))) return false;
  ready.taken();
  if (!memory.keep(name, given)) full();
  return true;
}

async function pass(runner: Runner, given: Buffer): Promise<boolean> {
  const answer = await runner.execute(given);
  await runner.emit(answer);
  return !hasError(answer);
}

/** The statements that a Bind, a Describe or a Close needs. */
function namesIn(memory: SessionMemory, type: string, body: Buffer): string[] {
  const fields = new FieldReader(body);
  // Bind begins with the name of its portal.
  const first = type === "B" ? fields.text() : fields.byte();
  if (type !== "B" && first !== "S") return [];
  const name = fields.text();
  if (type !== "C") return [name];
  memory.forget(name);
  return [];
}
