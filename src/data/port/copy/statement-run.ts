import { errorResponse, type ServerError } from "../protocol/backend-messages.ts";
import { int16, message, text } from "../protocol/fields.ts";
import { bind, describePortal, execute, parse } from "../protocol/frontend-messages.ts";
import { hasError, moveErrors, readPortalAnswer, readTag, without } from "./answers.ts";
import { recallFor } from "./recall-statements.ts";
import type { Runner } from "./runner.ts";
import { adaptToCopy, refuseOnCopy, splitQuery, UnreadText } from "./split-query.ts";

/** Rows of a portal's first go; the next ones bring about `GO_BYTES`. */
const FIRST_ROWS = 50;
const GO_BYTES = 256 * 1024;
const GO_ROWS_MAX = 10_000;
const COUNTED_TAG = /^(SELECT|FETCH) (\d+)$/;

/** Runs a text of one or several statements as one transaction. False after an error. */
export async function runText(runner: Runner, sql: string): Promise<boolean> {
  runner.memory.forget("");
  return refuseUnread(runner, () => runParts(runner, sql));
}

/** Runs what reads texts, and refuses one that cannot be read. */
export async function refuseUnread(runner: Runner, work: () => Promise<boolean>): Promise<boolean> {
  try {
    return await work();
  } catch (thrown) {
    if (thrown instanceof UnreadText) return fail(runner, thrown.refusal);
    throw thrown;
  }
}

async function runParts(runner: Runner, sql: string): Promise<boolean> {
  for (const part of await splitQuery(sql)) {
    const refusal = await refuseOnCopy(part.sql);
    if (refusal !== undefined) return fail(runner, refusal);
    runner.memory.noteText(part.sql);
    const ready = await recallFor(runner, part.sql);
    if (ready === undefined) return false;
    const described = await runner.execute(
      Buffer.concat([
        parse("", await adaptToCopy(ready.sql)),
        ...[bind("", "", []), describePortal("")],
      ]),
    );
    // The client of a text knows neither Parse nor Bind.
    const shown = moveErrors(without(described, "12n"), part.at);
    if (shown.length > 0) await runner.emit(shown);
    if (hasError(described)) return false;
    ready.taken();
    if (!(await runPortal(runner, { portal: "", maxRows: 0, at: part.at }))) return false;
  }
  return true;
}

interface PortalRun {
  readonly portal: string;
  /** 0 for all. */
  readonly maxRows: number;
  /** Characters of the client's text before the statement. */
  readonly at: number;
}

/**
 * Runs a portal in goes of a few rows, so that nobody holds a result whole. The client sees one run. False after an
 * error.
 */
export async function runPortal(
  runner: Runner,
  { portal, maxRows, at }: PortalRun,
): Promise<boolean> {
  let rows = 0;
  let perGo = FIRST_ROWS;
  for (;;) {
    const stop = runner.reasonToStop();
    if (stop !== undefined) return fail(runner, stop);
    const count = maxRows === 0 ? perGo : Math.min(perGo, maxRows - rows);
    const answer = readPortalAnswer(await runner.execute(execute(portal, count)));
    if (answer === undefined) throw new Error("The embedded copy did not end a statement.");
    const { rest, end, endBody } = answer;
    if (end === "E") {
      const error = moveErrors(message("E", endBody), at);
      await runner.emit(Buffer.concat([rest, error]));
      return false;
    }
    if (end !== "s") {
      await complete(runner, { rest, end, endBody, rows });
      return true;
    }
    rows += count;
    if (rows === maxRows) {
      runner.finished();
      await runner.emit(Buffer.concat([rest, message("s")]));
      return true;
    }
    perGo = nextGo(count, rest.length);
    await runner.emit(rest);
  }
}

interface Completed {
  readonly rest: Buffer;
  readonly end: "C" | "I";
  readonly endBody: Buffer;
  /** Rows of the goes before. */
  readonly rows: number;
}

async function complete(runner: Runner, { rest, end, endBody, rows }: Completed): Promise<void> {
  const tag = end === "C" ? readTag(endBody) : "";
  runner.memory.note(tag);
  // The database is its superuser after it, so this comes before anything else of the client.
  const reports = tag === "DISCARD ALL" ? [await runner.becomeReader()] : [];
  // It may have been RESET ALL.
  if (tag === "RESET") await runner.setAgain();
  runner.finished();
  const ended = message(end, rows > 0 ? sumOf(tag, rows) : endBody);
  await runner.emit(Buffer.concat([rest, ended, ...reports]));
}

/** The tag of a run in several goes: the database counts the rows of the last one alone. */
function sumOf(tag: string, rowsBefore: number): Buffer {
  return text(tag.replace(COUNTED_TAG, (_, verb, rows) => `${verb} ${rowsBefore + Number(rows)}`));
}

function nextGo(rows: number, bytes: number): number {
  const wanted = Math.floor((rows * GO_BYTES) / Math.max(bytes, 1));
  return Math.max(1, Math.min(wanted, rows * 4, GO_ROWS_MAX));
}

/** Ends a statement with an error of ours, as one of the database would: its transaction fails too. */
export async function fail(runner: Runner, error: ServerError): Promise<false> {
  const nowhere = message(
    "B",
    text(""),
    text("no such statement\u0001"),
    int16(0),
    int16(0),
    int16(0),
  );
  await runner.execute(nowhere);
  runner.finished();
  await runner.emit(errorResponse(error));
  return false;
}
