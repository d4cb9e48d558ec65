import type { Principal } from "../../principal.ts";
import type { ReadFailure, ReadRequest, Statement } from "../../process/process-messages.ts";
import type { Control } from "../control.ts";
import { type Engine, EngineRefusal } from "../engine.ts";
import type { CheckText, GateVerdict } from "../gate/statement-gate.ts";
import { type Pace, ReadingPace } from "../reading-pace.ts";
import { createReadSessions, type ReadSession } from "./read-sessions.ts";
import { RUN_LIMITS, type RunLimits, type RunResult } from "./run-limits.ts";
import { StatementRun } from "./statement-run.ts";

const LOGGED_CHARACTERS = 8 * 1024;
/** The SQLSTATE of a relation that does not exist. */
const UNDEFINED_TABLE = "42P01";

export interface ReadParts {
  readonly engine: Engine;
  readonly checkText: CheckText;
  readonly control: Pick<Control, "statement" | "onEnd">;
  readonly limits?: RunLimits;
  /** None by default. */
  readonly pace?: Pace;
}

export type ReadAnswer =
  | { readonly failure: ReadFailure }
  | {
      readonly failure?: undefined;
      readonly contentType: string;
      /** Throws `AnswerCut` after the line of an error. Returning the iterator ends the statement. */
      readonly body: AsyncGenerator<Buffer, void>;
    };

export interface StatementReader {
  /** Aborting the signal ends the statement. */
  readonly read: (request: ReadRequest, signal: AbortSignal) => Promise<ReadAnswer>;
  readonly close: () => void;
}

export function createStatementReader(parts: ReadParts): StatementReader {
  const { engine, checkText, control, limits = RUN_LIMITS, pace = new ReadingPace() } = parts;
  const sessions = createReadSessions(engine, control);
  return {
    async read(request, signal) {
      const log = statementLog(request, control);
      let held: ReadSession | undefined;
      let relations: readonly string[] | undefined;
      try {
        held = await sessions.take(request);
        if (request.via === "query") {
          const verdict = await checkText(request.sql, held.session.catalog, { isOneQuery: true });
          log.text = verdict.normalized;
          const refusal = refusalOf(verdict) ?? refuseUnseen(verdict, request.principal);
          if (refusal !== undefined) {
            held.release(true);
            log.write({ rows: 0, bytes: 0, outcome: "refused", code: refusal.code });
            return { failure: refusal };
          }
          relations = relationsOf(verdict);
        }
        const read = await answer(held, request, { signal, limits, pace, onOver: log.write });
        if (read.failure?.code !== UNDEFINED_TABLE) return read;
        return { failure: { ...read.failure, relations } };
      } catch (thrown) {
        held?.release(false);
        if (!(thrown instanceof EngineRefusal)) throw thrown;
        const { code, message, hint } = thrown;
        log.write({ rows: 0, bytes: 0, outcome: "error", code });
        return { failure: { code, message, hint } };
      }
    },
    close: sessions.close,
  };
}

async function answer(
  held: ReadSession,
  request: ReadRequest,
  given: {
    readonly signal: AbortSignal;
    readonly limits: RunLimits;
    readonly pace: Pace;
    readonly onOver: (result: RunResult) => void;
  },
): Promise<ReadAnswer> {
  const { signal, limits, pace, onOver } = given;
  const abandon = () => run.abandon();
  const run = new StatementRun(held, request, {
    ...{ limits, pace },
    onOver(result) {
      signal.removeEventListener("abort", abandon);
      onOver(result);
    },
  });
  if (signal.aborted) abandon();
  else signal.addEventListener("abort", abandon, { once: true });
  const begun = await run.begun();
  if (typeof begun !== "string") return { failure: begun };
  return { contentType: begun, body: bodyOf(run) };
}

async function* bodyOf(run: StatementRun): AsyncGenerator<Buffer, void> {
  try {
    for (let bytes = await run.take(); bytes !== undefined; bytes = await run.take()) yield bytes;
  } finally {
    run.abandon();
  }
}

/**
 * The words of the database for a view that the principal may not read would tell that it is there, and what its columns
 * are.
 */
function refuseUnseen(verdict: GateVerdict, { views }: Principal): ReadFailure | undefined {
  const unseen = relationsOf(verdict).find((name) => !views.includes(name));
  if (unseen === undefined) return undefined;
  return {
    code: UNDEFINED_TABLE,
    message: `relation "${unseen}" does not exist.`,
    hint: "GET /v1/data lists the tables that you may read.",
  };
}

const relationsOf = (verdict: GateVerdict): readonly string[] =>
  verdict.refusal === undefined ? verdict.relations : [];

/** Exactly one statement that reads. */
function refusalOf(verdict: GateVerdict): ReadFailure | undefined {
  if (verdict.refusal !== undefined) return verdict.refusal;
  const [kind, ...more] = verdict.statements;
  if (kind === undefined) return { code: "42601", message: "The text has no statement." };
  if (more.length > 0) {
    return {
      code: "42601",
      message: `The text has ${more.length + 1} statements.`,
      hint: "Send each of them by itself.",
    };
  }
  if (kind === "read" || kind === "show") return undefined;
  return {
    code: "42501",
    message: "A statement of a session does nothing here: each query has a session of its own.",
    hint: "Send SELECT, VALUES, TABLE, WITH, EXPLAIN or SHOW, or use the PostgreSQL port.",
  };
}

function statementLog(
  { principal, via, sql }: ReadRequest,
  control: Pick<Control, "statement">,
): { text: string; readonly write: (result: RunResult | Refused) => void } {
  const startedAt = Date.now();
  // A list has its values apart; a query is shown as the gate normalizes it.
  const log = {
    text: via === "list" ? sql : "",
    write: (result: RunResult | Refused) =>
      control.statement({
        ...result,
        ...{ principalId: principal.id, via, startedAt },
        text: log.text.slice(0, LOGGED_CHARACTERS),
        milliseconds: Date.now() - startedAt,
      }),
  };
  return log;
}

type Refused = Pick<Statement, "rows" | "bytes" | "outcome" | "code">;
