import type { Deps } from "../../../../src/deps.ts";
import type { Passage } from "../../../../src/knowledge/retrieve/passage.ts";
import { createToolRegistry } from "../../../../src/tools/registry.ts";
import type { Tool } from "../../../../src/tools/tool.ts";
import type { OpenUsageJournal } from "../../../../src/usage/journal/open-usage-journal.ts";
import { callHttp, logIn } from "../../clients/http-session.ts";
import { databaseServerUrl } from "../../servers/databases/database-server.ts";
import { startSimulator, type TestSimulator } from "../../servers/start-simulator.ts";
import { ADMIN_PASSWORD, type ServedDeps, serveDeps } from "../served-deps.ts";

export type Json = Readonly<Record<string, unknown>>;

export interface BoundKey {
  readonly id: string;
  /** The secret. */
  readonly key: string;
  readonly assistantId: string;
}

/** The gateway in this process, before a simulated engine, with tools that a test defines. */
export class McpStage {
  readonly served: ServedDeps;
  readonly simulator: TestSimulator;
  /** A session of the administrator. */
  readonly token: string;
  /** What tool servers would bring. */
  readonly tools: Tool[];
  /** What `search_knowledge` finds. */
  found: readonly Passage[] = [];
  /** Replaces TOOL_TIMEOUT_MS. */
  toolTimeoutMs: number | undefined;
  #made = 0;

  private constructor(parts: Pick<McpStage, "served" | "simulator" | "token" | "tools">) {
    this.served = parts.served;
    this.simulator = parts.simulator;
    this.token = parts.token;
    this.tools = parts.tools;
  }

  static async open(
    environment: Readonly<Record<string, string>> = {},
    change: (deps: Deps) => Deps = (deps) => deps,
  ): Promise<McpStage> {
    const simulator = await startSimulator({ engine: "vllm" });
    const tools: Tool[] = [];
    let stage: McpStage | undefined;
    const search = async () => stage?.found ?? [];
    const served = await serveDeps(
      databaseServerUrl,
      { LLM_BACKEND: "vllm", LLM_BASE_URL: simulator.url, METRICS_ENABLED: "1", ...environment },
      (deps) => {
        const registry = createToolRegistry({ search, settings: deps.settings }, [
          { list: () => tools },
        ]);
        const settings = {
          ...deps.settings,
          get TOOL_TIMEOUT_MS() {
            return stage?.toolTimeoutMs ?? deps.settings.TOOL_TIMEOUT_MS;
          },
        };
        const assistants = { ...deps.gateway.assistants, search, settings, tools: registry };
        const gateway = { ...deps.gateway, assistants };
        return change({ ...deps, gateway, tools: registry });
      },
    );
    await served.deps.gateway.models.refresh();
    const token = await logIn(served.url, "admin", ADMIN_PASSWORD);
    stage = new McpStage({ served, simulator, token, tools });
    return stage;
  }

  get url(): string {
    return `${this.served.url}/mcp`;
  }

  get port(): number {
    return Number(new URL(this.served.url).port);
  }

  /** Calls a resource as the administrator. Throws unless it succeeds. */
  async manage(method: string, path: string, body?: Json): Promise<Json> {
    const { url } = this.served;
    const { status, body: answer } = await callHttp(url, { method, path, body, token: this.token });
    if (status >= 300) throw new Error(`${method} ${path}: ${status} ${JSON.stringify(answer)}`);
    return answer as Json;
  }

  /** An assistant with all tools, whatever they may do. */
  async createAssistant(ext: Json = {}, more: Json = {}): Promise<string> {
    this.#made += 1;
    const { id } = await this.manage("POST", "/v1/assistants", {
      name: `assistant ${this.#made}`,
      ...more,
      ext: { tools: ["*"], max_level: "full_auto", ...ext },
    });
    return String(id);
  }

  /** A key that is bound to an assistant, one of its own unless one is given. */
  async bindKey(fields: Json = {}, assistantId?: string): Promise<BoundKey> {
    const bound = assistantId ?? (await this.createAssistant());
    const { id, key } = await this.manage("POST", "/v1/api-keys", {
      name: "of a client of tools",
      assistant_id: bound,
      max_level: "full_auto",
      ...fields,
    });
    return { id: String(id), key: String(key), assistantId: bound };
  }

  /** Posts a message as it is. */
  post(key: string, message: unknown, more: PostOptions = {}): Promise<Response> {
    const { headers, signal } = more;
    return fetch(this.url, {
      method: "POST",
      headers: {
        authorization: `Bearer ${key}`,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        ...headers,
      },
      body: typeof message === "string" ? message : JSON.stringify(message),
      ...(signal !== undefined && { signal }),
    });
  }

  /** Sends a request of the older versions, and reads its answer. */
  async ask(key: string, method: string, params?: Json, more: PostOptions = {}) {
    const message = { jsonrpc: "2.0", id: 1, method, ...(params !== undefined && { params }) };
    const response = await this.post(key, message, more);
    return { status: response.status, body: JSON.parse(await response.text()) as Answer };
  }

  /** Calls a tool by the older versions. */
  call(key: string, name: string, args: Json = {}) {
    return this.ask(key, "tools/call", { name, arguments: args });
  }

  /** The rows of a key, once they are stored; the oldest first. */
  async rows(keyId: string): Promise<readonly Json[]> {
    // The gateway knows its journal by fewer functions than it has.
    await (this.served.deps.gateway.journal as OpenUsageJournal).flush();
    const { data } = await this.manage("GET", `/api/requests?key_id=${keyId}`);
    return (data as Json[]).toReversed();
  }

  /** The entries of the audit log about a tool, the oldest first. */
  async audited(tool: string): Promise<readonly Json[]> {
    const { data } = await this.manage("GET", `/api/admin/audit?target_id=${tool}`);
    return (data as Json[]).toReversed();
  }

  async close(): Promise<void> {
    await this.served.close();
    await this.simulator.stop();
  }
}

export interface PostOptions {
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of several shapes.
export type Answer = any;

/** A request of the version 2026-07-28 with the headers that it needs. */
export function modern(method: string, params: Json = {}, meta: Json = {}) {
  const { name } = params;
  return {
    message: {
      jsonrpc: "2.0",
      id: "m1",
      method,
      params: {
        ...params,
        _meta: {
          "io.modelcontextprotocol/protocolVersion": "2026-07-28",
          "io.modelcontextprotocol/clientCapabilities": {},
          ...meta,
        },
      },
    },
    headers: {
      "MCP-Protocol-Version": "2026-07-28",
      "Mcp-Method": method,
      ...(method === "tools/call" && { "Mcp-Name": String(name) }),
    },
  };
}
