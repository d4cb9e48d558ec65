import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { loadConfig, SettingsError } from "../../src/config/load-config.ts";
import { settingsSchema } from "../../src/config/settings.ts";
import { MAX_FALLBACKS } from "../../src/core/chat/chat-request.ts";

describe("the settings", () => {
  it("all have a default or may be absent", () => {
    const { settings } = loadConfig({});
    expect(settings).toMatchObject({ PORT: 8080, LLM_BACKEND: "ollama", GATEWAY_RETRIES: 1 });
    expect(settings.DATABASE_URL).toBeUndefined();
  });

  it("take an empty value for an absent one", () => {
    expect(loadConfig({ PORT: "", DATABASE_URL: "" }).settings.PORT).toBe(8080);
    const { settings } = loadConfig({ PORT: " ", LICENSE_GRACE_DAYS: "\t", LLM_API_KEY: "  " });
    expect(settings).toMatchObject({ PORT: 8080, LICENSE_GRACE_DAYS: 14 });
    expect(settings.LLM_API_KEY).toBeUndefined();
  });

  it("leave out the line ends of files that they were read from, but where every byte counts", () => {
    const given = {
      LLM_API_KEY: "key\n",
      METRICS_TOKEN: "\r\na token of the metrics\r\n",
      PORT: "8081\n",
    };
    const secret = "0123456789abcdef\n";
    const prefix = "Query:\n";
    const exact = { APP_SECRET: secret, EMBEDDING_QUERY_PREFIX: prefix };
    const { settings } = loadConfig({ ...given, ...exact });
    expect(settings).toMatchObject({
      LLM_API_KEY: "key",
      METRICS_TOKEN: "a token of the metrics",
      PORT: 8081,
    });
    expect(settings).toMatchObject(exact);
  });

  it.each(["LLM_API_KEY", "OPENAI_API_KEY"])("take no %s that a header cannot hold", (name) => {
    for (const key of ["two\nlines", "schlüssel", "a\tb"]) {
      expect(() => loadConfig({ [name]: key })).toThrow(`${name}: must have printable ASCII`);
    }
    // Blanks around it are what `docker --env-file` keeps of a line.
    expect(loadConfig({ [name]: " key " }).settings).toMatchObject({ [name]: "key" });
  });

  it.each(["DATABASE_URL", "BIKEY_DATABASE_URL", "REDIS_URL"])(
    "take no %s whose password cannot be decoded, and tell what to do",
    (name) => {
      const scheme = name === "REDIS_URL" ? "redis" : "postgres";
      const load = (password: string) => loadConfig({ [name]: `${scheme}://u:${password}@db/x` });
      expect(() => load("100%")).toThrow(`${name}: must have each % in its user name`);
      expect(() => load("100%25")).not.toThrow();
    },
  );

  it("stop the start with all wrong names at once, and never show a value", () => {
    const wrong = {
      PORT: "eighty",
      LLM_BACKEND: "tgi",
      LLM_BASE_URL: "ftp://127.0.0.1",
      DATABASE_URL: "mysql://user:hunter2@db/x",
      BOOTSTRAP_API_KEY: "sk-hunter2",
      APP_SECRET: "hunter2",
      STREAM_KEEPALIVE_MS: "-1",
    };
    let text = "";
    try {
      loadConfig(wrong);
    } catch (error) {
      expect(error).toBeInstanceOf(SettingsError);
      text = (error as Error).message;
    }
    for (const name of Object.keys(wrong)) expect(text).toContain(`${name}: `);
    expect(text).not.toContain("hunter2");
    expect(text).not.toContain("eighty");
  });

  it("take as many fallback models as a request, and no more", () => {
    const models = Array.from({ length: MAX_FALLBACKS }, (_, at) => `model-${at}`);
    const load = (names: readonly string[]) => loadConfig({ MODEL_FALLBACKS: names.join() });
    expect(load(models).settings.MODEL_FALLBACKS).toEqual(models);
    expect(() => load([...models, "more"])).toThrow("MODEL_FALLBACKS: must name at most 8 models");
  });

  it("tell what does not fit together along with what is wrong by itself", () => {
    const wrong = { PORT: "eighty", WATCH_DIRS: "/srv", DATA_DIR: "/srv/gateway", OIDC_ONLY: "1" };
    expect(() => loadConfig(wrong)).toThrow(
      /PORT: must be a number.*\n.*WATCH_DIRS: .*\n.*OIDC_ONLY: must be 0 without/,
    );
    // An issuer was meant to be there.
    const load = () => loadConfig({ OIDC_ISSUER: "ftp://login", OIDC_ONLY: "1" });
    expect(load).toThrow(/OIDC_ISSUER: /);
    expect(load).not.toThrow(/OIDC_ONLY/);
  });

  it("name the entry of a list that is wrong", () => {
    const settings = { LLM_BASE_URL: "http://127.0.0.1:8000, ftp://127.0.0.1", PORT: "eighty" };
    expect(() => loadConfig(settings)).toThrow(/LLM_BASE_URL: must be .* \(entry 2 of the list\)/);
    expect(() => loadConfig(settings)).toThrow(/PORT: must be a number/);
    expect(() => loadConfig({ PORT: "70000" })).toThrow(/PORT: .*65535/);
  });

  it.each([
    "http://user:secret-word@127.0.0.1:8000",
    "http://user@127.0.0.1",
    "http://:secret-word@a",
  ])("take no credentials in an address, which clients would drop: %s", (address) => {
    const load = () => loadConfig({ LLM_BASE_URL: `http://127.0.0.1,${address}` });
    expect(load).toThrow("LLM_BASE_URL: must not hold a user name or a password");
    expect(load).not.toThrow("secret-word");
  });

  it.each(["http://h/v1?api-version=1", "http://h/v1#here", "http://h/?"])(
    "take no address that a path cannot be appended to: %s",
    (address) => {
      const load = () => loadConfig({ EMBEDDING_BASE_URL: address });
      expect(load).toThrow("EMBEDDING_BASE_URL: must end with a path");
    },
  );

  it("take origins as browsers send them", () => {
    const given =
      "https://a_b.example.com:443,http://c.example.com:80,http://d:443,http://[::1]:80,*";
    expect(loadConfig({ CORS_ORIGINS: given }).settings.CORS_ORIGINS).toEqual([
      ...["https://a_b.example.com", "http://c.example.com", "http://d:443", "http://[::1]", "*"],
    ]);
  });

  it("take host names in any case", () => {
    const { settings } = loadConfig({ ALLOWED_HOSTS: "Gateway.Example.org, inference_gateway" });
    expect(settings.ALLOWED_HOSTS).toEqual(["gateway.example.org", "inference_gateway"]);
  });

  it("take an address in brackets for a host name", () => {
    const { settings } = loadConfig({ ALLOWED_HOSTS: "[::1],127.0.0.1" });
    expect(settings.ALLOWED_HOSTS).toEqual(["[::1]", "127.0.0.1"]);
  });

  it.each(["https://gw.example.com", "gw:8443", "gw/", "::1", "[::1]:80", "*"])(
    "refuse %s for a host name: no request would ever have it",
    (name) => {
      expect(() => loadConfig({ ALLOWED_HOSTS: `localhost, ${name}` })).toThrow(
        /ALLOWED_HOSTS: must be only a host name, .* \(entry 2 of the list\)/,
      );
    },
  );

  it.each([
    { WATCH_DIRS: "/srv/inbox,/srv/gateway", DATA_DIR: "/srv/gateway" },
    { WATCH_DIRS: "/srv/inbox,/srv", DATA_DIR: "/srv/gateway" },
    { WATCH_DIRS: "/srv/inbox,/", DATA_DIR: "/srv/gateway" },
    { WATCH_DIRS: "/srv/inbox,.", DATA_DIR: "./data" },
    { WATCH_DIRS: "/srv/inbox,/var/journal/", JOURNAL_DIR: "/var/journal" },
    { WATCH_DIRS: "/srv/inbox,/srv/share", FILES_DIR: "/srv/share/files" },
    { WATCH_DIRS: "/srv/inbox,/srv/gateway/files", DATA_DIR: "/srv/gateway" },
    { WATCH_DIRS: "/srv/inbox,/srv/gateway/journal", DATA_DIR: "/srv/gateway" },
    { WATCH_DIRS: "/srv/inbox,/srv/gateway/database", DATA_DIR: "/srv/gateway" },
  ])("refuse to watch what the service writes itself: %o", (settings) => {
    expect(() => loadConfig(settings)).toThrow(
      /WATCH_DIRS: must not hold what the service writes itself, .* \(entry 2 of the list\)/,
    );
  });

  it.each(["/srv/gateway/inbox", "/srv/gateway-inbox", "/srv/inbox", "/srv/gateway/..x"])(
    "let any other folder be watched: %s",
    (folder) => {
      const given = { WATCH_DIRS: folder, DATA_DIR: "/srv/gateway" };
      expect(loadConfig(given).settings.WATCH_DIRS).toEqual([folder]);
    },
  );

  it("name the retired ones that are still set", () => {
    const { retired } = loadConfig({ MAX_PDF_PAGES: "1", RAG_DEFAULT_X: "2", RAG_TOP_K: "8" });
    expect(retired).toEqual(["MAX_PDF_PAGES", "RAG_DEFAULT_X"]);
  });

  it("are all explained in .env.example, in the words of their definition", () => {
    const example = readFileSync(".env.example", "utf8");
    for (const [name, schema] of Object.entries(settingsSchema.shape)) {
      expect(example, name).toContain(`# ${schema.description}\n`);
      expect(example, name).toMatch(new RegExp(`^#? ?${name}=`, "m"));
    }
  });
});
