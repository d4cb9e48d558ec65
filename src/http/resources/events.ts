import type { Deps } from "../../deps.ts";
import type { JsonObject } from "../../lib/json.ts";
import { redriveEvent, redriveEvents } from "../../operations/redrive-events.ts";
import { findEvent, listEvents, type StoredEvent, stateOfEvent } from "../../queue/events.ts";
import type { WatchedFolder } from "../../queue/watched-folders/folder-watch.ts";
import { chatErrorForm } from "../answers/error-response.ts";
import { jsonResponse } from "../answers/json-response.ts";
import { readCheckedBody } from "../bodies/read-checked-body.ts";
import { readEventQuery, redriveSchema } from "../queries/read-event-query.ts";
import { actorOf } from "../request/actor-of.ts";
import { hiddenRoute } from "../request/hidden-route.ts";
import { idOf } from "../request/id-of.ts";
import { createRouter, type Router } from "../request/router.ts";

/**
 * `/api/admin/events`: what is told to others, what was given up, and another try of that; and
 * `/api/admin/watched-folders`: how the folders fare that events come from.
 */
export function eventsRoutes(deps: Deps): Router {
  const { access, events, watchedFolders } = deps;
  const router = createRouter(chatErrorForm, deps);
  router.add(hiddenRoute("get", "/api/admin/events", "administrator"), async (context) => {
    const page = await listEvents(access, readEventQuery(context));
    const data = page.events.map(eventJson);
    return jsonResponse({ object: "list", data, has_more: page.hasMore });
  });
  router.add(
    hiddenRoute("post", "/api/admin/events/redrive", "administrator"),
    async (context, caller) => {
      const query = await readCheckedBody(context, redriveSchema);
      const { count, hasMore } = await redriveEvents(access, actorOf(context, caller), query);
      events.wake();
      return jsonResponse({ object: "event.redrive", redriven: count, has_more: hasMore });
    },
  );
  router.add(hiddenRoute("get", "/api/admin/events/{id}", "administrator"), async (context) =>
    jsonResponse(eventJson(await findEvent(access, idOf(context)))),
  );
  router.add(
    hiddenRoute("post", "/api/admin/events/{id}/redrive", "administrator"),
    async (context, caller) => {
      const event = await redriveEvent(access, actorOf(context, caller), idOf(context));
      events.wake();
      return jsonResponse(eventJson(event));
    },
  );
  router.add(hiddenRoute("get", "/api/admin/watched-folders", "administrator"), () =>
    jsonResponse({ object: "list", data: watchedFolders.list().map(folderJson) }),
  );
  return router;
}

function eventJson(event: StoredEvent): JsonObject {
  const state = stateOfEvent(event);
  return {
    id: event.id,
    object: "event",
    sink: event.sink,
    kind: event.kind,
    state,
    attempts: event.attempts,
    created_at: event.createdAt.toISOString(),
    next_attempt_at: state === "pending" ? event.nextAttemptAt.toISOString() : null,
    delivered_at: event.deliveredAt?.toISOString() ?? null,
    dead_at: state === "dead" ? (event.deadAt?.toISOString() ?? null) : null,
    last_error: event.lastError,
    body: event.body,
  };
}

function folderJson({ folder, state, since, cause, files, checkedAt }: WatchedFolder): JsonObject {
  return {
    object: "watched_folder",
    folder,
    state,
    since: new Date(since).toISOString(),
    cause,
    files,
    checked_at: checkedAt === null ? null : new Date(checkedAt).toISOString(),
  };
}
