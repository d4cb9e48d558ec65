import { z } from "@hono/zod-openapi";
import { createUser } from "../../access/users/create-user.ts";
import { deleteUser } from "../../access/users/delete-user.ts";
import { updateUser } from "../../access/users/update-user.ts";
import { findUser, listUsers, USERNAME } from "../../access/users/user.ts";
import { invalidValue } from "../../codecs/shared/check-request.ts";
import type { Deps } from "../../deps.ts";
import { jsonResponse, secretResponse } from "../answers/json-response.ts";
import { toJson, toRecord } from "../answers/to-json.ts";
import { readCheckedBody } from "../bodies/read-checked-body.ts";
import { count, limit, newPassword, queryId, role, time } from "../fields.ts";
import { resourceRoute } from "../openapi/resource-route.ts";
import { byOffset, countedList, page, readQuery, search } from "../page.ts";
import { actorOf } from "../request/actor-of.ts";
import { idOf } from "../request/id-of.ts";
import { createRouter, type Router } from "../request/routes/router.ts";

const NAME_RULE = "1 to 64 letters, digits or . _ @ + -, of which the first is a letter or a digit";

const state = z
  .enum(["active", "disabled"])
  .openapi({ description: "A disabled user has no sessions, and their keys open nothing." });

const limits = {
  monthly_token_limit: limit(
    "Input and output tokens in a calendar month of UTC, of all the user's keys and sessions together.",
  ),
  rpm_limit: limit("Calls in any 60 seconds, of all the user's keys and sessions together."),
};
const newLimits = {
  monthly_token_limit: limits.monthly_token_limit.optional(),
  rpm_limit: limits.rpm_limit.optional(),
};

const newUser = z
  .strictObject({
    username: z
      .string()
      .regex(USERNAME, NAME_RULE)
      .openapi({ pattern: "^[A-Za-z0-9][A-Za-z0-9._@+-]{0,63}$" }),
    password: newPassword
      .optional()
      .openapi({ description: "One is generated and shown once unless it is given." }),
    role: role.optional(),
    ...newLimits,
  })
  .openapi("NewUser", {
    example: { username: "ada", role: "user", monthly_token_limit: 1_000_000 },
  });

const userChange = z
  .strictObject({
    role: role.optional(),
    state: state.optional(),
    password: newPassword
      .optional()
      .openapi({ description: "Ends the user's sessions, and is changed at the next login." }),
    ...newLimits,
  })
  .openapi("UserChange", { example: { state: "disabled" } });

const user = z
  .object({
    id: z.string(),
    username: z.string(),
    role,
    state,
    must_change_password: z.boolean(),
    created_at: time,
    last_login_at: time.nullable(),
    ...limits,
    key_count: count.openapi({ description: "API keys, active or not." }),
  })
  .openapi("User", {
    example: {
      id: "usr_7hB2kXw9PfM4sVt6JcN1Ra",
      username: "ada",
      role: "user",
      state: "active",
      must_change_password: false,
      created_at: "2026-09-21T13:33:20.000Z",
      last_login_at: null,
      monthly_token_limit: 1_000_000,
      rpm_limit: null,
      key_count: 2,
    },
  });
const createdUser = user
  .extend({
    password: z
      .string()
      .optional()
      .openapi({ description: "The one that was generated. It is shown this once." }),
  })
  .openapi("CreatedUser");
const userList = countedList(user).openapi("UserList");
const MAX_IDS = 100;
const userQuery = page(
  {
    search: search("A part of the name, in any case."),
    ids: z
      .string()
      .max(MAX_IDS * 30)
      .optional()
      .openapi({
        description: `Only these users: at most ${MAX_IDS} ids with commas between them. A page has \`limit\` of them.`,
        example: "usr_7hB2kXw9PfM4sVt6JcN1Ra,usr_3v9QmTq2LxZ8cR5nYb7KdW",
      }),
  },
  byOffset,
);

const COLLECTION = {
  path: "/api/admin/users",
  access: "administrator",
  tokens: "users",
  tag: "Users",
} as const;
const ONE = { ...COLLECTION, path: `${COLLECTION.path}/{id}` } as const;
const unknown = { 404: "There is no user with this id." };

const REFUSED =
  "Only an administrator's session, or a service token with the scope, may do this; or the license allows no more users.";
const LIST = resourceRoute({
  ...COLLECTION,
  method: "get",
  operationId: "listUsers",
  summary: "List the users",
  description: "By name.",
  query: userQuery,
  answer: { description: "A page of the users.", schema: userList },
});
const CREATE = resourceRoute({
  ...COLLECTION,
  method: "post",
  operationId: "createUser",
  summary: "Create a user",
  description: "The user changes the password at the first login.",
  body: newUser,
  answer: { status: 201, description: "The user.", schema: createdUser },
  errors: { 403: REFUSED },
});
const FIND = resourceRoute({
  ...ONE,
  method: "get",
  operationId: "getUser",
  summary: "Show one user",
  answer: { description: "The user.", schema: user },
  errors: unknown,
});
const UPDATE = resourceRoute({
  ...ONE,
  method: "patch",
  operationId: "updateUser",
  summary: "Change a user",
  description: "Fields that are not sent stay as they are.",
  body: userChange,
  answer: { description: "The user as it is now.", schema: user },
  errors: {
    ...unknown,
    403: REFUSED,
  },
});
const DELETE = resourceRoute({
  ...ONE,
  method: "delete",
  operationId: "deleteUser",
  summary: "Delete a user",
  description: "With sessions, API keys and BI keys. What was used stays counted.",
  answer: { status: 204, description: "The user is gone." },
  errors: unknown,
});

/** `/api/admin/users`: the users, for administrators. */
export function usersRoutes(deps: Deps): Router {
  const { access } = deps;
  const { assistants } = deps.knowledge;
  const router = createRouter(deps);
  router.add(LIST, async (context) => {
    const { ids, ...query } = readQuery(context, userQuery);
    const named = ids === undefined ? undefined : readIds(ids);
    const { users, total } = await listUsers(access, { ...query, ids: named });
    return jsonResponse(toJson(userList, { data: users, total }));
  });
  router.add(CREATE, async (context, caller) => {
    const given = toRecord(await readCheckedBody(context, newUser));
    const created = await createUser(access, actorOf(context, caller), given);
    const { password } = created;
    return secretResponse(toJson(createdUser, { ...created.user, password }), 201);
  });
  router.add(FIND, async (context) =>
    jsonResponse(toJson(user, await findUser(access, idOf(context)))),
  );
  router.add(UPDATE, async (context, caller) => {
    const change = toRecord(await readCheckedBody(context, userChange));
    const changed = await updateUser(access, actorOf(context, caller), idOf(context), change);
    return jsonResponse(toJson(user, changed));
  });
  router.add(DELETE, async (context, caller) => {
    await deleteUser(access, actorOf(context, caller), idOf(context), assistants.catchUp);
    return new Response(null, { status: 204 });
  });
  return router;
}

function readIds(text: string): readonly string[] {
  const ids = text.split(",");
  if (ids.length <= MAX_IDS && ids.every((id) => queryId.safeParse(id).success)) return ids;
  throw invalidValue(["ids"], `at most ${MAX_IDS} ids with commas between them`, text);
}
