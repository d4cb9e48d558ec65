import { isUtf8 } from "node:buffer";
import type { EngineSession } from "../engine.ts";
import type { CheckText, PortRefusal, PortStatementKind } from "../gate/statement-gate.ts";
import type { ServerError } from "../protocol/backend-messages.ts";
import { FieldReader, message } from "../protocol/fields.ts";
import { parse, query, readParse } from "../protocol/frontend-messages.ts";
import { ProtocolFault } from "../protocol/message-reader.ts";
import type { Answers, Expected } from "./answers.ts";
import { KeptNames, type KnownText, type UnlocksSession } from "./kept-names.ts";
import { MAX_LOGGED_CHARACTERS } from "./session-limits.ts";

export interface RequestsOptions {
  readonly engine: EngineSession;
  readonly answers: Answers;
  readonly check: CheckText;
  /** The most that the client may set as its statement_timeout. */
  readonly timeoutSeconds: number;
  /** Sends bytes to the database, in order. */
  readonly send: (bytes: Buffer) => void;
  /** The gate failed by itself. */
  readonly failed: (thrown: unknown) => void;
}

/** What a client may send: Query, Parse, Bind, Describe, Execute, Close, Flush, Sync, Terminate. */
export const REQUEST_TYPES = "QPBDECHSX";
/** Cannot be parsed, so the database fails as for a statement of the client: in its order, and with its transaction. */
const REFUSED_TEXT = "The gateway refused a statement";
const NOT_UTF8: PortRefusal = {
  code: "22021",
  message: "The statement is not valid UTF-8.",
  hint: "Set the client's encoding (client_encoding, PGCLIENTENCODING) to UTF8.",
};
const UNCHECKED: PortRefusal = {
  code: "58000",
  message: "The statement could not be checked, so it did not run.",
  hint: "Send it again; if that fails too, write it in another way.",
};

/**
 * Takes the messages of a client after its start: texts go through the gate, everything else passes. What is refused
 * reaches the database as a text that fails, and its error becomes the refusal: so answers keep their order, what
 * follows is skipped up to Sync, and a transaction block fails as it would by itself.
 */
export class Requests {
  readonly #options: RequestsOptions;
  readonly #names = new KeptNames();
  /** True after a message whose effects last until Sync. */
  isBeforeSync = false;
  /** How often the session gave up its locks, and so its place on the database server. */
  #losses = 0;
  /** Those after which it has its place again. */
  #regained = 0;
  /** A statement that was prepared gives up all locks, and may be run by its name. */
  #hasPreparedUnlock = false;

  constructor(options: RequestsOptions) {
    this.#options = options;
  }

  /**
   * Handles one message after another. Resolves with true when the client takes its leave. Rejects with a ProtocolFault
   * for a message that is not what its type says.
   */
  async handle(type: string, body: Buffer): Promise<boolean> {
    if (type === "X") return true;
    if (type === "S") this.#sync(body);
    else if (this.#options.answers.isSkipping) return false;
    else if (type === "Q") await this.#query(body);
    else if (type === "P") await this.#parse(body);
    else this.#pass(type, body);
    return false;
  }

  #sync(body: Buffer): void {
    this.isBeforeSync = false;
    this.#send("S", body, { kind: "sync", text: "" });
    this.#keepPlace();
  }

  /**
   * Takes the place again that the client gives up before. It does not see the answer. In a transaction that has failed
   * this fails as well, so it is sent after each message until it succeeds.
   */
  #keepPlace(): void {
    const { takePlace } = this.#options.engine;
    const losses = this.#losses;
    if (this.#regained === losses || takePlace === null) return;
    const succeeded = () => {
      this.#regained = losses;
    };
    this.#expect({ kind: "query", text: "", own: { succeeded } });
    this.#options.send(query(takePlace));
  }

  #runs({ unlocks }: KnownText): void {
    const isLoss = unlocks === "yes" || (unlocks === "by name" && this.#hasPreparedUnlock);
    if (isLoss) this.#losses += 1;
  }

  async #query(body: Buffer): Promise<void> {
    const fields = new FieldReader(body);
    const sql = fields.text();
    // The database would read only what stands before a NUL, as the gate does.
    if (!fields.isAtEnd) throw new ProtocolFault("A Query message continues after its text.");
    const { refusal, ...known } = await this.#check(sql, body);
    const { text } = known;
    if (this.#options.answers.isSkipping) return;
    this.isBeforeSync = false;
    if (refusal === undefined) {
      this.#runs(known);
      this.#send("Q", body, { kind: "query", text });
      this.#keepPlace();
    } else {
      this.#expect({ kind: "query", text, refusal });
      this.#options.send(query(REFUSED_TEXT));
    }
  }

  async #parse(body: Buffer): Promise<void> {
    const { name, sql } = readParse(body);
    const { refusal, ...known } = await this.#check(sql, body);
    const { text } = known;
    const { answers } = this.#options;
    if (answers.isSkipping) return;
    this.isBeforeSync = true;
    if (refusal === undefined) {
      this.#names.parsed(name, known);
      this.#hasPreparedUnlock ||= known.unlocks === "yes";
      this.#send("P", body, { kind: "parse", text });
    } else {
      this.#expect({ kind: "parse", text, refusal });
      this.#options.send(parse("", REFUSED_TEXT));
      answers.isSkipping = true;
    }
  }

  #pass(type: string, body: Buffer): void {
    this.isBeforeSync = true;
    const fields = new FieldReader(body);
    if (type === "H") {
      if (this.#options.answers.count > 0) this.#options.send(message(type, body));
    } else if (type === "B") {
      const [portal, statement] = [fields.text(), fields.text()];
      this.#names.bound(portal, statement);
      this.#send(type, body, { kind: "bind", text: this.#names.statement(statement).text });
    } else if (type === "E") {
      const portal = this.#names.portal(fields.text());
      // The most rows. The embedded copy reads it too, where a fault would be one of all its sessions.
      fields.int32();
      this.#runs(portal);
      this.#send(type, body, { kind: "execute", text: portal.text, portal });
    } else {
      const [kind, name] = [fields.byte(), fields.text()];
      if (type === "C") this.#names.closed(kind, name);
      this.#send(type, body, { kind: type === "C" ? "close" : "describe", text: "" });
    }
  }

  async #check(sql: string, body: Buffer): Promise<KnownText & { readonly refusal?: ServerError }> {
    if (!isUtf8(body.subarray(0, body.lastIndexOf(0)))) {
      return { text: "-- not UTF-8", unlocks: "no", refusal: toError(NOT_UTF8) };
    }
    try {
      const { check, engine, timeoutSeconds } = this.#options;
      const verdict = await check(sql, engine.catalog, { timeoutSeconds });
      const text = verdict.normalized.slice(0, MAX_LOGGED_CHARACTERS);
      if (verdict.refusal === undefined) return { text, unlocks: unlocksOf(verdict.statements) };
      return { text, unlocks: "no", refusal: toError(verdict.refusal) };
    } catch (thrown) {
      this.#options.failed(thrown);
      return { text: "-- not checked", unlocks: "no", refusal: toError(UNCHECKED) };
    }
  }

  #send(type: string, body: Buffer, expected: Omit<Expected, "portal"> & Partial<Expected>): void {
    this.#expect(expected);
    this.#options.send(message(type, body));
  }

  #expect(expected: Omit<Expected, "portal"> & Partial<Expected>): void {
    this.#options.answers.expect({ portal: { text: "", rows: 0, bytes: 0 }, ...expected });
  }
}

function unlocksOf(statements: readonly PortStatementKind[]): UnlocksSession {
  if (statements.includes("discard")) return "yes";
  return statements.includes("execute") || statements.includes("fetch") ? "by name" : "no";
}

const toError = (refusal: PortRefusal): ServerError => ({ severity: "ERROR", ...refusal });
