import type { JsonObject } from "../../../lib/json.ts";
import type { ToolNames } from "./tool-names.ts";

/** What a responses request asks of the shape of its answer. */
export interface ResponsesForm {
  /** The fields of the answer that repeat the question, all of them, as the format wants them. */
  readonly repeated: JsonObject;
  /** Gives calls back under the client's own names. */
  readonly toolNames: ToolNames;
  /** The client wants `encrypted_content` of every thought, to send it back with its next question. */
  readonly sealsThoughts: boolean;
  /** Keeps a whole response, so that later requests can refer to it; undefined when nothing is to be kept. */
  readonly remember?: ((requestId: string, response: ResponseText) => void) | undefined;
}

/** The JSON text of a response in three pieces: its output, and what stands around it. */
export interface ResponseText {
  readonly before: string;
  readonly output: string;
  readonly after: string;
}
