import { callHttp, logIn } from "../../clients/http-session.ts";

/** A user with a session, on a server that believes one proxy. */
export interface Person {
  readonly id: string;
  readonly token: string;
}

/** A user with a password of the user's own, logged in. */
export async function addPerson(url: string, admin: string, username: string): Promise<Person> {
  const first = `first password of ${username}`;
  const own = `own password of ${username}`;
  const body = { username, password: first };
  const created = await callHttp(url, {
    method: "POST",
    path: "/api/admin/users",
    token: admin,
    body,
  });
  const changed = await callHttp(url, {
    method: "POST",
    path: "/api/auth/password",
    token: await logIn(url, username, first),
    body: { current_password: first, new_password: own },
  });
  if (changed.status !== 200) throw new Error(`no user ${username}: ${changed.text}`);
  return { id: created.body.id, token: changed.body.token };
}

/** A key of whoever the token is of, with the rights of a new one unless others are given. */
export async function addKey(
  url: string,
  token: string,
  name: string,
  rights: Record<string, unknown> = {},
): Promise<{ readonly id: string; readonly key: string }> {
  const body = { name, ...rights };
  const issued = await callHttp(url, { method: "POST", path: "/v1/api-keys", token, body });
  if (issued.status !== 201) throw new Error(`no key ${name}: ${issued.text}`);
  return issued.body;
}
