import type { z } from "zod";
import { parseRequest } from "../../codecs/shared/check-request.ts";
import type { RequestContext } from "../request/routes/route.ts";
import { type BodyLimits, readJsonBody } from "./read-json-body.ts";

/** Far more than a user, a key or a login needs; much less than a conversation. */
const LIMITS = { maxBytes: 64 * 1024, maxDepth: 16, isFixed: true } as const;

/**
 * Reads the small JSON body of a management call, as its schema decodes it. Throws `invalid_value` that names the first
 * invalid field, and `unsupported_parameter` for a field that a strict schema does not define.
 */
export async function readCheckedBody<Schema extends z.ZodType>(
  { req }: RequestContext,
  schema: Schema,
  limits: BodyLimits = LIMITS,
): Promise<z.output<Schema>> {
  const { body } = await readJsonBody(req.raw, limits);
  return parseRequest(schema, body);
}

/** Whether the request has a body, for routes where it is optional. */
export function hasBody({ req }: RequestContext): boolean {
  return (req.header("content-length") ?? "0") !== "0" || req.header("transfer-encoding") != null;
}
