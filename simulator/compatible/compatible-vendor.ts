import type { ChatStyle } from "../chat/chat-style.ts";
import type { Figure } from "../content/compose-cloud-answer.ts";
import type { Failure } from "../content/speak.ts";
import type { EngineError } from "../engine-error.ts";
import type { Json } from "../json.ts";
import type { LedgerEntry } from "../ledger.ts";
import type { Model } from "../models.ts";

/** One cloud that says it is compatible, in its own way. */
export interface CompatibleVendor {
  /** Which models are its own. */
  readonly ids: RegExp;
  /** Throws what it refuses in a body; tells whether the model thinks. */
  readonly check: (body: Json, model: Model) => boolean;
  readonly styleOf: (entry: LedgerEntry, model: Model) => ChatStyle;
  /** What its usage has besides input and output. */
  readonly figures: readonly Figure[];
  readonly newCallId: (random: () => number) => string;
  readonly overflow: (promptTokens: number, model: Model) => EngineError;
  readonly failure: Failure;
}
