import type { JsonObject } from "../../lib/json.ts";
import type { ToolNames } from "./tool-names.ts";

/** What a responses request asks of the shape of its answer. */
export interface ResponsesForm {
  /** The fields of the answer that repeat the question, all of them, as the format wants them. */
  readonly repeated: JsonObject;
  /** Gives calls back under the client's own names. */
  readonly toolNames: ToolNames;
  /** The client wants `encrypted_content` of every thought, to send it back with its next question. */
  readonly sealsThoughts: boolean;
}
