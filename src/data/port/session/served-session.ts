import type { Duplex } from "node:stream";
import type { Principal } from "../../principal.ts";
import type { Control } from "../control.ts";
import type { EngineSession, SessionReceiver } from "../engine.ts";
import type { CheckText } from "../gate/statement-gate.ts";
import type { SessionClock } from "./session-limits.ts";

export interface SessionServices {
  readonly check: CheckText;
  readonly control: Pick<Control, "statement" | "refused" | "log">;
  readonly clock: SessionClock;
}

/** A client that has logged in and has got ReadyForQuery. */
export interface SessionToServe {
  /** Paused, without a listener for data. Its errors are already listened for. */
  readonly client: Duplex;
  readonly principal: Principal;
  readonly engine: EngineSession;
  /** Names the receiver of the engine's bytes, once. What came before is held and handed over in this call. */
  readonly receive: (receiver: SessionReceiver) => void;
  /** What the client has sent after its password. */
  readonly leftover: Buffer;
}

export interface ServedSession {
  /** Resolves when the session is over, for whatever reason; also when the client is destroyed. */
  readonly done: Promise<void>;
  /** Cancels the statement in progress, if any. */
  readonly cancel: () => void;
  /** Writes a FATAL error at a message's border and closes the client. */
  readonly end: (code: string, message: string) => void;
}

/** Serves the statements of one client until it leaves. */
export type ServeSession = (session: SessionToServe) => ServedSession;
