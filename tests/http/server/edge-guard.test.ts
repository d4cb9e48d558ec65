import { describe, expect, it } from "vitest";
import { guardEdge } from "../../../src/http/server/edge-guard.ts";

const AREA = { anyAddress: false, encodedSlashes: false };
const MODEL = { ...AREA, encodedSlashes: true };
const routeAt = (path: string) => (path.startsWith("/v1/models/") ? MODEL : AREA);

describe("the edge guard", () => {
  it.each([
    "localhost",
    "127.0.0.1:8080",
    "[::1]:8080",
    "gateway.example.org",
    "inference_gateway:8080",
  ])("lets a well-formed host pass: %s", (host) => {
    expect(guardEdge(host, "/v1/models", AREA, [])).toBeUndefined();
  });

  it.each([
    null,
    "",
    "a, b",
    "a/b",
    "a b",
    "user@host",
    "host:port",
    "host:123456",
    "[::1",
    "host\u0000",
  ])("refuses a missing, doubled or malformed host: %s", (host) => {
    expect(guardEdge(host, "/v1/models", AREA, [])).toMatchObject({ status: 400, param: "Host" });
  });

  it("answers only to the names that the operator lists, whatever the port and the case", () => {
    const allowed = ["gateway.example.org"];
    expect(guardEdge("gateway.example.org:443", "/", AREA, allowed)).toBeUndefined();
    expect(guardEdge("Gateway.Example.org", "/", AREA, allowed)).toBeUndefined();
    expect(guardEdge("evil.example.org", "/", AREA, allowed)?.status).toBe(400);
    expect(guardEdge("gateway.example.org.evil.org", "/", AREA, allowed)?.status).toBe(400);
  });

  it.each([
    "/v1%2fmodels",
    "/v1/%5Cmodels",
    "/v1/models%00",
    "/v1//models",
    "/v1/../metrics",
    "/v1/%2e%2e/metrics",
    "/v1/.",
    "/v1\\models",
    "/v1/models%2fa",
    "/v1/models/%2Fa",
    "/v1/models/a%2f..%2f..%2fmetrics",
    "/v1/models/a%2f%2e%2e%2fb",
    "/v1/models/a%5cb",
  ])("refuses a path that reads two ways: %s", (path) => {
    expect(guardEdge("localhost", path, routeAt(path), [])?.status).toBe(400);
  });

  it("lets model ids with dots, colons and slashes pass", () => {
    expect(guardEdge("localhost", "/v1/models/org/qwen2.5:7b", MODEL, [])).toBeUndefined();
    expect(guardEdge("localhost", "/v1/models/..hidden", MODEL, [])).toBeUndefined();
    expect(guardEdge("localhost", "/v1/models/org%2Fqwen2.5%3A7b", MODEL, [])).toBeUndefined();
  });
});
