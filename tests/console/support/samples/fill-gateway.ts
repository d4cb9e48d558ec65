import { callHttp, type HttpCall } from "../../../support/clients/http-session.ts";
import type { ConsoleStage } from "../console-stage.ts";
import { fillAccess } from "./fill-access.ts";
import { fillChat } from "./fill-chat.ts";
import { fillKnowledge } from "./fill-knowledge.ts";
import { fillObserve } from "./fill-observe.ts";
import { fillReports } from "./fill-reports.ts";
import { fillTools } from "./fill-tools.ts";
import { fillWorkflows } from "./fill-workflows.ts";

const KEYS = 12;

/** Ids of what is in a filled gateway, by the path of their list. */
export type Samples = Readonly<Record<string, string>>;

/** Puts something of each kind into a gateway. Returns an id for each list, for the pages of one thing. */
export async function fillGateway(stage: ConsoleStage): Promise<Samples> {
  const { url, sessions } = stage;
  const create = async (path: string, body: unknown, token = sessions.administrator) => {
    const answer = await callHttp(url, { method: "POST", path, token, body });
    if (answer.status >= 300) throw new Error(`POST ${path} was answered ${answer.text}`);
    return answer.body;
  };
  const keys = [];
  for (let index = 0; index < KEYS; index += 1) {
    const limits = { monthly_token_limit: 5_000 * (index + 1), rpm_limit: 60 };
    const token = index % 3 === 0 ? sessions.user : sessions.administrator;
    keys.push(await create("/v1/api-keys", { name: `reporting ${index}`, ...limits }, token));
  }
  const calls = keys.slice(0, 4).map(({ key }): HttpCall => {
    const body = { model: "sim-chat", messages: [{ role: "user", content: "Hello" }] };
    return { method: "POST", path: "/v1/chat/completions", token: key, body };
  });
  await Promise.all(calls.map((call) => callHttp(url, call)));
  // A call that fails, so that there is a failure to be shown.
  const failing = { model: "no-such-model", messages: [{ role: "user", content: "Hello" }] };
  await callHttp(url, {
    method: "POST",
    path: "/v1/chat/completions",
    token: keys[0].key,
    body: failing,
  });
  const knowledge = await fillKnowledge(stage);
  await fillObserve(url, create);
  const { data } = (
    await callHttp(url, { path: "/api/admin/users", token: sessions.administrator })
  ).body;
  return {
    ...(await fillReports({ url, sessions }, create)),
    keys: keys[0].id,
    ...knowledge,
    ...(await fillAccess(stage, create)),
    ...(await fillChat(create)),
    users: data[0].id,
    models: "sim-chat",
    ...(await fillTools(stage)),
    ...(await fillWorkflows(stage)),
  };
}
