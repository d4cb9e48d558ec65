import type { FunctionCatalog } from "../../lib/sql-gate/postgres/function-catalog.ts";
import type { Principal, UpstreamLogin } from "../principal.ts";

/** The PostgreSQL that principals read from: a server, or the embedded copy. */
export interface Engine {
  /**
   * Opens a session of a principal. Its role reads the views of the principal and nothing else, its `search_path` is
   * `data`, and its transactions only read. Rejects with an `EngineRefusal`.
   */
  readonly open: (request: OpenSession, receiver: SessionReceiver) => Promise<EngineSession>;
  readonly close: () => Promise<void>;
}

export interface OpenSession {
  readonly principal: Principal;
  /** Null on the embedded copy. */
  readonly login: UpstreamLogin | null;
  /** Statements of one name take turns with each other; the principal's id by default. */
  readonly turnKey?: string;
  /** What the client sent at its start, such as `application_name`, `client_encoding`, `DateStyle` or `TimeZone`. */
  readonly parameters: ReadonlyMap<string, string>;
}

/** What becomes of a session's messages. */
export interface SessionReceiver {
  /**
   * Takes bytes of the backend's messages as they come, cut anywhere; valid only during the call. While it returns
   * false the session pauses, until `resume`.
   */
  readonly bytes: (bytes: Buffer) => boolean;
  /** What was sent had to wait for its turn, and is being worked on now. */
  readonly began: () => void;
  /** The session is over without `close`. `code` is the SQLSTATE to tell the client, such as 57P01. */
  readonly ended: (code: string, message: string) => void;
}

/** A session that has logged in. It speaks PostgreSQL's protocol 3.0, with what stands after ReadyForQuery. */
export interface EngineSession {
  /** The ParameterStatus values of its start. */
  readonly parameters: ReadonlyMap<string, string>;
  /** The functions of this database, for the gate. */
  readonly catalog: FunctionCatalog;
  /** Sends whole frontend messages that have passed the gate. False: wait for `drained` before more. */
  readonly send: (messages: Buffer) => boolean;
  readonly drained: () => Promise<void>;
  /** Whether what was sent waits for its turn: `began` tells when it comes. */
  readonly isWaiting: boolean;
  /** Nothing that was sent is still to be answered, so others may have their turn. */
  readonly rest: () => void;
  /**
   * A statement that takes the session's place again, after the client has given up all locks of its session. Null where
   * places are no locks.
   */
  readonly takePlace: string | null;
  /** The receiver takes bytes again. */
  readonly resume: () => void;
  /** Cancels the statement in progress, if any: its error, 57014, comes as bytes. */
  readonly cancel: () => void;
  /** Ends the session, whatever it does. */
  readonly close: () => void;
}

/** Why no session could be opened, for the client. */
export class EngineRefusal extends Error {
  /** SQLSTATE: 53300 for too many connections, 57P03 while the database is away, 28000 else. */
  readonly code: string;
  readonly hint: string | undefined;

  constructor(code: string, message: string, hint?: string) {
    super(message);
    this.name = "EngineRefusal";
    this.code = code;
    this.hint = hint;
  }
}
