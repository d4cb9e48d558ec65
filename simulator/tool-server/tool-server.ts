import type { Exchange } from "../http/exchange.ts";
import { type HttpListener, listenHttp } from "../http/listen-http.ts";
import { headerOf } from "../http/request-reader.ts";
import { type Json, objectOf, parseJson, stringOf } from "../json.ts";
import { answerMessage, type Dialogue, type ToolServerMode } from "./answer-message.ts";
import {
  type ScriptedTool,
  scriptedTools,
  type ToolState,
  waitForRelease,
} from "./scripted-tools.ts";

export interface ToolServerOptions {
  /** 0 selects a free port. */
  readonly port: number;
  readonly mode: ToolServerMode;
  /** The tools that are listed and can be called. Default: all. */
  readonly tools: readonly string[] | undefined;
  /** Tools on one page of the list. */
  readonly pageSize: number;
  /** The only accepted `authorization: Bearer`; undefined: all are. */
  readonly token: string | undefined;
}

/** One request, as it came. */
export interface ToolServerRequest {
  /** Of HTTP: `POST`. */
  readonly verb: string;
  readonly path: string;
  /** By name in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** The message; empty where the body is none. */
  readonly message: Json;
  /** Of the message: `tools/call`. */
  readonly method: string | undefined;
  /** The tool that is called. */
  readonly tool: string | undefined;
  /** By `performance.now()`. */
  readonly receivedAt: number;
  /** When the client closed the connection before the end of the answer, by `performance.now()`. */
  leftAt: number | undefined;
}

/** A tool server that does what a test or a person wants. */
export interface ToolServer {
  readonly port: number;
  readonly url: string;
  readonly requests: () => readonly ToolServerRequest[];
  readonly openSockets: () => number;
  readonly state: Readonly<Pick<ToolState, "version" | "writes">>;
  /** Changes the description of the tool `changing`. */
  readonly change: () => void;
  /** Replaces the tools that are listed and can be called. */
  readonly offer: (tools: readonly (string | ScriptedTool)[]) => void;
  readonly speak: (mode: ToolServerMode) => void;
  /** Lets requests of this method wait, such as `server/discover`; undefined: none from now on. */
  readonly hold: (method: string | undefined) => void;
  /** Ends the waiting of all requests that wait: those that are held, and calls of the tool `slow`. */
  readonly release: () => void;
  readonly forgetSessions: () => void;
  /** Answers every request, or those of one method, by this status with an empty body; undefined: as usual again. */
  readonly failWith: (status: number | undefined, method?: string) => void;
  /** Closes all connections and listens no longer. */
  readonly stop: () => Promise<void>;
  /** Listens again on the same port. */
  readonly listen: () => Promise<void>;
}

/** The path at which the protocol is spoken. */
const PATH = "/mcp";
const MAX_REQUESTS_KEPT = 10_000;

export async function startToolServer(options: ToolServerOptions): Promise<ToolServer> {
  const state = { version: 1, writes: 0, waiting: new Set<() => void>() };
  const sessions = new Set<string>();
  const requests: ToolServerRequest[] = [];
  let { mode } = options;
  let tools = pickTools(options.tools ?? scriptedTools);
  let failing: { readonly status: number; readonly method: string | undefined } | undefined;
  let held: string | undefined;

  const handle = async (exchange: Exchange): Promise<void> => {
    const request = describe(exchange);
    requests.push(request);
    exchange.onGone = () => {
      request.leftAt = performance.now();
    };
    if (requests.length > MAX_REQUESTS_KEPT) requests.shift();
    const isFailing = failing?.method === undefined || failing.method === request.method;
    const status = isFailing ? failing?.status : undefined;
    const refusal = status ?? refusalOf(exchange, options.token);
    if (held !== undefined && request.method === held) await waitForRelease(exchange, state);
    if (refusal !== undefined) return exchange.send(refusal, "", { allow: "POST" });
    const dialogue: Dialogue = { mode, tools, pageSize: options.pageSize, state, sessions };
    await answerMessage(exchange, request.message, dialogue);
  };

  let listener: HttpListener = await listenHttp(options.port, handle);
  const { port } = listener;
  return {
    port,
    url: `http://127.0.0.1:${port}${PATH}`,
    requests: () => requests,
    openSockets: () => listener.openSockets(),
    state,
    change: () => {
      state.version += 1;
    },
    offer: (names) => {
      tools = pickTools(names);
    },
    speak: (next) => {
      mode = next;
    },
    hold: (method) => {
      held = method;
    },
    release: () => {
      for (const end of [...state.waiting]) end();
    },
    forgetSessions: () => sessions.clear(),
    failWith: (status, method) => {
      failing = status === undefined ? undefined : { status, method };
    },
    stop: () => listener.stop(),
    listen: async () => {
      listener = await listenHttp(port, handle);
    },
  };
}

function pickTools(names: readonly (string | ScriptedTool)[]): readonly ScriptedTool[] {
  return names.map((name) => {
    const tool = typeof name === "string" ? scriptedTools.find((one) => one.name === name) : name;
    if (tool === undefined) throw new Error(`no tool has the name ${String(name)}`);
    return tool;
  });
}

function refusalOf({ request }: Exchange, token: string | undefined): number | undefined {
  if (request.path !== PATH) return 404;
  if (request.method !== "POST") return 405;
  const isKnown = token === undefined || headerOf(request, "authorization") === `Bearer ${token}`;
  return isKnown ? undefined : 401;
}

function describe({ request }: Exchange): ToolServerRequest {
  const message = objectOf(parseJson(request.body.toString("utf8"))) ?? {};
  const params = objectOf(message["params"]) ?? {};
  const method = stringOf(message["method"]);
  return {
    verb: request.method,
    path: request.path,
    headers: Object.fromEntries(
      request.headers.map(([name, value]) => [name.toLowerCase(), value]),
    ),
    message,
    method,
    tool: method === "tools/call" ? stringOf(params["name"]) : undefined,
    receivedAt: performance.now(),
    leftAt: undefined,
  };
}
