import type { z } from "zod";
import { ServiceError } from "../../core/service-error.ts";

/** An engine's reply in the shape it must have. Throws `upstream_error` when it has another. */
export function parseReply<Schema extends z.ZodType>(
  schema: Schema,
  reply: unknown,
): z.output<Schema> {
  const parsed = schema.safeParse(reply);
  if (parsed.success) return parsed.data;
  throw new ServiceError("upstream_error", "The model server answered in a form we do not know.");
}
