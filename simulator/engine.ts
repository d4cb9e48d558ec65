import type { Call, Handler } from "./call.ts";
import type { EngineError } from "./engine-error.ts";
import type { HttpRequest } from "./http/request-reader.ts";
import type { Json } from "./json.ts";
import type { LedgerEntry } from "./ledger.ts";
import type { Model } from "./models.ts";

/** A vendor's server: its endpoints, and its errors for requests that reach no endpoint. */
export interface Engine {
  /** The models it serves by default. */
  readonly models: readonly Model[];
  readonly find: (method: string, path: string) => Handler | undefined;
  /** Returns the model that a request names; scripts match it and the ledger records it. */
  readonly modelOf: (path: string, body: Json | undefined) => string | undefined;
  /** Returns the headers of every answer. */
  readonly headers: (entry: LedgerEntry) => Readonly<Record<string, string>>;
  /** Throws the vendor's error for a missing or wrong key. */
  readonly checkKey: (call: Call) => void;
  /** Throws the vendor's error for a wrong version or media type. */
  readonly checkHeaders: (call: Call) => void;
  readonly notFound: (request: HttpRequest, entry: LedgerEntry) => EngineError;
  /** Returns the error for a body that is not a JSON object. */
  readonly unreadable: (request: HttpRequest, entry: LedgerEntry) => EngineError;
}
