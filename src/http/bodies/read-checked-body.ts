import type { z } from "zod";
import { parseRequest } from "../../codecs/shared/check-request.ts";
import type { RequestContext } from "../request/route.ts";
import { readJsonBody } from "./read-json-body.ts";

/** Far more than a user, a key or a login needs; much less than a conversation. */
const LIMITS = { maxBytes: 64 * 1024, maxDepth: 16, isFixed: true } as const;

/**
 * Reads the small JSON body of a management call, as its schema decodes it. Throws `invalid_value` that names the first
 * invalid field, and `unsupported_parameter` for a field that a strict schema does not define.
 */
export async function readCheckedBody<Schema extends z.ZodType>(
  { req }: RequestContext,
  schema: Schema,
): Promise<z.output<Schema>> {
  const { body } = await readJsonBody(req.raw, LIMITS);
  return parseRequest(schema, body);
}
