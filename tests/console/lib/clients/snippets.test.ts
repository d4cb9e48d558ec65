import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import type { ClientConnection } from "../../../../src/console/lib/clients/library-snippets.ts";
import {
  CLIENT_GUIDES,
  findGuide,
  KEY_PLACEHOLDER,
} from "../../../../src/console/lib/clients/snippets.ts";

const run = promisify(execFile);
const PLAIN: ClientConnection = {
  origin: "http://gateway:8080",
  model: "qwen3-32b",
  context: 32_768,
  output: null,
  key: "sk-0123",
};
/** Names of models are somebody else's: they may hold what ends a text in any of the formats. */
const ODD: ClientConnection = { ...PLAIN, model: `it's "odd" $HOME \`x\` \\n #:{` };

const CODEX = {
  ...{ model: ODD.model, model_provider: "gateway", model_context_window: 32_768 },
  model_providers: {
    gateway: {
      ...{ name: "Gateway", base_url: "http://gateway:8080/v1", env_key: "GATEWAY_API_KEY" },
      wire_api: "responses",
    },
  },
};
const CONTINUE = {
  ...{ name: "Gateway", version: "1.0.0", schema: "v1" },
  models: [
    {
      ...{ name: "Gateway", provider: "openai", model: ODD.model },
      ...{ apiBase: "http://gateway:8080/v1", apiKey: ODD.key, roles: ["chat", "edit", "apply"] },
    },
  ],
};

const snippetAt = (id: string, place: string, to = PLAIN): string => {
  const found = findGuide(id)
    .snippets(to)
    .find((snippet) => snippet.place === place);
  if (found === undefined) throw new Error(`${id} has no snippet for ${place}`);
  return found.text;
};

/** Returns the words of each command, as a shell reads them; `export` sets nothing. */
async function wordsOf(script: string): Promise<readonly (readonly string[])[]> {
  const print = `printf '%s\\0' "$@"; printf '\\n'`;
  const programs = ["curl", "export", "claude", "codex", "opencode", "cline", "cn"];
  const functions = programs.map((name) => `${name}() { set -- ${name} "$@"; ${print}; }`);
  const { stdout } = await run("bash", ["-c", `${functions.join("\n")}\n${script}`]);
  return stdout
    .split("\0\n")
    .slice(0, -1)
    .map((line) => line.split("\0"));
}

/** Reads lines of `name = text`, as TOML has them, or `name: text`, as YAML does; the texts are those of JSON. */
function textsOf(file: string): Readonly<Record<string, unknown>> {
  const found = [...file.matchAll(/^[\s-]*(\w+)(?: =|:) (".*"|\d+)$/gm)];
  return Object.fromEntries(found.map(([, name, value]) => [name, JSON.parse(value ?? "")]));
}

/** Reads a file as TOML or YAML by Python's parsers of them; undefined where Python has none. */
async function parse(format: "tomllib" | "yaml", file: string): Promise<unknown> {
  const read = format === "yaml" ? "yaml.safe_load(text)" : "tomllib.loads(text)";
  const program = `import json, sys, ${format}\ntext = sys.argv[1]\nprint(json.dumps(${read}))`;
  return run("python3", ["-c", program, file]).then(
    ({ stdout }) => JSON.parse(stdout),
    (error: { readonly code?: unknown; readonly stderr?: string }) => {
      const isLeftOut = error.code === "ENOENT" || /ModuleNotFoundError/.test(error.stderr ?? "");
      if (!isLeftOut) throw error;
    },
  );
}

describe("The snippets of clients", () => {
  it("are of ten clients, and each names the address, the model and the key", () => {
    expect(CLIENT_GUIDES).toHaveLength(10);
    expect(new Set(CLIENT_GUIDES.map(({ id }) => id)).size).toBe(10);
    for (const { id, snippets } of CLIENT_GUIDES) {
      const all = snippets(PLAIN)
        .map(({ text }) => text)
        .join("\n");
      for (const part of [PLAIN.origin, PLAIN.model, PLAIN.key]) {
        expect([id, all.includes(part)]).toEqual([id, true]);
      }
      // The messages format has its version in its paths, the others in their address.
      const isMessages = /claude|anthropic/.test(id);
      expect([id, /gateway:8080\/v1/.test(all)]).toEqual([id, !isMessages]);
    }
  });

  it("give a shell the model's own name, whatever is in it", async () => {
    const [curl] = await wordsOf(snippetAt("curl", "Terminal", ODD));
    expect(curl).toContain(`Authorization: Bearer ${ODD.key}`);
    expect(JSON.parse(curl?.at(-1) ?? "")).toMatchObject({ model: ODD.model });
    const claude = await wordsOf(snippetAt("claude-code", "Terminal", ODD));
    expect(claude).toContainEqual(["export", `ANTHROPIC_MODEL=${ODD.model}`]);
    expect(claude).toContainEqual(["export", "CLAUDE_CODE_MAX_CONTEXT_TOKENS=32768"]);
    expect(claude.at(-1)?.[0]).toBe("claude");
    const [auth] = await wordsOf(snippetAt("cline", "Terminal", ODD));
    expect(auth?.slice(-2)).toEqual(["-m", ODD.model]);
  });

  it("are files that their clients can read, whatever the model is called", () => {
    const codex = snippetAt("codex", "~/.codex/config.toml", ODD);
    expect(textsOf(codex)).toEqual({
      model: ODD.model,
      model_provider: "gateway",
      model_context_window: 32_768,
      name: "Gateway",
      base_url: "http://gateway:8080/v1",
      env_key: "GATEWAY_API_KEY",
      wire_api: "responses",
    });
    // A line of the file is in the table that was begun last.
    expect(codex.indexOf("[model_providers.gateway]")).toBeLessThan(codex.indexOf("base_url"));
    expect(codex.indexOf("model_context_window")).toBeLessThan(codex.indexOf("["));
    expect(snippetAt("codex", "Terminal")).toMatch(/^export GATEWAY_API_KEY=sk-0123\ncodex exec /);

    expect(textsOf(snippetAt("continue", "~/.continue/config.yaml", ODD))).toMatchObject({
      model: ODD.model,
      apiBase: "http://gateway:8080/v1",
      apiKey: ODD.key,
    });
    expect(JSON.parse(snippetAt("opencode", "opencode.json", ODD))).toMatchObject({
      model: `gateway/${ODD.model}`,
      provider: {
        gateway: {
          npm: "@ai-sdk/openai-compatible",
          options: { baseURL: "http://gateway:8080/v1", apiKey: ODD.key },
          models: { [ODD.model]: { limit: { context: 32_768, output: 8_192 } } },
        },
      },
    });
  });

  it("are whole files to the parsers of their formats", async () => {
    const codex = await parse("tomllib", snippetAt("codex", "~/.codex/config.toml", ODD));
    expect(codex ?? CODEX).toEqual(CODEX);
    const all = await parse("yaml", snippetAt("continue", "~/.continue/config.yaml", ODD));
    expect(all ?? CONTINUE).toEqual(CONTINUE);
  });

  it("leave the context out where it is not known", () => {
    const unknown = { ...PLAIN, context: null };
    for (const { snippets } of CLIENT_GUIDES) {
      const all = snippets(unknown)
        .map(({ text }) => text)
        .join("\n");
      expect(all).not.toMatch(/null|CONTEXT|context/);
    }
  });

  it("say where the key belongs while there is none, and that is no key", () => {
    expect(KEY_PLACEHOLDER).toMatch(/^sk-[A-Z-]+$/);
    expect(findGuide("nobody")).toBe(CLIENT_GUIDES[0]);
  });
});
