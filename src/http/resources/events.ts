import { z } from "@hono/zod-openapi";
import type { Deps } from "../../deps.ts";
import { redriveEvent, redriveEvents } from "../../operations/redrive-events.ts";
import {
  EVENT_STATES,
  findEvent,
  listEvents,
  type StoredEvent,
  stateOfEvent,
} from "../../queue/events.ts";
import { EVENT_TOPICS } from "../../queue/topic.ts";
import { jsonResponse } from "../answers/json-response.ts";
import { toJson } from "../answers/to-json.ts";
import { readCheckedBody } from "../bodies/read-checked-body.ts";
import { count, time } from "../fields.ts";
import { resourceRoute } from "../openapi/resource-route.ts";
import { openList, page, readQuery } from "../page.ts";
import { actorOf } from "../request/actor-of.ts";
import { idOf } from "../request/id-of.ts";
import { createRouter, type Router } from "../request/routes/router.ts";

/** The list is open, because events of an earlier release may still be stored. */
const eventKind = z
  .string()
  .regex(/^[a-z][a-z0-9_]*(?:\.[a-z0-9_]+)*$/, "a kind such as file.uploaded")
  .max(100);

const eventQuery = page(
  {
    state: z.enum(EVENT_STATES).optional(),
    kind: eventKind.optional(),
    sink: z.enum(EVENT_TOPICS).optional(),
  },
  {
    before: z
      .string()
      .regex(/^evt_\w{1,100}$/, "the id of an event")
      .optional()
      .openapi({ description: "The id of an event: only those that were stored before it." }),
  },
);

const redriveQuery = z
  .strictObject({
    state: z.enum(["dead", "pending"]).optional().openapi({
      description: "`dead`, the default, were given up; `pending` wait for their next try.",
    }),
    kind: eventKind.optional(),
    sink: z.enum(EVENT_TOPICS).optional(),
  })
  .refine(({ kind, sink }) => kind !== undefined || sink !== undefined, "a kind or a sink")
  .openapi("EventRedriveQuery", { example: { sink: "alert_webhook" } });

const event = z
  .object({
    id: z.string(),
    object: z.literal("event"),
    sink: z.string(),
    kind: z.string(),
    state: z.enum(EVENT_STATES),
    attempts: count,
    created_at: time,
    next_attempt_at: time.nullable(),
    delivered_at: time.nullable(),
    dead_at: time.nullable(),
    last_error: z.string().nullable(),
    body: z.record(z.string(), z.unknown()),
  })
  .openapi("Event");
const eventList = openList(event).openapi("EventList");
const redriven = z
  .object({ object: z.literal("event.redrive"), redriven: count, has_more: z.boolean() })
  .openapi("EventRedrive", {
    example: { object: "event.redrive", redriven: 12, has_more: false },
  });

const COLLECTION = {
  path: "/api/admin/events",
  access: "administrator",
  tokens: "events",
  tag: "Events",
} as const;
const unknown = { 404: "There is no event with this id." };

const LIST = resourceRoute({
  ...COLLECTION,
  method: "get",
  operationId: "listEvents",
  summary: "List what is delivered to others",
  description: "The newest first. A page with long bodies has fewer than `limit`.",
  query: eventQuery,
  answer: { description: "A page of the events.", schema: eventList },
});
const REDRIVE_ALL = resourceRoute({
  ...COLLECTION,
  path: `${COLLECTION.path}/redrive`,
  method: "post",
  operationId: "redriveEvents",
  summary: "Retry events at once",
  description: "All of a kind, of a sink, or of a kind at a sink; at most 10,000 in one call.",
  body: redriveQuery,
  answer: { description: "How many are tried.", schema: redriven },
});
const FIND = resourceRoute({
  ...COLLECTION,
  path: `${COLLECTION.path}/{id}`,
  method: "get",
  operationId: "getEvent",
  summary: "Show one event",
  answer: { description: "The event.", schema: event },
  errors: unknown,
});
const REDRIVE = resourceRoute({
  ...COLLECTION,
  path: `${COLLECTION.path}/{id}/redrive`,
  method: "post",
  operationId: "redriveEvent",
  summary: "Retry one event at once",
  answer: { description: "The event as it is now.", schema: event },
  errors: { ...unknown, 400: "The event was delivered." },
});

/** `/api/admin/events`: events in delivery, failed events, and their redelivery. */
export function eventsRoutes(deps: Deps): Router {
  const { access, events } = deps;
  const router = createRouter(deps);
  router.add(LIST, async (context) => {
    const found = await listEvents(access, readQuery(context, eventQuery));
    const data = found.events.map(shown);
    return jsonResponse(toJson(eventList, { data, hasMore: found.hasMore }));
  });
  router.add(REDRIVE_ALL, async (context, caller) => {
    const query = await readCheckedBody(context, redriveQuery);
    const { count, hasMore } = await redriveEvents(access, actorOf(context, caller), query);
    events.wake();
    return jsonResponse(toJson(redriven, { redriven: count, hasMore }));
  });
  router.add(FIND, async (context) =>
    jsonResponse(toJson(event, shown(await findEvent(access, idOf(context))))),
  );
  router.add(REDRIVE, async (context, caller) => {
    const tried = await redriveEvent(access, actorOf(context, caller), idOf(context));
    events.wake();
    return jsonResponse(toJson(event, shown(tried)));
  });
  return router;
}

function shown(stored: StoredEvent) {
  const state = stateOfEvent(stored);
  return {
    ...stored,
    state,
    nextAttemptAt: state === "pending" ? stored.nextAttemptAt : null,
    deadAt: state === "dead" ? stored.deadAt : null,
  };
}
