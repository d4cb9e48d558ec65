import { describe, expect, it } from "vitest";
import { chatErrorForm } from "../../../../src/http/answers/error-response.ts";
import { messagesErrorForm } from "../../../../src/http/families/messages-error-form.ts";
import type { RouteDefinition } from "../../../../src/http/request/routes/route.ts";
import { createRouteTable, routedPath } from "../../../../src/http/request/routes/route-table.ts";

const route = (
  method: "get" | "post",
  path: string,
  more: Omit<Partial<RouteDefinition>, "audience" | "access" | "responses"> = {},
) => ({
  definition: {
    method,
    path,
    access: "open",
    audience: "unlisted",
    responses: {},
    ...more,
  } as const,
  handler: () => Promise.resolve(new Response(path)),
});

const table = createRouteTable([
  route("post", "/v1/chat/completions", { channel: "chat", modelCall: true }),
  route("post", "/v1/messages", { channel: "messages", modelCall: true }),
  route("get", "/v1/models/{model}", { encodedSlashes: true }),
  route("get", "/v1/health", { licensed: false, traced: false, probe: true }),
  route("get", "/api/ready", { probe: true, anyAddress: true }),
  route("get", "/api/admin/users/{id}"),
]);
const at = (method: string, path: string) => table.find(method, routedPath(path));

describe("the table of routes", () => {
  it("knows a route by its path as it stands, by its pattern, and by a path encoded for no need", () => {
    for (const path of [
      "/v1/chat/completions",
      "/v1/chat/completion%73",
      "/%761/chat/completions",
    ]) {
      expect(at("POST", path), path).toMatchObject({
        kind: "chat",
        modelCall: true,
        licensed: true,
      });
    }
    expect(at("GET", "/v1/models/org/qwen:7b")).toMatchObject({ encodedSlashes: true });
    expect(at("GET", "/v1/models/org%2Fqwen")).toMatchObject({ encodedSlashes: true });
    expect(at("GET", "/v1/models%2Forg")).toMatchObject({ encodedSlashes: false });
    expect(at("GET", "/api/admin/users/usr_1")).toMatchObject({ kind: "api", licensed: false });
  });

  it("gives a HEAD what its GET has, and another method what its path has, but no call of a model", () => {
    expect(at("HEAD", "/v1/health")).toEqual(at("GET", "/v1/health"));
    expect(at("PUT", "/api/ready")).toMatchObject({ probe: true, anyAddress: true });
    const other = at("GET", "/v1/messages");
    expect(other).toMatchObject({
      kind: "messages",
      modelCall: false,
      errorForm: messagesErrorForm,
    });
  });

  it.each([
    ["GET", "/v1", true, "v1"],
    ["GET", "/v1/nothing", true, "v1"],
    ["GET", "/v1/%6eothing", true, "v1"],
    ["GET", "/v1/v1/chat/completions", true, "v1"],
    ["GET", "/v1/health/", true, "v1"],
    ["GET", "/v1/docs", false, "v1"],
    ["GET", "/v1/docs/nothing.css", false, "v1"],
    ["GET", "/v1/openapi.json", false, "v1"],
    ["GET", "/v1/docsless", true, "v1"],
    ["POST", "/mcp", true, "mcp"],
    ["POST", "/mcp/session", true, "mcp"],
    ["POST", "/api/pipeline/run", true, "api"],
    ["GET", "/api/pipeline/run", false, "api"],
    ["POST", "/api/pipelines", false, "api"],
    ["GET", "/v1x", false, "other"],
    ["GET", "/", false, "other"],
  ] as const)(
    "judges a path that nothing serves by its area: %s %s",
    (method, path, licensed, kind) => {
      expect(at(method, path)).toMatchObject({ licensed, kind, modelCall: false, probe: false });
    },
  );

  it("knows the form of errors under /v1/messages, with the /v1 doubled too", () => {
    for (const path of ["/v1/messages/batches", "/v1/v1/messages", "/v1/%6dessages/x"]) {
      expect(at("POST", path).errorForm, path).toBe(messagesErrorForm);
    }
    expect(at("POST", "/v1/messagesx").errorForm).toBe(chatErrorForm);
  });

  it("decodes a path once, keeps its separators, and leaves what is no encoding", () => {
    expect(routedPath("/v1/%6dodels/a%2Fb%3A7")).toBe("/v1/models/a%2Fb%3A7");
    expect(routedPath("/%2576%31")).toBe("/%25761");
    expect(routedPath("/%ff%61")).toBe("/%ff%61");
    expect(routedPath("/%zz%61")).toBe("/%zza");
  });
});
