import type { ModelCatalog } from "../../backends/models/model-catalog.ts";
import type { Database } from "../../db/database.ts";
import type { Clock } from "../../lib/time/clock.ts";
import type { FollowedAssistants } from "./known-assistants.ts";

/** What the functions of this folder need. */
export interface Assistants extends Pick<FollowedAssistants, "known" | "catchUp"> {
  readonly database: Pick<Database, "ask">;
  readonly clock: Clock;
  readonly models: Pick<ModelCatalog, "find" | "list">;
  /** Whether a tool of this name exists. */
  readonly isTool: (name: string) => boolean;
}
