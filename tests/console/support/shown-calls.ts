import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { Page, Response } from "playwright-core";
import { SERVICE_SCOPES } from "../../../src/core/callers/service-scope.ts";
import { callHttp } from "../../support/clients/http-session.ts";
import type { ConsoleStage } from "./console-stage.ts";

const run = promisify(execFile);
/** In place of `curl`: the same, with the status behind the answer. */
const CURL = String.raw`curl() { command curl -sS -w '\n%{http_code}' "$@"; }`;

/** What the calls that are shown are opened with. */
export interface Credentials {
  /** By the names of the variables in the calls. */
  readonly variables: Readonly<Record<string, string>>;
  /** A service token for each scope, which allows nothing else. */
  readonly tokens: ReadonlyMap<string, string>;
}

/** Makes what an administrator would: a key, a BI key, and a service token for each scope. */
export async function makeCredentials({ url, logIn }: ConsoleStage): Promise<Credentials> {
  const token = await logIn("administrator");
  const create = async (path: string, body: unknown) => {
    const answer = await callHttp(url, { method: "POST", path, token, body });
    if (answer.status !== 201) throw new Error(`POST ${path} was answered ${answer.text}`);
    return answer.body;
  };
  const { key } = await create("/v1/api-keys", { name: "shown calls" });
  const tokens = new Map<string, string>();
  for (const scope of SERVICE_SCOPES) {
    const service = await create("/api/service-tokens", { name: scope, scopes: [scope] });
    tokens.set(scope, service.token);
  }
  const bi = await create("/v1/bi-keys", { name: "shown calls", datasets: ["*"] });
  return {
    variables: { GATEWAY_KEY: key, GATEWAY_BI_KEY: bi.key, GATEWAY_SESSION: token },
    tokens,
  };
}

export interface RunCall {
  readonly command: string;
  readonly status: number;
  /** The ids in its answer that no answer to the page had, or what else is wrong; empty where the view shows the same. */
  readonly unlike: readonly string[];
}

/** Collects what a page is answered, to be compared with the call that it shows. */
export function collectAnswers(page: Page): Map<string, readonly string[]> {
  const answers = new Map<string, readonly string[]>();
  const collect = async (response: Response) => {
    const { pathname } = new URL(response.url());
    if (response.request().method() !== "GET" || !response.ok()) return;
    const body: unknown = await response.json().catch(() => undefined);
    const path = pathname.replace(/^\/api\/v1\//, "/v1/");
    if (body !== undefined) answers.set(path, [...(answers.get(path) ?? []), ...idsOf(body)]);
  };
  page.on("response", (response) => void collect(response));
  return answers;
}

/** Runs the call of the view, exactly as it is shown and with what it says that it needs, and compares its answer with what the page was answered. */
export async function runShownCall(
  page: Page,
  answers: ReadonlyMap<string, readonly string[]>,
  { variables, tokens }: Credentials,
): Promise<RunCall> {
  await page.getByRole("button", { name: "Show the call" }).last().click();
  const region = page.getByRole("region", { name: "The command", exact: true });
  const command = (await region.textContent()) ?? "";
  const words = await page.getByText(/^GATEWAY_/).textContent();
  const scope = /with the scope ([\w:]+)/.exec(words ?? "")?.[1] ?? "";
  await page.keyboard.press("Escape");
  await region.waitFor({ state: "detached" });
  const { stdout } = await run("bash", ["-c", `${CURL}\n${command}`], {
    env: { PATH: "/usr/bin:/bin", ...variables, GATEWAY_TOKEN: tokens.get(scope) },
    maxBuffer: 64 * 1024 * 1024,
  });
  const at = stdout.lastIndexOf("\n");
  const status = Number(stdout.slice(at + 1));
  return { command, status, unlike: compare(command, stdout.slice(0, at), answers) };
}

function compare(
  command: string,
  answer: string,
  answers: ReadonlyMap<string, readonly string[]>,
): readonly string[] {
  // What a call does that changes or begins something is not on the page yet.
  if (/^curl -X /.test(command)) return [];
  const { pathname } = new URL(/'(http[^']+)'/.exec(command)?.[1] ?? "");
  const seen = answers.get(decodeURI(pathname)) ?? answers.get(pathname);
  if (seen === undefined) return [`the page asks for no ${pathname}`];
  const ids = idsOf(JSON.parse(answer));
  return ids.length === 0 && seen.length > 0
    ? [`nothing of ${seen.join(", ")}`]
    : ids.filter((id) => !seen.includes(id));
}

/** Returns what tells things apart in an answer: the ids or names of a list, or those of the thing itself. */
function idsOf(body: unknown): readonly string[] {
  const { data } = body as { readonly data?: unknown };
  const things: readonly unknown[] = Array.isArray(data) ? data : [body];
  return things.map((thing) => {
    const { id, name, model } = thing as Readonly<Record<string, unknown>>;
    return String(id ?? name ?? model ?? Object.keys(thing as object).join(" "));
  });
}
