import { z } from "zod";
import { createUser } from "../../access/users/create-user.ts";
import { deleteUser } from "../../access/users/delete-user.ts";
import { updateUser } from "../../access/users/update-user.ts";
import type { User } from "../../access/users/user.ts";
import { findUser, listUsers, USERNAME } from "../../access/users/user.ts";
import type { Deps } from "../../deps.ts";
import type { JsonObject } from "../../lib/json.ts";
import { jsonResponse } from "../answers/json-response.ts";
import { secretResponse } from "../answers/secret-response.ts";
import { readCheckedBody } from "../bodies/read-checked-body.ts";
import { readListQuery } from "../queries/read-list-query.ts";
import { actorOf } from "../request/actor-of.ts";
import { hiddenRoute } from "../request/hidden-route.ts";
import { idOf } from "../request/id-of.ts";
import { createRouter, type Router } from "../request/router.ts";
import { passwordSchema } from "./password-schema.ts";

const NAME_RULE = "1 to 64 letters, digits or . _ @ + -, of which the first is a letter or a digit";

const role = z.enum(["admin", "user"]).optional();
const newUserSchema = z.strictObject({
  username: z.string().regex(USERNAME, NAME_RULE),
  password: passwordSchema.optional(),
  role,
});
const userChangeSchema = z.strictObject({
  role,
  state: z.enum(["active", "disabled"]).optional(),
  password: passwordSchema.optional(),
});

/** `/api/admin/users`: the users, for administrators. */
export function usersRoutes(deps: Deps): Router {
  const { access } = deps;
  const router = createRouter(deps);
  const collection = "/api/admin/users";
  const one = `${collection}/{id}`;

  router.add(hiddenRoute("get", collection, "administrator"), async (context) => {
    const { users, total } = await listUsers(access, readListQuery(context));
    return jsonResponse({ object: "list", data: users.map(userBody), total });
  });
  router.add(hiddenRoute("post", collection, "administrator"), async (context, caller) => {
    const given = await readCheckedBody(context, newUserSchema);
    const { user, password } = await createUser(access, actorOf(context, caller), given);
    return secretResponse({ ...userBody(user), password }, 201);
  });
  router.add(hiddenRoute("get", one, "administrator"), async (context) =>
    jsonResponse(userBody(await findUser(access, idOf(context)))),
  );
  router.add(hiddenRoute("patch", one, "administrator"), async (context, caller) => {
    const change = await readCheckedBody(context, userChangeSchema);
    const actor = actorOf(context, caller);
    return jsonResponse(userBody(await updateUser(access, actor, idOf(context), change)));
  });
  router.add(hiddenRoute("delete", one, "administrator"), async (context, caller) => {
    await deleteUser(access, actorOf(context, caller), idOf(context));
    return new Response(null, { status: 204 });
  });
  return router;
}

function userBody(user: User): JsonObject {
  return {
    id: user.id,
    username: user.username,
    role: user.role,
    state: user.state,
    must_change_password: user.mustChangePassword,
    created_at: user.createdAt.toISOString(),
    last_login_at: user.lastLoginAt?.toISOString() ?? null,
    key_count: user.keyCount,
  };
}
