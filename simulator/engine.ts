import type { Call, Handler } from "./call.ts";
import type { EngineError } from "./engine-error.ts";
import type { HttpRequest } from "./http/request-reader.ts";
import type { Json } from "./json.ts";
import type { LedgerEntry } from "./ledger.ts";
import type { Model } from "./models.ts";

/** A vendor's server: what it serves and how it refuses what comes before any endpoint. */
export interface Engine {
  /** What it serves unless told otherwise. */
  readonly models: readonly Model[];
  readonly find: (method: string, path: string) => Handler | undefined;
  /** The model a request names; scripts and the ledger know the request by it. */
  readonly modelOf: (path: string, body: Json | undefined) => string | undefined;
  /** On every answer. */
  readonly headers: (entry: LedgerEntry) => Readonly<Record<string, string>>;
  /** Throws what the vendor answers to a missing or wrong key. */
  readonly checkKey: (call: Call) => void;
  /** Throws what the vendor answers to a wrong version or media type. */
  readonly checkHeaders: (call: Call) => void;
  readonly notFound: (request: HttpRequest, entry: LedgerEntry) => EngineError;
  /** The body is no JSON object. */
  readonly unreadable: (request: HttpRequest, entry: LedgerEntry) => EngineError;
}
