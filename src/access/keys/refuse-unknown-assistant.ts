import { and, eq, or, sql } from "drizzle-orm";
import type { AnyCaller } from "../../core/callers/caller.ts";
import { ServiceError } from "../../core/service-error.ts";
import type { Db } from "../../db/context.ts";
import { assistants } from "../../db/tables/assistants.ts";

/**
 * Rejects with `not_found` when a key is to be bound to an assistant that does not exist, or that the caller may not
 * use: binding a key grants the assistant to all who hold the key.
 */
export async function refuseUnknownAssistant(
  transaction: Db,
  { role, ownerId }: Pick<AnyCaller, "role" | "ownerId">,
  id: string | null | undefined,
): Promise<void> {
  if (id == null) return;
  const isUsable =
    role === "admin"
      ? undefined
      : or(eq(assistants.ownerId, ownerId), eq(assistants.visibility, sql`'everyone'`));
  const [found] = await transaction
    .select({ id: assistants.id })
    .from(assistants)
    .where(and(eq(assistants.id, id), isUsable));
  if (found !== undefined) return;
  throw new ServiceError("not_found", "There is no assistant of this id; see GET /v1/assistants.", {
    param: "assistant_id",
  });
}
