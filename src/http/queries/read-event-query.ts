import { z } from "zod";
import { checkRequest } from "../../codecs/shared/check-request.ts";
import { EVENT_STATES, type EventQuery } from "../../queue/events.ts";
import { EVENT_TOPICS } from "../../queue/topic.ts";
import type { RequestContext } from "../request/router.ts";

const MAX_LIMIT = 1_000;
const DEFAULT_LIMIT = 50;

/** Not one of a closed list: events of an earlier release may still be kept. */
const eventKind = z
  .string()
  .regex(/^[a-z][a-z0-9_]*(?:\.[a-z0-9_]+)*$/, "a kind such as file.uploaded")
  .max(100);

const eventQuery = z.strictObject({
  state: z.enum(EVENT_STATES).optional(),
  kind: eventKind.optional(),
  sink: z.enum(EVENT_TOPICS).optional(),
  before: z
    .string()
    .regex(/^evt_\w{1,100}$/, "the id of an event")
    .optional(),
  limit: z.int().min(1).max(MAX_LIMIT),
});

/**
 * Which events are tried at once: all of a kind, of a sink, or of a kind at a sink, that were given up, or that wait for
 * their next try.
 */
export const redriveSchema = z
  .strictObject({
    state: z.enum(["dead", "pending"]).optional(),
    kind: eventKind.optional(),
    sink: z.enum(EVENT_TOPICS).optional(),
  })
  .refine(({ kind, sink }) => kind !== undefined || sink !== undefined, "a kind or a sink");

/**
 * Reads what part of the outbox is asked for. Throws `invalid_value` that names the parameter at fault, and
 * `unsupported_parameter` for one that does not exist.
 */
export function readEventQuery({ req }: RequestContext): EventQuery {
  const given = [...new URL(req.url).searchParams].filter(([, value]) => value !== "");
  const { limit = String(DEFAULT_LIMIT), ...texts } = Object.fromEntries(given);
  const asked: unknown = { ...texts, limit: Number(limit) };
  checkRequest(eventQuery, asked);
  return asked;
}
