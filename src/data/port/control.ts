import type { Admission } from "../principal.ts";
import type { FromProcess, Statement } from "../process/process-messages.ts";

/** What the data process asks and tells the server, over its own input and output. */
export interface Control {
  /** Asks who has this secret. Rejects when the server is gone. */
  readonly login: (secret: string, address: string) => Promise<Admission>;
  readonly statement: (statement: Statement) => void;
  /** Counts a connection that was refused or ended for a fault of the client. */
  readonly refused: (code: string) => void;
  /** Reports the number of open connections of clients. */
  readonly connections: (open: number) => void;
  readonly log: (
    level: Extract<FromProcess, { type: "log" }>["level"],
    text: string,
    fields?: Extract<FromProcess, { type: "log" }>["fields"],
  ) => void;
  /** Calls the listener when connections must end: of these principals, or of all. */
  readonly onEnd: (
    listener: (principalIds: readonly string[] | "all", reason: string) => void,
  ) => void;
  /** Calls the listener with how late the server is while clients call it, and with null when they have stopped. */
  readonly onCalls: (listener: (lateMs: number | null) => void) => void;
  /**
   * Ends this process, because a turn on the embedded copy cannot be ended otherwise. The server starts another one at
   * once.
   */
  readonly exitForTurn: () => void;
}
