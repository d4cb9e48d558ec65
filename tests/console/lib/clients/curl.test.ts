import { describe, expect, it } from "vitest";
import { curlOf, wordsOfCredential } from "../../../../src/console/lib/clients/curl.ts";

describe("the call of a view", () => {
  it("has the address and its credential in a variable", () => {
    expect(
      curlOf({ method: "GET", path: "/v1/api-keys?limit=50", credential: "key" }, "http://g:1"),
    ).toBe(`curl 'http://g:1/v1/api-keys?limit=50' \\\n  -H "Authorization: Bearer $GATEWAY_KEY"`);
  });

  it("has a body that a shell leaves as it is", () => {
    const call = {
      method: "POST",
      path: "/x",
      body: { name: "it's $HOME" },
      credential: "token",
      scope: "users:write",
    } as const;
    expect(curlOf(call, "http://g")).toBe(
      `curl -X POST 'http://g/x' \\\n  -H "Authorization: Bearer $GATEWAY_TOKEN" \\\n  -H 'Content-Type: application/json' \\\n  -d '{\n  "name": "it'\\''s $HOME"\n}'`,
    );
  });

  it("has a file where one is sent", () => {
    const call = { method: "POST", path: "/x", file: "a.lic", credential: "session" } as const;
    expect(curlOf(call, "http://g")).toContain("-F 'file=@a.lic'");
  });

  it("says what a service token must allow", () => {
    const call = {
      method: "GET",
      path: "/api/usage",
      credential: "token",
      scope: "usage:read",
    } as const;
    expect(wordsOfCredential(call)).toContain("with the scope usage:read");
  });
});
