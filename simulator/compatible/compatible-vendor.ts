import type { ChatStyle } from "../chat/chat-style.ts";
import type { Figure } from "../content/compose-cloud-answer.ts";
import type { Failure } from "../content/speak.ts";
import type { EngineError } from "../engine-error.ts";
import type { Json } from "../json.ts";
import type { LedgerEntry } from "../ledger.ts";
import type { Model } from "../models.ts";

/** A cloud with its own variant of the compatible API. */
export interface CompatibleVendor {
  /** Matches the names of its models. */
  readonly ids: RegExp;
  /** Throws the vendor's error for an invalid body; returns whether the model thinks. */
  readonly check: (body: Json, model: Model) => boolean;
  readonly styleOf: (entry: LedgerEntry, model: Model) => ChatStyle;
  /** The usage figures it reports in addition to input and output. */
  readonly figures: readonly Figure[];
  readonly newCallId: (random: () => number) => string;
  readonly overflow: (promptTokens: number, model: Model) => EngineError;
  readonly failure: Failure;
}
