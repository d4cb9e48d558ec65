import { z } from "zod";
import { changePassword } from "../../access/sessions/change-password.ts";
import { findSession } from "../../access/sessions/find-session.ts";
import { type LoggedIn, login } from "../../access/sessions/login.ts";
import { logout } from "../../access/sessions/logout.ts";
import type { Deps } from "../../deps.ts";
import { jsonResponse } from "../answers/json-response.ts";
import { secretResponse } from "../answers/secret-response.ts";
import { readCheckedBody } from "../bodies/read-checked-body.ts";
import { actorOf } from "../request/actor-of.ts";
import { hiddenRoute } from "../request/hidden-route.ts";
import type { RequestContext } from "../request/route.ts";
import { createRouter, type Router } from "../request/router.ts";
import { sessionCookie } from "../request/session-cookie.ts";
import { passwordSchema } from "./password-schema.ts";

const loginSchema = z.strictObject({ username: z.string(), password: z.string() });
const passwordChangeSchema = z.strictObject({
  current_password: z.string(),
  new_password: passwordSchema,
});

/** `/api/auth/*`: logging in and out, and the own password. */
export function authRoutes(deps: Deps): Router {
  const { access, settings } = deps;
  const router = createRouter(deps);

  const answer = (context: RequestContext, session: LoggedIn): Response => {
    const response = secretResponse({
      token: session.token,
      expires_at: session.expiresAt.toISOString(),
      must_change_password: session.mustChangePassword,
      user: { ...session.user },
    });
    const seconds = settings.SESSION_LIFETIME_HOURS * 3_600;
    response.headers.set("set-cookie", sessionCookie(context, session.token, seconds));
    return response;
  };

  router.add(hiddenRoute("post", "/api/auth/login", "open"), async (context) => {
    const given = await readCheckedBody(context, loginSchema);
    const { address, requestId } = context.env;
    return answer(context, await login(access, given, { address: address(), requestId }));
  });
  router.add(
    hiddenRoute("post", "/api/auth/logout", "pending-session"),
    async (context, caller) => {
      await logout(access, actorOf(context, caller));
      const headers = { "set-cookie": sessionCookie(context, "", 0) };
      return new Response(null, { status: 204, headers });
    },
  );
  router.add(
    hiddenRoute("post", "/api/auth/password", "pending-session"),
    async (context, caller) => {
      const given = await readCheckedBody(context, passwordChangeSchema);
      const change = { current: given.current_password, next: given.new_password };
      return answer(context, await changePassword(access, actorOf(context, caller), change));
    },
  );
  router.add(hiddenRoute("get", "/api/auth/me", "pending-session"), async (_, caller) => {
    const { createdAt, expiresAt } = await findSession(access, caller.sessionId);
    return jsonResponse({
      id: caller.ownerId,
      username: caller.username,
      role: caller.role,
      must_change_password: caller.mustChangePassword,
      session: {
        id: caller.sessionId,
        created_at: createdAt.toISOString(),
        expires_at: expiresAt.toISOString(),
      },
    });
  });
  return router;
}
