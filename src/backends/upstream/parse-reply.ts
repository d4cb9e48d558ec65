import type { z } from "zod";
import { ServiceError } from "../../core/service-error.ts";

/** Parses an engine's reply. Throws `upstream_error` when it does not match the schema. */
export function parseReply<Schema extends z.ZodType>(
  schema: Schema,
  reply: unknown,
): z.output<Schema> {
  const parsed = schema.safeParse(reply);
  if (parsed.success) return parsed.data;
  throw new ServiceError("upstream_error", "The model server's reply has an unknown format.");
}
