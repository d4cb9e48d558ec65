import { shellQuote } from "./curl.ts";
import {
  anthropicJavaScript,
  anthropicPython,
  type ClientConnection,
  openAiJavaScript,
  openAiPython,
} from "./library-snippets.ts";

/** One text to copy: a file, or commands. */
export interface Snippet {
  /** Where it belongs: a file's path, or `Terminal`. */
  readonly place: string;
  readonly text: string;
}

/** How a client is connected. */
export interface ClientGuide {
  readonly id: string;
  readonly name: string;
  /** What has to be known beside the texts. */
  readonly note?: string;
  /** It brings tools and prompts of its own, which reach the model unchanged by a key with passthrough. */
  readonly isAgent?: boolean;
  /** In their order; after the last one a call has been made. */
  readonly snippets: (to: ClientConnection) => readonly Snippet[];
}

/** Stands where the key belongs while none is known, and says so. */
export const KEY_PLACEHOLDER = "sk-PUT-YOUR-KEY-HERE";

const TERMINAL = "Terminal";
const QUESTION = "Say hello.";
/** Of a context that a model shares between prompt and answer, what an answer may have. */
const OUTPUT_SHARE = 0.25;

const PLAIN_WORD = /^[\w@%+=:,./-]+$/;

/** A text of JSON is one of TOML and of YAML as well. */
const text = (value: string): string => JSON.stringify(value);
const word = (value: string): string => (PLAIN_WORD.test(value) ? value : shellQuote(value));
const command = (...words: readonly string[]): string => words.map(word).join(" ");
const exported = (name: string, value: string): string => `export ${name}=${word(value)}`;
const lines = (...all: readonly (string | false)[]): string =>
  all.filter((line) => line !== false).join("\n");

/** The clients that are known to work, each with the texts that make its first call. */
export const CLIENT_GUIDES: readonly ClientGuide[] = [
  { id: "curl", name: "curl", snippets: (to) => [{ place: TERMINAL, text: curl(to) }] },
  {
    id: "claude-code",
    name: "Claude Code",
    isAgent: true,
    note: "Its address has no /v1 at the end. Without the context it takes a model that it does not know for one of a million tokens.",
    snippets: (to) => [{ place: TERMINAL, text: claudeCode(to) }],
  },
  {
    id: "codex",
    name: "Codex",
    isAgent: true,
    snippets: (to) => [
      { place: "~/.codex/config.toml", text: codex(to) },
      {
        place: TERMINAL,
        text: lines(
          exported("GATEWAY_API_KEY", to.key),
          command("codex", "exec", "--skip-git-repo-check", QUESTION),
        ),
      },
    ],
  },
  {
    id: "opencode",
    name: "OpenCode",
    isAgent: true,
    snippets: (to) => [
      { place: "opencode.json", text: openCode(to) },
      { place: TERMINAL, text: command("opencode", "run", QUESTION) },
    ],
  },
  {
    id: "cline",
    name: "Cline",
    isAgent: true,
    note: "In an editor: API Provider “OpenAI Compatible”, with the same address, key and model.",
    snippets: (to) => [
      {
        place: TERMINAL,
        text: lines(
          command("cline", "auth", "-p", "openai", "-b", api(to), "-k", to.key, "-m", to.model),
          command("cline", QUESTION),
        ),
      },
    ],
  },
  {
    id: "continue",
    name: "Continue",
    isAgent: true,
    snippets: (to) => [
      { place: "~/.continue/config.yaml", text: continueConfig(to) },
      { place: TERMINAL, text: command("cn", "-p", QUESTION) },
    ],
  },
  {
    id: "openai-python",
    name: "OpenAI Python",
    snippets: (to) => [
      { place: TERMINAL, text: "pip install openai" },
      { place: "hello.py", text: openAiPython(to) },
    ],
  },
  {
    id: "openai-js",
    name: "OpenAI JavaScript",
    snippets: (to) => [
      { place: TERMINAL, text: "npm install openai" },
      { place: "hello.mjs", text: openAiJavaScript(to) },
    ],
  },
  {
    id: "anthropic-python",
    name: "Anthropic Python",
    note: "Its address has no /v1 at the end.",
    snippets: (to) => [
      { place: TERMINAL, text: "pip install anthropic" },
      { place: "hello.py", text: anthropicPython(to) },
    ],
  },
  {
    id: "anthropic-js",
    name: "Anthropic JavaScript",
    note: "Its address has no /v1 at the end.",
    snippets: (to) => [
      { place: TERMINAL, text: "npm install @anthropic-ai/sdk" },
      { place: "hello.mjs", text: anthropicJavaScript(to) },
    ],
  },
];

/** Returns the guide with this id, else that of curl. */
export function findGuide(id: string): ClientGuide {
  return CLIENT_GUIDES.find((guide) => guide.id === id) ?? (CLIENT_GUIDES[0] as ClientGuide);
}

const api = ({ origin }: ClientConnection): string => `${origin}/v1`;

function curl(to: ClientConnection): string {
  const body = { model: to.model, messages: [{ role: "user", content: QUESTION }] };
  return [
    `curl ${word(`${api(to)}/chat/completions`)}`,
    `-H ${shellQuote(`Authorization: Bearer ${to.key}`)}`,
    `-H 'Content-Type: application/json'`,
    `-d ${shellQuote(JSON.stringify(body))}`,
  ].join(" \\\n  ");
}

/** The small model that it uses on the side is the same one: it would ask for one of its vendor's otherwise. */
function claudeCode({ origin, key, model, context }: ClientConnection): string {
  return lines(
    exported("ANTHROPIC_BASE_URL", origin),
    exported("ANTHROPIC_AUTH_TOKEN", key),
    exported("ANTHROPIC_MODEL", model),
    exported("ANTHROPIC_DEFAULT_HAIKU_MODEL", model),
    context !== null && exported("CLAUDE_CODE_MAX_CONTEXT_TOKENS", String(context)),
    exported("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
    command("claude", "-p", QUESTION),
  );
}

function codex(to: ClientConnection): string {
  return lines(
    `model = ${text(to.model)}`,
    `model_provider = "gateway"`,
    to.context !== null && `model_context_window = ${to.context}`,
    "",
    "[model_providers.gateway]",
    `name = "Gateway"`,
    `base_url = ${text(api(to))}`,
    `env_key = "GATEWAY_API_KEY"`,
    `wire_api = "responses"`,
  );
}

function openCode(to: ClientConnection): string {
  const { context, output } = to;
  const limit = context !== null && {
    limit: { context, output: output ?? Math.floor(context * OUTPUT_SHARE) },
  };
  const gateway = {
    npm: "@ai-sdk/openai-compatible",
    name: "Gateway",
    options: { baseURL: api(to), apiKey: to.key },
    models: { [to.model]: { name: to.model, ...limit } },
  };
  const config = {
    $schema: "https://opencode.ai/config.json",
    model: `gateway/${to.model}`,
    provider: { gateway },
  };
  return JSON.stringify(config, null, 2);
}

function continueConfig(to: ClientConnection): string {
  return lines(
    "name: Gateway",
    "version: 1.0.0",
    "schema: v1",
    "models:",
    "  - name: Gateway",
    "    provider: openai",
    `    model: ${text(to.model)}`,
    `    apiBase: ${text(api(to))}`,
    `    apiKey: ${text(to.key)}`,
    "    roles: [chat, edit, apply]",
  );
}
