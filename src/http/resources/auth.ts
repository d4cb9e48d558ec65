import { z } from "@hono/zod-openapi";
import { findSession } from "../../access/sessions/find-session.ts";
import type { LoggedIn } from "../../access/sessions/login/logged-in.ts";
import { login } from "../../access/sessions/login/login.ts";
import { logout } from "../../access/sessions/logout.ts";
import { changePassword } from "../../access/sessions/passwords/change-password.ts";
import type { Deps } from "../../deps.ts";
import { jsonResponse, secretResponse } from "../answers/json-response.ts";
import { toJson } from "../answers/to-json.ts";
import { readCheckedBody } from "../bodies/read-checked-body.ts";
import { limit, newPassword, role, time } from "../fields.ts";
import { resourceRoute } from "../openapi/resource-route.ts";
import { actorOf } from "../request/actor-of.ts";
import type { RequestContext } from "../request/routes/route.ts";
import { createRouter, type Router } from "../request/routes/router.ts";
import { sessionCookie } from "../request/session-cookie.ts";

const password = z.string().openapi({ format: "password" });

const credentials = z
  .strictObject({ username: z.string(), password })
  .openapi("Credentials", { example: { username: "ada", password: "correct horse" } });

const passwordChange = z
  .strictObject({ current_password: password, new_password: newPassword })
  .openapi("PasswordChange");

const loggedIn = z
  .object({
    token: z.string().openapi({ description: "The session's token, `ses_…`; also a cookie." }),
    expires_at: time,
    must_change_password: z.boolean(),
    user: z.object({ id: z.string(), username: z.string(), role }),
  })
  .openapi("LoggedIn");

const ownSession = z
  .object({
    id: z.string(),
    username: z.string(),
    role,
    must_change_password: z.boolean(),
    monthly_token_limit: limit(
      "Input and output tokens in a calendar month of UTC, of all the user's keys and sessions together.",
    ),
    rpm_limit: limit("Calls in any 60 seconds, of all the user's keys and sessions together."),
    session: z.object({ id: z.string(), created_at: time, expires_at: time }),
  })
  .openapi("OwnSession");

const SESSION = { access: "pending-session", tokens: "closed", tag: "Sessions" } as const;
const BRAKE = { 429: "Too many logins failed; `Retry-After` tells how long to wait." };

const LOGIN = resourceRoute({
  ...SESSION,
  path: "/api/auth/login",
  method: "post",
  access: "open",
  operationId: "login",
  summary: "Log in",
  body: credentials,
  answer: { description: "The session, and its cookie.", schema: loggedIn },
  errors: {
    ...BRAKE,
    401: "The name or the password is wrong.",
    503: "Logins cannot be checked now; `Retry-After` tells how long.",
  },
});
const LOGOUT = resourceRoute({
  ...SESSION,
  path: "/api/auth/logout",
  method: "post",
  operationId: "logout",
  summary: "Log out",
  description: "Ends this session; the user's others go on.",
  answer: { status: 204, description: "The session has ended." },
});
const PASSWORD = resourceRoute({
  ...SESSION,
  path: "/api/auth/password",
  method: "post",
  operationId: "changePassword",
  summary: "Change one's own password",
  description: "Every other session of the user ends; this one goes on under a new token.",
  body: passwordChange,
  answer: { description: "The session under its new token.", schema: loggedIn },
  errors: { ...BRAKE, 401: "The session has ended, or the current password is wrong." },
});
const SHOW = resourceRoute({
  ...SESSION,
  path: "/api/auth/me",
  method: "get",
  operationId: "getOwnSession",
  summary: "Show who is logged in",
  answer: { description: "The user and the session.", schema: ownSession },
});

/** `/api/auth/*`: login, logout, and changing one's own password. */
export function authRoutes(deps: Deps): Router {
  const { access, settings } = deps;
  const router = createRouter(deps);
  const answer = (context: RequestContext, session: LoggedIn): Response => {
    const response = secretResponse(toJson(loggedIn, session));
    const seconds = settings.SESSION_LIFETIME_HOURS * 3_600;
    response.headers.set("set-cookie", sessionCookie(context, session.token, seconds));
    return response;
  };
  router.add(LOGIN, async (context) => {
    const given = await readCheckedBody(context, credentials);
    const { address, requestId } = context.env;
    return answer(context, await login(access, given, { address: address(), requestId }));
  });
  router.add(LOGOUT, async (context, caller) => {
    await logout(access, actorOf(context, caller));
    const headers = { "set-cookie": sessionCookie(context, "", 0) };
    return new Response(null, { status: 204, headers });
  });
  router.add(PASSWORD, async (context, caller) => {
    const given = await readCheckedBody(context, passwordChange);
    const change = { current: given.current_password, next: given.new_password };
    return answer(context, await changePassword(access, actorOf(context, caller), change));
  });
  router.add(SHOW, async (_, caller) => {
    const session = { id: caller.sessionId, ...(await findSession(access, caller.sessionId)) };
    const { ownerId: id, personLimits } = caller;
    const limits = {
      monthlyTokenLimit: personLimits?.monthlyTokens ?? null,
      rpmLimit: personLimits?.requestsPerMinute ?? null,
    };
    return jsonResponse(toJson(ownSession, { ...caller, ...limits, id, session }));
  });
  return router;
}
