import type { BrowserContext } from "playwright-core";
import { callHttp, logIn } from "../../support/clients/http-session.ts";
import { startGateway } from "../../support/servers/start-gateway.ts";
import { startSimulator, type TestSimulator } from "../../support/servers/start-simulator.ts";
import { buildConsole } from "./built-console.ts";

export type Role = "administrator" | "user";

export interface ConsoleStage {
  readonly url: string;
  /** The engine behind it: its ledger, and what it is to answer. */
  readonly simulator: TestSimulator;
  /** Each person's session, for calls of tests. */
  readonly sessions: Readonly<Record<Role, string>>;
  /** Returns another session of one of them: after many sign-ins the oldest are over. */
  readonly logIn: (role: Role) => Promise<string>;
  /** Gives a browser the session of one of them. */
  readonly signIn: (context: BrowserContext, role: Role) => Promise<void>;
  readonly close: () => Promise<void>;
}

const PASSWORDS: Readonly<Record<Role, string>> = {
  administrator: "the administrator's own password",
  user: "ada's own password",
};
const NAMES: Readonly<Record<Role, string>> = { administrator: "admin", user: "ada" };

/**
 * Starts a real gateway in front of the simulator, with an administrator and a user, and nothing else in it.
 *
 * @param environment more settings.
 */
export async function openConsoleStage(
  environment: Readonly<Record<string, string>> = {},
): Promise<ConsoleStage> {
  const [simulator] = await Promise.all([
    startSimulator({
      models: [
        { name: "sim-chat", contextLength: 8_192, capabilities: ["completion", "vision"] },
        {
          ...{ name: "sim-embed", contextLength: 2_048, capabilities: ["embedding"] },
          dimensions: 256,
        },
      ],
    }),
    buildConsole(),
  ]);
  const gateway = await startGateway({
    LLM_BACKEND: "vllm",
    LLM_BASE_URL: simulator.url,
    EMBEDDING_MODEL: "sim-embed",
    ADMIN_PASSWORD: PASSWORDS.administrator,
    // Where a test's tool servers are.
    EGRESS_ALLOW: "127.0.0.1",
    // Every test signs in from this machine.
    TRUST_PROXY: "1",
    // On a busy machine a call may wait for the database.
    DB_POOL_WAIT_MS: "30000",
    ...environment,
  });
  const { url } = gateway;
  const logInAs = (role: Role) => logIn(url, NAMES[role], PASSWORDS[role]);
  const administrator = await logInAs("administrator");
  const user = await createUser(url, administrator);
  return {
    ...{ url, simulator },
    sessions: { administrator, user },
    logIn: logInAs,
    async signIn(context, role) {
      const answer = await context.request.post(`${url}/api/auth/login`, {
        data: { username: NAMES[role], password: PASSWORDS[role] },
      });
      if (!answer.ok()) throw new Error(`the login of ${role} was answered ${answer.status()}`);
    },
    async close() {
      await gateway.stop();
      await simulator.stop();
    },
  };
}

/** Returns the session of a new user who has changed the first password. */
async function createUser(url: string, administrator: string): Promise<string> {
  const first = "first password of ada";
  const created = await callHttp(url, {
    method: "POST",
    path: "/api/admin/users",
    token: administrator,
    body: { username: NAMES.user, password: first },
  });
  if (created.status !== 201) throw new Error(`no user was created: ${created.text}`);
  const changed = await callHttp(url, {
    method: "POST",
    path: "/api/auth/password",
    token: await logIn(url, NAMES.user, first),
    body: { current_password: first, new_password: PASSWORDS.user },
  });
  if (changed.status !== 200) throw new Error(`the password was not changed: ${changed.text}`);
  return changed.body.token;
}
